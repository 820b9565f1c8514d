"""What every room may stand on: what is made once, the border to the user's program, tables for notebooks."""
