"""What mechanisms are made of: one type per file, its data and its maths."""
