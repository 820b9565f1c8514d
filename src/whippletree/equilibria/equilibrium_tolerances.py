"""Tolerances, limits and step sizes of the search for equilibria, each with the quantity it bounds and its reason.

Displacements are *scaled*: in radians, or characteristic lengths of the loops' groups; efforts likewise, in N m.
"""

from __future__ import annotations

BALANCED = 1e-11
"""Unbalanced efforts below this share of the mechanism's efforts count as balanced. Efforts are sums of some hundred
terms, so that rounding leaves a hundred times less."""

NEARLY_BALANCED = 1e-9
"""Imbalance accepted where steps no longer lower it: stiff stops lose digits in differences of positions."""

SMALLEST_EFFORT = 1e-12
"""Efforts in N m below which nothing acts at all: a mechanism without gravity and springs."""

UNIT_ROUNDING = 1e-4
"""Efforts count as at least this share of the stiffness: `BALANCED` is then the effect of rounding on a spring
that is free of load, in a unit displacement.
"""

RELAXATION_STEPS = 400
"""Steps of the descent. Ten lead to rest from an ordinary guess; the rest is for long ways and stiff stops."""

MOST_STARTS = 100_000
"""Searches that are made in one call: each takes milliseconds, and its configuration is kept."""

NEWTON_STEPS = 60
"""Newton steps onto an equilibrium next to a guess."""

LONGEST_STEP = 0.5
"""The farthest that a joint moves in one step, scaled."""

FIRST_STEP = 0.1
"""The farthest that a joint moves in the first step of a descent, scaled."""

SHORTEST_STEP = 1e-13
"""Steps that are shorter, scaled, change nothing but the last digits."""

ENDLESS = 20.0
"""A joint that has gone farther than this, scaled, from where a descent began will find no rest."""

GOOD_STEP, POOR_STEP = 0.75, 0.1
"""A step whose work is at least the first share of the prediction makes the next one longer; one with less than
the second is not taken. The usual numbers of trust-region methods.
"""

STEP_HALVINGS = 12
"""How often a Newton step is halved if it does not lower the imbalance."""

SINGULAR = 1e-11
"""Singular values of the scaled stiffness below this share of the largest are none: the mechanism is free to move
there. Stiffness is exact up to rounding, and that is ten times less."""

INDIFFERENT = 1e-10
"""A stiffness or an eigenvalue below this share of the largest is neither stable nor unstable."""

ROUNDING = 1e-15
"""Imbalance that rounding leaves, as a share of the mechanism's efforts."""

TURNING = 10.0
"""Stiffness up to so many times the root of (unbalanced effort times efforts) may come from an inaccurate place."""

SYMMETRIC = 1e-9
"""Stiffness that is symmetric up to this share of its largest entry has a potential."""

RANK = 1e-9
"""The share below which a singular value of the closures' rows is nothing but rounding."""

AT_REST = 1e-12
"""Drives that move by less than this, scaled, per second are at rest: ends of splines are flat up to rounding."""

DIFFERENCE = 1e-5
"""The relative change by which the effect of a parameter is found: the error of a central difference is its square, and
that of rounding a hundred thousand times rounding. It only steers the iteration."""

SAME_PLACE = 1e-5
"""Equilibria that are nearer to each other, scaled, are the same one."""

SAME_VALUE = 1e-9
"""Values of a number along a path that differ by less than this share of its range are the same."""

ADVANCES = (0.37, 1.1)
"""How far, scaled, coordinates advance when it is tested that a steady motion does not depend on them."""

STEADY = 1e-7
"""Largest imbalance of an equilibrium in motion, as a share of the mechanism's efforts."""

STEADY_SLOPE = 1e-9
"""Largest change of the imbalance per radian or characteristic length, by the exact derivative, as a share of the
mechanism's efforts: the place itself is balanced to a hundredth of that.
"""

FIRST_ARC, LONGEST_ARC, SHORTEST_ARC = 0.02, 0.1, 1e-6
"""Steps along a path of equilibria: scaled displacements together with the share of the parameter's range."""

ARC_STEPS = 2000
"""Points on a path, at most."""

ARC_CORRECTIONS = 8
"""Newton steps onto a path; more mean that the step along it was too long."""

STRAIGHT = 0.9
"""Tangents of neighbouring points on a path have at least this cosine; otherwise the step was too long."""

DETOUR = 1.0
"""A path that has turned back may go so many ranges beyond its first value before it is given up."""

TURN_BISECTIONS = 40
"""Bisections that find a turning point."""
