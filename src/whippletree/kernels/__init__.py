"""The trace and its products: tapes, machine code, lanes, loops, a disk cache."""
