"""The numbers that kinematics decides by. Those of assembly itself are in `system/tolerances.py`."""

from __future__ import annotations

__all__ = [
    "BRANCH_TURN",
    "DOUBTFUL_CONDITION",
    "FARTHEST_INPUT",
    "HALVED_WAYS",
    "HELD_OFF",
    "IK_DAMPING",
    "IK_FLAT",
    "IK_LEAST_GAIN",
    "IK_MOST_DAMPING",
    "IK_NOISE",
    "IK_REACHED",
    "IK_SETTLED",
    "IK_STARTS",
    "IK_STEPS",
    "LEAST_MOTION",
    "LONGEST_CLOSING_LINE",
    "LONGEST_STRIDE",
    "NEAR_ACTUATION_SINGULARITY",
    "NEIGHBOUR",
    "NO_MOTION",
    "SHORT_CORRECTION",
    "SINGULAR_INPUT",
]

# ---------------------------------------------------------------------- many configurations at once

LONGEST_CLOSING_LINE = 100_000
"""Operations of a step toward closed loops up to which it is compiled: some ten seconds, once. Beyond, configurations
are closed one by one."""

# ---------------------------------------------------------------------- along a motion of inputs

LONGEST_STRIDE = 0.3
"""How far, scaled, inputs move in one stride: a linkage's other joints then move little enough to be foreseen."""

FARTHEST_INPUT = 3000.0
"""How far, scaled, inputs are followed from one value to the next: ten thousand strides, some seconds."""

SHORT_CORRECTION = 0.02
"""Correction of a predicted configuration, scaled, that is accepted however short the stride: two branches are
farther apart unless they are about to meet.
"""

BRANCH_TURN = 0.35
"""Largest correction along a followed path, as a share of the foreseen displacement; beyond it the stride is halved.
 Where a stride is d and the path bends with radius r, the share is d / 2r."""

HALVED_WAYS = 24
"""How often a stride is halved before the inputs are said to be out of reach: so dead positions are found to 1e-7."""

HELD_OFF = 1e-9
"""How far, scaled, an input may be from its value where a sweep ends at the last position within reach."""

DOUBTFUL_CONDITION = 0.1
"""Share of the smallest singular value of the loops, along a sweep, below which a singular position is looked for."""

SINGULAR_INPUT = 1e-6
"""The same share below which a position is singular: nearer to it values are found to 1e-9, and the share goes with the
distance."""

NEIGHBOUR = 1.0
"""How far, scaled, joints may move from one point of a map to the next: farther is another branch, or a coarse grid."""

# ---------------------------------------------------------------------- actuation

NEAR_ACTUATION_SINGULARITY = 1e-2
"""Smallest singular value of the actuators' rates over motions of unit size below which users are told: a hundredth of
what a joint can have, so that efforts are a hundred times what they need be."""

NO_MOTION = 1e-9
"""Singular values of the actuators' rates below this are none, with motions of unit size; configurations are closed to
1e-10."""

LEAST_MOTION = 0.1
"""Share of the largest motion of a body or joint from which on it is named in a motion that nothing controls."""

# ---------------------------------------------------------------------- inverse kinematics

IK_REACHED = 1e-9
"""Norm of the errors, in radians and characteristic lengths, at which poses are reached: as `POSE_REACHED`."""

IK_STEPS = 100
"""Damped steps from one start; ten lead to a pose within reach."""

IK_DAMPING = 1e-3
"""The first damping, as a share of a unit error for a unit displacement."""

IK_MOST_DAMPING = 1e8
"""Damping at which a step is none, so that the nearest pose has been found."""

IK_LEAST_GAIN = 1e-12
"""Share of the error that a step must take off, or the nearest pose has been found; its square is rounding."""

IK_FLAT = 1e-5
"""Share of the errors along the motions that are left below which no step brings them down: steps end where one takes
off 1e-12 of the error, whose slope is the root of that."""

IK_NOISE = 0.05
"""Error of each wanted number, in radians and characteristic lengths, up to which a fit of more numbers than there are
freedoms counts as measured with noise: markers are off by a hundredth of a limb, other branches by much of it."""

IK_SETTLED = 1e-10
"""Scaled displacement of a step that shortens the way from the guess below which the shortest way has been found."""

IK_STARTS = 12
"""Other starts if a pose was not reached from the guess: an arm has up to sixteen ways to one pose."""

TOGETHER = 1000
"""Configurations of a map that are measured together: their rows take a few tens of megabytes."""
