"""Elements of mechanisms: one type per file, with its data and its maths."""
