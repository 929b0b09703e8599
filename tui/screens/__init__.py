"""The screens: each stacks its panels over the height it is given; one .tcss beside each that needs one."""
