"""The trace and what is made of it: tapes, machine code, lanes, loops, a disk cache."""
