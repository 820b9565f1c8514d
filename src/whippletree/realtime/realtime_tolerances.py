"""The tolerances of real-time steps, each with its meaning and its reason."""

SLOWEST, FASTEST = 1e-3, 1e6
"""How many times as fast as the clock a mechanism may move: slower ones seem to stand still, and faster ones keep no
pace with anything."""

MOST_TIMED = 100_000_000
"""Steps that are timed or keep pace in one call, which are kept in memory."""

FINITE = 1e150
"""The sum of a state's absolute values up to which it counts as finite: its square is still a number."""

OPEN = 1e-4
"""How far closures may be open before the last Newton step, in radians and characteristic lengths; that step squares
it, so that states are closed to about 1e-8."""

SINGULAR = 1e-2
"""The closures' regularity (`system.loop_equations.project`; zero at a singular position) below which steps stop: a
hundredth of what it is where the mechanism was built, where forces in the loops grow a hundredfold."""

UNTRUSTED = 5e-4
"""The share of a pivot below which accelerations are not used, as in simulations (`simulate.run_tolerances`)."""

LONGEST_LINE = 400_000
"""Operations of a step beyond which it is refused: the compiler would work for minutes."""

CHANGED = 1e-3
"""Largest change of natural coordinates in the last iteration, over the largest of them or one metre, at steps of
8 ms and more, and less with h^2 below that (`natural_settings`): beyond it the iterations do not converge.
"""

ROUNDED = 1e-12
"""A last change that is smaller is rounding, however short the step."""
