"""Inverse kinematics: configurations that bring frames to where they are wanted, with loops and limits.

Steps go along the motions that the loops allow, E y (`motion_basis`), and the loops are closed after each: so every
configuration on the way is one of the mechanism. With e and J the errors and their derivatives (`pose_targets`), and S
what displacements are measured by, Levenberg and Marquardt's step is

    (E^T J^T J E + mu E^T S^-2 E) y = -E^T J^T e                                                               (1)

among the y that leave freedoms at rest that are held, or blocked at a limit. Where the targets leave freedoms over, the
way from the guess, d, is then shortened as far as they allow:

    min |S^-1 (d + E y)|   with   J E y = -e                                                                   (2)

All configurations of a batch take their steps together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from whippletree.elements.forces import Limit
from whippletree.errors import AssemblyError, AssemblyWarning, StateError
from whippletree.foundation.arrays import Indices
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing, warn
from whippletree.kernels.kernel import Array
from whippletree.kinematics.batch_assembly import BatchCloser
from whippletree.kinematics.following import coordinate_places
from whippletree.kinematics.kinematic_tolerances import (
    IK_DAMPING,
    IK_FLAT,
    IK_LEAST_GAIN,
    IK_MOST_DAMPING,
    IK_NOISE,
    IK_REACHED,
    IK_SETTLED,
    IK_STARTS,
    IK_STEPS,
)
from whippletree.kinematics.pose_targets import PoseTargets, read_targets
from whippletree.model.argument_types import Freedoms, JointValues, PlaceValues, PoseTarget
from whippletree.spatial.scalars import place_among, truth
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.tolerances import CLOSED, LONGEST_STEP, NEARER

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["PoseSolutions", "PoseSolver", "inverse_kinematics"]

_FAR = (-np.inf, np.inf)
"""The limits of a coordinate without limits."""


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class PoseSolutions:
    """Configurations that bring frames to their targets, or as near as they can: `System.inverse_kinematics`.

    `q` is one configuration (nq) or many (n, nq), `reached` tells which of them are at all targets. `angles` and
    `distances`, (k) or (n, k) for k frames in the order of `frames`, tell by how much frames miss, in radians and
    metres.

    >>> s = four_bar()
    >>> found = s.inverse_kinematics({"coupler": s.pose(s.q0, "coupler")[:3, 3]})
    >>> bool(found.reached), found.q.shape
    (True, (4,))
    """

    q: Array
    reached: Mask | np.bool_
    frames: tuple[str, ...]
    angles: Array
    distances: Array

    def reason(self, index: int = 0) -> str:
        """Say by how much the frames of a configuration miss their targets; nothing if they do not."""
        reached = np.atleast_1d(self.reached)
        index = place_among(index, len(reached), "index")
        if reached[index]:
            return ""
        angles, distances = np.atleast_2d(self.angles)[index], np.atleast_2d(self.distances)[index]
        return "; ".join(
            f'"{name}" stays {far:.3g} m and {angle:.3g} rad from its target'
            for name, far, angle in zip(self.frames, distances, angles, strict=True)
        )

    def __str__(self) -> str:
        reached = np.atleast_1d(self.reached)
        missed = np.flatnonzero(~reached)
        if not missed.size:
            return f"{len(reached)} of {len(reached)} targets are reached"
        first = int(missed[0])
        return f"{int(reached.sum())} of {len(reached)} targets are reached; of {first}, {self.reason(first)}"


def inverse_kinematics(
    system: System,
    targets: Mapping[Any, PoseTarget],
    *,
    guess: JointValues = None,
    hold: Freedoms | None = None,
    weights: PlaceValues | None = None,
    limits: bool = True,
    restart: bool = True,
    t: float = 0.0,
    parameters: ParameterValues = None,
    threads: int | None = None,
) -> PoseSolutions:
    """Return configurations that bring frames to poses (4 x 4) or positions (3) in the ground frame, loops closed.

    `targets` gives one pose or position for each frame, or many, (n, 4, 4) or (n, 3). Options: `guess`, where to
    start from (`q0` by default), and of all solutions the nearest to it is looked for; `hold`, joints that stay;
    `weights`, by frame a number or six, for turns about and shifts along x, y, z of the ground (zero: free);
    `limits=False`, to go beyond the described limits of joints; `restart=False`, not to try other starts; `t`,
    `parameters`, `threads`. What is out of reach is approached as nearly as possible, and a warning tells by how
    much it is missed. See `whippletree.kinematics`.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> found = s.inverse_kinematics({"coupler": s.pose(s.assemble({"A": 0.8}), "coupler")})
    >>> bool(found.reached), bool(abs(found.q[0] - 0.8) < 1e-8)
    (True, True)
    """
    wanted, many = read_targets(system, targets, weights, parameters)
    start, of_guess = _starts(system, guess, wanted.count, t, parameters)
    if of_guess and not many:
        wanted = PoseTargets(
            system, [one._replace(poses=np.repeat(one.poses, len(start), axis=0)) for one in wanted.targets], parameters
        )
    solver = PoseSolver(system, wanted, hold, truth(limits, "limits="), t, parameters, threads)
    q, error = solver.solve(start, restart=truth(restart, "restart="))
    angles, distances = wanted.misses(q)
    reached = error <= IK_REACHED
    frames = tuple(one.frame for one in wanted.targets)
    if many or of_guess:
        found = PoseSolutions(q, reached, frames, angles, distances)
    else:
        found = PoseSolutions(q[0], reached[0], frames, angles[0], distances[0])
    if not reached.all():
        warn(f"out of reach, so that the nearest configuration was taken: {found}", AssemblyWarning)
    return found


def _starts(
    system: System, guess: JointValues, count: int, t: float, parameters: ParameterValues
) -> tuple[Array, bool]:
    """Return where to start from for each target, closed, and whether there is a guess for each."""
    if guess is not None and system.kernels.inputs.is_batch(guess):
        q = system.assemble(guess, t=t, parameters=parameters)
        if count not in (1, len(q)):
            raise StateError(f"there are {len(q)} guesses for {count} targets: give one, or as many")
        if not np.isfinite(q).all():
            raise AssemblyError("some guesses cannot be closed: give others")
        return q, True
    if guess is None and parameters is None and t == 0.0:
        q = system.q0
    else:
        q = system.assemble(system.q0 if guess is None else guess, t=t, parameters=parameters)
    return np.tile(q, (count, 1)), False


class PoseSolver:
    """Takes the steps of (1) and (2) for many configurations at once."""

    def __init__(
        self,
        system: System,
        targets: PoseTargets,
        hold: Freedoms | None,
        limits: bool,
        t: float,
        parameters: ParameterValues,
        threads: int | None,
    ) -> None:
        self.system, self.targets, self.t, self.parameters = system, targets, t, parameters
        self.closer = BatchCloser(system, t, parameters, threads) if system.kernels.closed else None
        self.scale: Array = system.kernels.loops.numbers.column_scale
        self.held = system.kernels.inputs.freedoms(hold, "hold")
        self.held |= np.array(system.kernels.equations.prescribed_mask, dtype=bool)
        self.freedoms, self.places, self.lower, self.upper = _limits(system, limits, parameters)

    def solve(self, start: Array, *, restart: bool) -> tuple[Array, Array]:
        """Return the nearest configurations to the targets and the norms of their errors."""
        rows = np.arange(len(start))
        start, inside = self.within_limits(start)
        q, error = self.nearest(start, rows)
        error[~inside] = np.inf
        settled = self._fits(q, error)
        rng, space = np.random.default_rng(0), self.system.kernels.loops.assembler.space
        for _ in range(IK_STARTS if restart else 0):
            missed = np.flatnonzero((error > IK_REACHED) & ~settled)
            if not missed.size:
                break
            away = self.system.difference(start[missed], np.tile(space.random(rng), (len(missed), 1)))
            there, closed = self.within_limits(self.system.integrate(start[missed], np.where(self.held, 0.0, away)))
            missed, there = missed[closed], there[closed]
            if not missed.size:
                continue
            found, left = self.nearest(there, missed)
            better = left < (1 - NEARER) * error[missed]
            q[missed[better]], error[missed[better]] = found[better], left[better]
        reached = np.flatnonzero(error <= IK_REACHED)
        if reached.size:
            q[reached] = self._shortest(start[reached], q[reached], reached)
        return q, error

    def _fits(self, q: Array, error: Array) -> Mask:
        """Tell which configurations fit targets that contradict each other a little, as measured ones do.

        There are more numbers wanted than freedoms, what is missed is small, and no motion that is left brings it
        down: another start would find the same configuration again, or a worse one.
        """
        rows = np.arange(len(q))
        wanted = sum(int(np.count_nonzero(one.weights)) for one in self.targets.targets)
        E = self.system.kernels.closures.motion_basis(q, t=self.t, parameters=self.parameters)
        P = self._left(E, np.zeros((len(q), len(self.freedoms)), dtype=bool))
        J, e = self.targets.jacobians(q) @ E @ P, self.targets.errors(q, rows)
        slope = np.linalg.norm(J.transpose(0, 2, 1) @ e[..., None], axis=(1, 2))
        flat = slope <= IK_FLAT * np.linalg.norm(J, axis=(1, 2)) * error
        small = error <= IK_NOISE * np.sqrt(wanted)
        return np.asarray((wanted > np.trace(P, axis1=1, axis2=2) + 0.5) & flat & small)

    def within_limits(self, q: Array) -> tuple[Array, Mask]:
        """Return closed configurations beside some, within the limits of joints, and where that was possible."""
        there = np.array(q)
        there[:, self.places] = np.clip(there[:, self.places], self.lower, self.upper)
        beyond = (there != q).any(axis=1)
        there, closed = self._closed(there, np.broadcast_to(beyond[:, None], (len(q), len(self.freedoms))))
        return there, closed & ~self._outside(there)

    # ------------------------------------------------------------------ (1): to the targets

    def nearest(self, start: Array, rows: Indices) -> tuple[Array, Array]:
        """Take damped steps from closed configurations to the targets with these numbers."""
        q, e = np.array(start), self.targets.errors(start, rows)
        error, damping = np.linalg.norm(e, axis=1), np.full(len(q), IK_DAMPING)
        busy = np.flatnonzero(error > IK_REACHED)
        for _ in range(IK_STEPS):
            if not busy.size:
                break
            there, fine = self._step(q[busy], e[busy], damping[busy])
            new = self.targets.errors(there, rows[busy])
            size = np.linalg.norm(new, axis=1)
            good = fine & (size < error[busy])
            gain = np.where(good, 1 - size / error[busy], np.inf)
            q[busy[good]], e[busy[good]], error[busy[good]] = there[good], new[good], size[good]
            damping[busy] = np.where(good, np.maximum(damping[busy] / 8, 1e-14), damping[busy] * 8)
            over = (error[busy] <= IK_REACHED / 100) | (damping[busy] > IK_MOST_DAMPING) | (gain < IK_LEAST_GAIN)
            over |= ~good & (error[busy] <= IK_REACHED)
            busy = busy[~over]
        return q, error

    def _step(self, q: Array, e: Array, damping: Array) -> tuple[Array, Mask]:
        """Return where the steps of (1) lead, and whether the loops are closed there."""
        E = self.system.kernels.closures.motion_basis(q, t=self.t, parameters=self.parameters)
        J = self.targets.jacobians(q) @ E
        metric = E / self.scale[:, None]
        metric = metric.transpose(0, 2, 1) @ metric
        blocked = np.zeros((len(q), len(self.freedoms)), dtype=bool)
        for _ in range(1 + len(self.freedoms)):
            P = self._left(E, blocked)
            A, Jp = P @ (damping[:, None, None] * metric) @ P, J @ P
            A = A + Jp.transpose(0, 2, 1) @ Jp + (np.eye(P.shape[1]) - P)
            step = (E @ (P @ -np.linalg.solve(A, Jp.transpose(0, 2, 1) @ e[..., None])))[..., 0]
            more = self._against(q, step) & ~blocked
            if not more.any():
                break
            blocked |= more
        return self._moved(q, step, blocked)

    def _left(self, E: Array, blocked: Mask) -> Array:
        """Return the projections (n, m, m) on the motions that leave held and blocked freedoms at rest."""
        B = np.concatenate([E[:, self.held], E[:, self.freedoms] * blocked[..., None]], axis=1)
        P = np.broadcast_to(np.eye(E.shape[2]), (len(E), E.shape[2], E.shape[2]))
        return P - np.linalg.pinv(B, rcond=1e-10) @ B if B.shape[1] else np.array(P)

    def _against(self, q: Array, step: Array) -> Mask:
        """Tell which limits (n, l) a step goes against from where it begins."""
        at, way = q[:, self.places], step[:, self.freedoms]
        close = 1e-12 * (1 + np.abs(at))
        return ((at >= self.upper - close) & (way > 0)) | ((at <= self.lower + close) & (way < 0))

    def _moved(self, q: Array, step: Array, blocked: Mask) -> tuple[Array, Mask]:
        """Take steps, as far as they are useful and limits allow, and close the loops."""
        share = LONGEST_STEP / np.maximum(np.abs(step / self.scale).max(axis=1, initial=0.0), LONGEST_STEP)
        at, way = q[:, self.places], step[:, self.freedoms]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(way > 0, (self.upper - at) / way, np.where(way < 0, (self.lower - at) / way, np.inf))
        room = np.where(blocked | ~(room > 0), np.inf, room)
        stopped = room.min(axis=1, initial=np.inf)
        there = self.system.integrate(q, step * np.minimum(share, stopped)[:, None])
        hit = blocked | (room <= np.minimum(share, stopped)[:, None])
        there[:, self.places] = np.where(
            hit, np.clip(there[:, self.places], self.lower, self.upper), there[:, self.places]
        )
        found, closed = self._closed(there, hit)
        return found, closed & ~self._outside(found)

    def _outside(self, q: Array) -> Mask:
        """Tell which configurations are beyond a limit."""
        at = q[:, self.places]
        return np.asarray(((at > self.upper + IK_REACHED) | (at < self.lower - IK_REACHED)).any(axis=1))

    def _closed(self, q: Array, hit: Mask | None) -> tuple[Array, Mask]:
        """Close the loops with held freedoms and those at a limit fixed; the mask tells which configurations closed."""
        if self.closer is None:
            return q, np.ones(len(q), dtype=bool)
        held = np.broadcast_to(self.held, (len(q), self.system.nv)).copy()
        if hit is not None:
            held[:, self.freedoms] |= hit
        there, worst = self.closer.close(q, held)
        return there, worst <= max(CLOSED, self.closer.assembler.numbers.accuracy)

    # ------------------------------------------------------------------ (2): the shortest way

    def _shortest(self, start: Array, q: Array, rows: Indices) -> Array:
        """Move within the freedom that the targets leave until the way from the start is the shortest."""
        q = np.array(q)
        busy = np.arange(len(q))
        way = np.linalg.norm(self.system.difference(start, q) / self.scale, axis=1)
        for _ in range(IK_STEPS):
            if not busy.size:
                break
            step = self._shortening(start[busy], q[busy], self.targets.errors(q[busy], rows[busy]))
            there, fine = self._moved(q[busy], step, self._against(q[busy], step))
            for _ in range(3):  # back to the targets, which a step along them leaves by its square
                e = self.targets.errors(there, rows[busy])
                there, closed = self._step(there, e, np.full(len(there), 1e-14))
                fine &= closed
            e = self.targets.errors(there, rows[busy])
            new = np.linalg.norm(self.system.difference(start[busy], there) / self.scale, axis=1)
            good = fine & (np.linalg.norm(e, axis=1) <= IK_REACHED / 10) & (new < way[busy])
            q[busy[good]], way[busy[good]] = there[good], new[good]
            small = np.abs(step / self.scale).max(axis=1, initial=0.0) < IK_SETTLED
            busy = busy[good & ~small]
        return q

    def _shortening(self, start: Array, q: Array, e: Array) -> Array:
        """Return the displacements (n, nv) of (2)."""
        E = self.system.kernels.closures.motion_basis(q, t=self.t, parameters=self.parameters)
        P = self._left(E, np.zeros((len(q), len(self.freedoms)), dtype=bool))
        d = self.system.difference(start, q) / self.scale
        J, D = self.targets.jacobians(q) @ E @ P, E @ P / self.scale[:, None]
        back = np.linalg.pinv(J, rcond=1e-9)
        Z = P - back @ J @ P
        y = back @ -e[..., None]
        rest = d[..., None] + D @ y
        y = y + Z @ (np.linalg.pinv(D @ Z, rcond=1e-9) @ -rest)
        return np.asarray((E @ P @ y)[..., 0])


def _limits(system: System, wanted: bool, parameters: ParameterValues) -> tuple[list[int], Indices, Array, Array]:
    """Return the freedoms that have limits, where their coordinates are, and the limits, infinite if there is none."""
    limits = [(use, use.force) for use in system.description.forces if isinstance(use.force, Limit)] if wanted else []
    ends = [end for _, force in limits for end in zip((force.lower, force.upper), _FAR, strict=True)]
    known = [ca.SX(far if end is None else end) for end, far in ends]
    numbers = system.kernels.loops.numbers
    values = system.kernels.loops.conditions(0.0, system.kernels.inputs.parameter_set(parameters)).parameters
    found = numbers.function("limits", [], [ca.vertcat(ca.SX(0, 1), *known)])(values).full().reshape(-1, 2)
    bounds: dict[int, tuple[float, float]] = {}
    for (use, _), (low, high) in zip(limits, found, strict=True):
        joint, index = use.coordinates[0]
        i = system.v_slice(joint).start + index
        before = bounds.get(i, _FAR)
        bounds[i] = max(before[0], float(low)), min(before[1], float(high))
    freedoms = list(bounds)
    lower, upper = (np.array([bounds[i][k] for i in freedoms]) for k in (0, 1))
    return freedoms, coordinate_places(system, freedoms), lower, upper
