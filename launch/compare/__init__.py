"""`specwatch compare`: what was measured, side by side, with the differences of the launches and a verdict."""
