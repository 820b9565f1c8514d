"""Machine code of the time loops by Numba: used where the package is made, and by whoever writes loops of their own.

`python -m whippletree.simulate.loop_compiler.make_loops` makes anew what the package carries (see `shipped_loops`).
"""
