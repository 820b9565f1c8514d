"""The numbers that the time loops decide by: what each means, and where it comes from.

Lengths of displacements are radians or characteristic lengths of the mechanism. A *gap* is the sum of squares of the
closures' position residuals in these units; a *slip* is the same of their velocity residuals. A *share* of a pivot is
its size relative to where the numeric plan was made: it is zero at a singular position. Accelerations lose digits with
about the cube of the share, so that 1e-2 leaves ten of sixteen, and 5e-4 six.

Where it says "by trial", a number was found with the mechanisms of the tests (four-bars, Bricard's, parallelograms).

The machine code of the time loops holds these numbers. A run notices that this file has changed and compiles the loops
anew; `make loops` then writes what the package ships.
"""

from __future__ import annotations

import numpy as np

# ---------------------------------------------------------------------- time

SMALLEST_STEP_SHARE = 1e-12
"""The smallest step, as a share of the time to be simulated: so many steps could never be taken."""

LONG_SPAN = 1e4
"""Seconds beyond which a run counts as no longer where the smallest step is a share of it."""

TIME_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The smallest step as a share of the present time, to which a smaller one adds nothing but rounding."""

TIGHTEST_TOLERANCE = 1e-14
"""The smallest tolerance that rounding leaves within reach."""

AT_END_OF_STEP = 1.0 - 1e-12
"""From this share of a step on, an output is its end: less is rounding of the output's time."""

LAST_STEP_SLACK = 1e-6
"""A step that comes so near to the end of the stretch, as a share of it, ends there: the rest would be none."""

MOST_STANDING = 200
"""How often a run may stop or try a step again at one time: each try is shorter than the one before, by a factor of
four or up to a corner, so that a tenth of this is past every smallest step."""

OPEN_STEP_FACTOR = 100.0
"""A step whose end cannot be closed is tried again, smaller, down to so many of the smallest steps."""

MOST_TRIES = 60
"""How often a step is made smaller: by a factor of five each, that is past every smallest step."""

# ---------------------------------------------------------------------- loops: back onto the closures

CLOSE_ENOUGH = 1e-14
"""A gap that one more Newton step, which squares it, takes to rounding."""

TIGHT = 1e-30
"""The same near a singular position, where Newton's method converges slowly: nothing but rounding is left."""

CLOSED_WITHIN_STEP = 1e-28
"""The same for states within a step, which are written but not gone on from."""

GAP_CLOSED = 1e-20
"""A gap that counts as closed if it cannot be made smaller: residuals of 1e-10."""

GAP_ROUNDING = 1e-32
"""A gap that is nothing but rounding: residuals of 1e-16."""

GAP_SETTLED = 1e-26
"""A gap that Newton's method has made as small as it can, if it stays: residuals of 1e-13."""

GAP_BESIDE_SINGULAR = 1e-21
"""A gap that a state next to a singular position may have without being closed; by trial."""

CLOSING_ITERATIONS = 12
"""Newton steps to close a state; from a good step two are enough."""

LEAST_ALONG = 0.2
"""The least share of a step's error that counts as being along the closures. The rest is taken off by closing the end,
but not without a trace where the closures are curved."""

LONGEST_TURN = 2.5
"""Radians that a step of a mechanism with loops may turn: flat positions of a parallelogram are half a turn apart."""

# ---------------------------------------------------------------------- loops: singular positions

POOR_SHARE = 3e-2
"""Below this share of a pivot the choice of coordinates is poor, and another is looked for; by trial."""

UNTRUSTED_SHARE = 5e-4
"""Below this share accelerations are never used."""

CLEARLY_REGULAR = 0.2
"""The closures' regularity (see `loop_equations.project`) from which on the mechanism itself is not singular."""

FAR_FROM_SINGULAR = 0.5
"""The same where a pivot is expected to vanish, some way ahead: there it is not the mechanism that is singular."""

COORDINATES_TO_BLAME = 0.1
"""There, a pivot whose share is less than this part of the regularity is small by the choice of coordinates alone, and
another choice is looked for: accelerations lose digits with the square of the share."""

SOON_POOR = 0.3
"""The share from which on that is done ahead of a step in which, or behind which, the pivot is going to vanish."""

DECIDING_LOOKS = 8
"""Looks at a change of signs within a step, to tell whether the mechanism or the choice of coordinates is singular."""

NOT_CLOSED_SHARE = 2e-2
"""Nearer to a singular position states are not improved by closing them; by trial."""

STAGE_SHARE_WISHED = 2e-2
"""A step that can choose its size keeps its stages as far away as this share, if it can; by trial."""

STAGE_SHARE_EXACT = 4e-3
"""Below this share accelerations are not good to the tolerance; by trial."""

TOLERANCE_BESIDE_SINGULAR = 1e-9
"""The tolerance of a step whose stages are nearer than that, unless that of the run is larger."""

TOLERANCE_ACROSS = 1e-8
"""The tolerance, at most, to go across a singular position for a method that does not do so itself."""

MOST_HALVINGS = 20
"""How often a step is halved to end before a singular position."""

CROSSING_SHARE = 0.6
"""Below this share, on the way to zero, a singular position is crossed in one step; by trial."""

LEAST_CROSSING_SHARE = 0.3
"""A crossing that is not exact enough begins nearer to the position, down to this share; nearer, rounding is worse."""

EXACT_CROSSING = 1e-12
"""The estimated error of a crossing that is exact enough for every tolerance. Rounding leaves 1e-13 of it, and the
error itself is smaller: some 2e-13 where 1e-11 is estimated."""

ADAMS_ERROR = 0.2
"""The share of the tolerance that the error of one step of the Adams method may take. Its steps are many, and their
errors are of one sign for long, so that they add up. With 0.2 it is about as exact as the Runge-Kutta methods: on a
pendulum that nearly stands on its head, errors after 10 s are up to 640 times the tolerance (`dop853` 950 times), with
0.4 up to 2100 times."""

LEAST_GROWTH = 1.2
"""A step of the Adams method that could be longer by less than this factor stays as it is: equal steps are what the
next order is judged by. If it had to double, steps would be up to twice as short as they need to be."""

ROUNDED_STEP = 1e-12
"""If the time at which a step ends is rounded by more than this share of the step, the step is as long as time says: a
method with memory goes by its past times. Smaller differences are left, so that equal steps stay equal."""

HANDED_OVER = 0.3
"""The share, on the way to zero, at which a method that does not cross singular positions leaves that to another: a
crossing that begins nearer is less exact."""

HANDED_OVER_LATE = 0.06
"""The same for methods of second order. A reversible method that another interrupts gains energy with the square of the
step, the more the longer the way that the other takes."""

CROSSING_ITERATIONS = 80
"""Iterations of a crossing: one that needs more does not converge."""

CROSSING_NOISE = 1e-11
"""What rounding may move the states of a crossing by from one iteration to the next, at first."""

MOST_CROSSING_NOISE = 1e-6
"""The same next to a position that a slow motion stays near."""

COARSE_CHANGE = 1e-9
"""As long as an iteration moves states by more than this, they are not closed to the last digit."""

AVERAGED_ITERATIONS = 8
"""Iterations more that are averaged if the tolerance is smaller than the noise."""

NODE_SHARE = 0.3
"""The share at the nodes of a crossing that begins next to the position; less if that is too far."""

LEAST_NODE_SHARE = 1e-4
"""A smaller share at the nodes is not tried."""

SLOPE_NUDGE = 1e-5
"""The displacement by which slopes of a pivot are found: the cube root of rounding, nearly."""

TOLERANCE_WITHIN_CROSSING = 1e-12
"""The tolerance of a crossing within which states are asked for: near the position none is closed."""

TURNED_AT_SHARE = 1e-5
"""So near, and no change of signs: the motion was at the position and turned there."""

LOCATING_HALVINGS = 24
"""Halvings to find where a step went over a singular position: to 6e-8 of it."""

SAME_PASSAGE = 1e-6
"""Singular positions that are logged so near to each other, in seconds and in coordinates, are one."""

LOGGED_POSITIONS = 64
"""Singular positions that machine code logs before Python takes them over."""

# ---------------------------------------------------------------------- events

SAMPLE_AT_ENDS = 1.0 / 1024.0
"""How near to the ends of a step, as a share of it, expressions are sampled."""

DIP_SHARE = 0.5
"""A parabola that comes nearer to zero than this share of the sample is worth a look."""

DIP_LOOKS = 10
"""Looks at one dip."""

BEGINNING_HALVINGS = 40
"""How often the way to the first sample is halved to find a turn right after an event: to 1e-15 of the step."""

NUMBER_HALVINGS = 30
"""How often a part of a step is halved in which an expression stops being a number: to 1e-9 of it."""

HELD_RATE = 1e-9
"""An expression whose rate after its own event is below this share of that before is held at zero by the event."""

RATE_DISPLACEMENT = 1e-6
"""The relative displacement along the motion by which rates of expressions are found: rounding leaves ten digits."""

SIMULTANEOUS = 1e-12
"""Crossings that are so near, as a share of the step, are one event."""

RAPID_EVENTS = 1e-9
"""An event that acts again within this share of the run will do so for ever."""

RAPID_ROUNDINGS = 100.0
"""The same at late times: within so many of the smallest steps that rounding leaves."""

# ---------------------------------------------------------------------- corners of formulas

CORNER_HOP = 1e-12
"""The step across a corner as a share of the one that went over it: what its stages mix up is lost in rounding."""

CORNER_HOP_IMPLICIT = 1e-5
"""The same for methods that iterate for the end of a step: a shorter one has accelerations of no digits."""

UNSETTLED = 1e-8
"""The change of velocity by which an implicit step may miss the accelerations of its end, where there are corners."""

CORNER_ROUNDING = 4.0
"""The same in roundings of time, at least."""

CORNER_HOP_GROWTH = 16.0
"""A step that has not led across a corner is followed by one that is longer by this factor."""

SMALLEST_BESIDE_CORNER = 1e-3
"""The smallest step where the state decides about corners, as a share of what it is elsewhere. Steps that go over a
jump of a force are refused until they are so short that it does not matter, and only one that is taken shows the
corner: to reach a tolerance of 1e-10 at a jump of 10 kN per kg it must be shorter than 1e-14 s."""

LARGEST_HOP = 1e-3
"""A corner that a step of this share does not reach is not there: the motion has turned before it."""

CORNER_LOOKS = 60
"""Halvings to locate a corner: to rounding."""

CORNER_RECHECKS = 8
"""How often a corner is looked for before the first one that was found."""

MOST_CUTS = 30
"""How often steps are cut for one corner: the way to it shrinks tenfold each time, unless the motion is held there."""

MOST_CHATTER = 20
"""Each time a corner was met so often, both sides of it are looked at: the motion may slide along it."""

CHATTER_SHARE = 1e-3
"""A corner that is met again within this share of a step, so often, will be for ever."""

BESIDE_CORNER = 1e-9
"""How far from a corner its sides are looked at, in radians, characteristic lengths and their rates."""

NO_JUMP = 1e-3
"""Rates on the two sides of a corner that differ by less than this share of themselves do not jump there."""

TIME_SAMPLES = 131072
"""Places at which an expression of time is looked at for corners, if it is not straight between known ones."""

MOST_CORNER_TIMES = 2_000_000
"""More corners in time than that are not looked for: the certificate says so."""

# ---------------------------------------------------------------------- Newton's method of implicit steps

NEWTON_CONVERGED = 1e-12
"""The displacement by which the last correction may move the mechanism."""

NEWTON_STALLED = 1e-10
"""As good as it gets if corrections become no smaller: rounding, where springs are stiff."""

NEWTON_ITERATIONS = 30
"""Iterations of a step."""

DAMPED_ITERATIONS = 200
"""Iterations of the damped method, which is tried last."""

SHORTEST_CORRECTION = 1e-4
"""The smallest part of a correction that the damped method tries."""

SLOW_CONVERGENCE = 0.1
"""A matrix is made again if a correction is more than this share of the one before."""

POOR_FIRST_GUESS = 0.1
"""The displacement by accelerations above which they are not a good first guess."""

# ---------------------------------------------------------------------- controllers

SAMPLE_MEETS_OUTPUT = 1e-9
"""The share of a period by which an output may miss a sample and still be taken as at it."""

MOST_SAMPLES = 50_000_000
"""More samples of a controller than that are refused: their times alone would fill the memory."""
