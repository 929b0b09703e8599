from specwatch import main

main()
