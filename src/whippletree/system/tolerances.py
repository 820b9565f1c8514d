"""Tolerances, limits and step sizes of this room, each with its meaning and its source.

Lengths are compared with angles by the characteristic length of their group of loops, so that a *scaled* number is one
in radians or characteristic lengths. "Share" means relative to the largest of its kind.
"""

from __future__ import annotations

# ---------------------------------------------------------------------- states and pivots that are trusted

CONSISTENT = 1e-6
"""How far positions (radians, characteristic lengths) may miss the closures, and velocities relative to 1/s + |v|."""

WATCHED = 1e-8
"""The share of a pivot's size where the plan was made below which a solution is not trusted."""

CANCELLING = 1e4
"""How many times the accelerations that efforts make with closed loops those of the free tree may be, before solutions
are watched for digits that cancel: so many times rounding is 2e-12."""

CANCELLED = 1e-11
"""The share of what is added up in a row of the closures by which accelerations may miss it where digits may cancel."""

UNEQUAL = 1e6
"""The condition number of the scaled inertia of the motions that the loops leave, from which on solutions are watched
for light bodies that rounding of heavy ones moves: so many times rounding is 2e-10."""

HEAVIER = 1e10
"""How many times the inertia that one freedom meets may be that of another, before that is done too."""

UNBALANCED = 1e-10
"""The share of the largest acceleration that efforts may lack of balance for where that is watched."""

REFINED_STATES = 3
"""How often a state that is solved by singular values is solved for what it lacks of balance: at first for everything,
then for what rounding of the forces that the loops hold has left."""

WELL_CONDITIONED = 1e4
"""The condition number of a scaled mass matrix up to which it is factorised rather than swept over."""

# ---------------------------------------------------------------------- how good the mechanism's data are

DATA_ACCURACY = 1e-6
"""How far, scaled, equations of loops may disagree and still count as redundant, unless `build(accuracy=)` says
otherwise: a hundred times what files with eight digits lose, and as much as states may miss the closures."""

COARSEST_DATA = 1e-3
"""The worst accuracy that can be asked for: with worse data, what is singular and what is rounded look the same."""

OPEN_OVER_ROUNDING = 3.0
"""How much coarser than the worst opening of loops the data of a file are taken to be that do not close them."""

SINGULAR_OVER_ACCURACY = 10.0
"""Singular values up to this many times the accuracy may be errors of the data: errors of several joints add up."""

OPEN_OVER_ACCURACY = 3.0
"""How many times the accuracy redundant rows may be open at states far from those that were looked at when they were
found to be redundant."""

ROUNDING = 1e-12
"""What redundant rows may disagree by, scaled, if the data are exact: some digits above rounding. The singular values
of such rows are no larger either."""

DOUBTFUL = 2e-14
"""What redundant rows may disagree by near a configuration, scaled, before they are followed along the motions: twice
what assembly leaves. What is off by this at a distance of a tenth may be off by thousands of times as much far away,
more than what a run closes its loops to."""

SAME_OPENING = 10.0
"""How many times as far loops may be open around a configuration that is nearly closed, if it is the data that are off:
around a position that cannot be closed they are open by the square of the distance."""

CLOSED_NEARBY = 100.0
"""Of a loop that is closed up to the accuracy of the data, a better closed configuration is taken if the square of its
distance is at most so many times what was open: at a singular position the two are about equal, and a loop that is
closed exactly only far away is one whose data are rounded."""

# ---------------------------------------------------------------------- assembly: Newton's method on the closures

CLOSED = 1e-10
"""Largest scaled residual of a loop that counts as closed. Four digits above what Newton's method reaches in double
precision on mechanisms of ordinary proportions, and four below what users may hand in (`CONSISTENT`)."""

ASSEMBLY_ROUNDING = 1e-14
"""Norm of the scaled residuals at which assembly stops: some fifty roundings of a number near one."""

ASSEMBLY_STEPS = 60
"""Newton steps from one start. Quadratic convergence takes five; the rest is for damped steps from poor guesses."""

CREEPING = 0.99
CREEPING_STEPS = 10
"""Assembly gives a start up after so many shortened steps in a row that leave this share of the residual or more: on
the way to a closed configuration a step takes more off, and before a gap that cannot be closed it takes ever less."""

LONGEST_STEP = 0.5
"""Largest change of a coordinate in one Newton step, scaled: a linearised rotation is useful up to half a radian."""

STEP_HALVINGS = 12
"""How often a Newton step is halved before the search gives up: 1/4096 of a step is no progress."""

SUFFICIENT_DECREASE = 1e-4
"""Share of the linear decrease of the residual that a step has to reach (Armijo's constant, as usual)."""

OTHER_STARTS = 24
"""Random starts after the guess has failed: a bound on the time before a loop is said not to close."""

GIVE_WAY_SINGLY = 8
"""Up to this many joints of a guess give way one by one; of longer guesses all do at once, to bound the time."""

ASSEMBLY_RANK = 1e-9
"""Singular values below this share are left out of least-norm steps and projections: between rounding and `CLOSED`."""

NEARER = 1e-9
"""Share by which a closed configuration must be nearer to the guess than another one: ties do not hang on rounding."""

# ---------------------------------------------------------------------- ranks and mobility

RANK = 1e-7
"""Singular values below this share are none, where the generic rank is decided: well above what is left of redundant
rows at a configuration that is closed to `CLOSED`, well below `NEARLY_SINGULAR`. It is more if the data are worse."""

FAINT_ROW = 1e-2
"""Share of a row that must be independent of those chosen before, if the row is taken because it was asked for."""

EQUALLY_FAR = 1e-9
"""Share by which squares of distances may differ and still count as equal, so that ties go by order."""

PIVOT_SHARE = 0.1
"""Threshold pivoting: an entry this large beside the largest of its row may be a pivot if it fills in little (the
usual threshold of sparse elimination; see Duff, Erisman and Reid, "Direct Methods for Sparse Matrices")."""

ZERO_ROW = 1e-6
"""Rows shorter than this share of the longest are not scaled up: they may be rounding."""

NEARLY_SINGULAR = 1e-4
"""Smallest singular value of the closures, as a share, below which users are told of a singular configuration."""

MOBILITY_SAMPLES = 4
"""Nearby closed configurations over which the generic rank is taken."""

SAMPLE_DISTANCE = 0.1
"""How far these are, scaled: far enough to leave a singular position, near enough to be closed by Newton's method."""

FOLDED = 1e-7
"""How near, in characteristic lengths, joints that share no body lie upon each other in a loop that is folded; what a
closed position is off by, with some digits of room."""

# ---------------------------------------------------------------------- guesses by poses of bodies

POSE_REACHED = 1e-9
"""The norm of the errors, in radians and characteristic lengths, at which a body is where the guess has it: a guess
needs less, and what the joints allow is met to rounding by one more step."""

POSE_STEPS = 100
"""Damped steps from one start: some twenty lead from anywhere to a pose within reach; the rest is for those beyond."""

POSE_STARTS = 12
"""Other starts if a pose was not reached from the first one: an arm has up to sixteen ways to one pose."""

POSE_DAMPING = 1e-2
"""The first damping of steps, as a share of a unit error for a unit displacement."""

# ---------------------------------------------------------------------- many loops: sparse elimination

MANY_LOOPS = 32
"""From this many loops on, ranks and pivots are found by sparse elimination, one loop after another: the time of a
singular value decomposition of all rows grows with the cube of their number."""

ELIMINATED = 1e-7
"""Entries below this share of a row's size are none after elimination; the same as `RANK`."""

LARGE_ENTRY = 0.2
"""Entries above this share of the largest may be pivots of a loop; the one that other loops use least is taken."""

NEARBY_STEPS = 12
"""Newton steps toward a nearby closed configuration of a mechanism with many loops."""

BODY_INERTIA = 1e-9
"""Inertia that a joint moves on its own body, as a share of the body's, from which on it counts."""

# ---------------------------------------------------------------------- the partition, and how long it stays good

PLAN_GRID = 1e-6
"""Plans are told apart by where they were made up to this, scaled: pivots there are the same to six digits."""

CLEARLY_BETTER = 3.0
"""A plan is clearly better than another one if its smallest pivot is so many times as large: half a digit."""

STRIDE = 0.3
"""Steps along the allowed motions on which a plan is tried out, scaled."""

STRIDES = 24
"""Such steps in all: one freedom then goes more than a turn, both ways together."""

MOST_DIRECTIONS = 3
"""Directions that are tried if the mechanism has more freedoms."""

REGULAR = 0.05
"""Smallest singular value, as a share, from which on a configuration counts where plans are tried out: nearer to a
singular position every plan is poor."""

STRIDE_CORRECTIONS = 4
"""Newton steps that close the loops again after a stride."""

NEARLY_CLOSED = 1e-3
"""Largest scaled residual that is as good as none after a stride: pivots are asked for to two digits."""

STAYS_GOOD = 0.1
"""Share of its smallest pivot that a plan may come down to on the way before another one is looked for."""

SAME_PIVOT = 1.25
"""How many times as large, or small, pivots may be where a plan is put on a coarse grid."""

FINEST_GRID = 12
"""How often that grid, half a radian, is halved at most."""

TAKEN_UP = (0.5, 4.0)
"""Between which shares of what it was where a plan was made its smallest pivot must be where the plan is used again:
pivots are watched relative to that."""

SINGULAR_NEARBY = 1e-3
"""Smallest singular value, as a share, below which a simulation takes its position for a singular one: no other plan
would help."""

# ---------------------------------------------------------------------- decisions for single formulations

PENALTY_PROMISE = 1e-4
"""Estimated error of `penalty`, relative to the largest acceleration, above which its answer is refused."""

ESTIMATED = 2.0
"""How many times its estimate an error may be: accelerations of joints are compared in units of their own."""

EXACT_PROMISE = 1e-9
"""The same for multipliers that are iterated until they are exact: above it, loops are solved by singular values."""

PENALTY_MARGIN = 50.0
"""How many times what is found at rest, where a plan was made, the error of `penalty` is said to be: the accelerations
that the loops hold back may be many times those that they let through."""

LIGHT_MOTION = 1e-3
"""Eigenvalues of the scaled mass matrix are taken to be at least this where penalty weights are found: a row that moves
next to nothing in the tree is as stiff as others where the loops give it inertia."""

UNUSED_ROW = 1e-9
"""Rows shorter than this, scaled, move nothing and get no penalty weight; singular values below this share are none."""

UNMOVED = 1e-6
"""What a freedom moves of a row of unit length below which it is no pivot of `coordinate_reduction`."""

CLEARLY_MOVED = 0.1
"""Share of the most that a freedom moves of any row which makes it a good pivot; as `PIVOT_SHARE`."""

# ---------------------------------------------------------------------- single states: dense solves, motions

SINGULAR_HERE = 1e-9
"""Singular values of the closures below this share are none, at a single configuration."""

LIMIT_STEP = 0.04
"""How far from a singular position its limit is taken, scaled. It is halved three times; after as many extrapolations
in its square the error is of its eighth power, some 1e-11."""

CONTRADICTION = 1e-6
"""Share of the accelerations by which the closures may miss at a state; as large as inconsistent states may be."""

MASSLESS = 1e-12
"""Inertias of allowed motions below this share of what they were made of are none."""

NOTHING_HANGS = 1e-30
"""Share of the largest that is taken for the inertia of freedoms on which nothing hangs: one that moves nothing."""

MOTION_RANK = 1e-13
"""Singular values below this share are left out where accelerations of the allowed motions are solved for."""

UNDETERMINED = 1e-12
"""Determinant of the independent rows of the motions below which these do not determine the motion."""

HELD = 1e-3
"""The share in what closures no longer hold at a singular position above which a closure is named."""

LOCKED = 1e-4
"""Sine or cosine of the second of three angles below which they count as locked: rounding is then up to 1e-8 of the
accelerations of the angles, which grow with its square."""

NEXT_TO_LOCK = 0.05
"""The same where a run that cannot go on is told to have come to gimbal lock."""
