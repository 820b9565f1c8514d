"""The balance of efforts of a mechanism that keeps its velocities, and its exact derivatives.

With R the efforts that the tree's joints lack in a configuration (`newton_residual` without multipliers) and C the rows
of all closures,

    R - C^T lambda = 0                                                                                  (1)

Let N be an orthonormal basis of the motions that the closures allow, C N = 0, displacements scaled. Then the equations
are r = N^T R = 0. Moving along N and closing the loops again by a displacement of least norm, r changes by

    dr = N^T K(lambda) N,       lambda from (1) by least squares                                        (2)

where K is the derivative of the left-hand side of (1) for displacements with lambda held (`newton_matrix`): the second
derivative of the energy along the closed configurations, curvature of the closures included. No partition into
independent and dependent coordinates plays a part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from whippletree.equilibria.equilibrium_tolerances import AT_REST, RANK, SMALLEST_EFFORT
from whippletree.equilibria.load_case import LoadCase
from whippletree.foundation.arrays import Mask
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.spatial.scales import largest, vanishing
from whippletree.system import System
from whippletree.system.equations import Equations
from whippletree.system.loop_plan import Conditions

__all__ = ["Balance", "BalanceSlopes", "Imbalance", "Mask", "null_space"]


_TRACES: WeakKeyDictionary[Equations, dict[str, ca.Function]] = WeakKeyDictionary()
"""Traced functions by the equations that they are of: the searches of one system share them."""


@dataclass(frozen=True)
class Imbalance:
    """The unbalanced efforts at a configuration, along the motions that the closures allow and nothing holds.

    `motions` (nv, n) are scaled displacements of all joints for unit coordinates; `efforts` (n) what is lacking along
    them, `rates` (nz) those of the elements' states; `lacking` (nv) what each joint lacks, scaled, with the multipliers
    that fit best.
    """

    q: Array
    v: Array
    z: Array
    motions: Array
    efforts: Array
    rates: Array
    lacking: Array
    multipliers: Array
    held: Array

    @property
    def size(self) -> float:
        """The largest effort that is lacking, scaled."""
        return largest(self.efforts, self.rates)


@dataclass(frozen=True)
class BalanceSlopes:
    """Derivatives at a configuration, along its motions: mass, damping and stiffness, and those of elements' states."""

    M: Array
    D: Array
    K: Array
    Kz: Array
    Yq: Array
    Yv: Array
    Yz: Array


class Balance:
    """The equations of balance of a system; `held` freedoms do not move, and receive whatever effort holds them.

    >>> from whippletree.system.example_systems import pendulum
    >>> s = pendulum()
    >>> at = Balance(s, np.zeros(1, dtype=bool)).at(np.zeros(1), np.zeros(0), LoadCase(np.zeros(1), np.zeros(0)))
    >>> at.efforts.round(6)
    array([-9.81])
    """

    def __init__(self, system: System, held: Mask) -> None:
        self.system, self.held = system, held
        kernels = system.kernels
        self._numbers, self._assembler = kernels.loops.numbers, kernels.loops.assembler
        self.lengths = self._numbers.column_scale
        self._free = self._numbers.free_freedoms
        self._cut = np.array(sorted(self._numbers.cut_freedoms), dtype=int)
        labels = [label for use in system.description.coordinate_owners for label in use.joint.velocity_labels]
        self._turning = np.array(["angular" in label for label in labels], dtype=bool)
        self._traces, self._lock = _TRACES.setdefault(kernels.equations, {}), kernels.equations.lock
        self._n_rows = kernels.loop_plan.n_rows if kernels.closed else 0

    # ------------------------------------------------------------------ kernels

    def _evaluate(self, function: str, z: Array, load: LoadCase, **state: Array) -> Array:
        """Evaluate a function of the system by its trace: a search takes some ten evaluations, which are not worth
        the time of making machine code.
        """
        with self._lock:
            traced = self._traces.get(function)
            if traced is None:
                traced = self._traces[function] = self.system.function(function)
        given: dict[str, Any] = {"tau": load.tau, "z": z, "t": load.t, "parameters": load.parameters, **state}
        found = traced.call([given[traced.name_in(i)] for i in range(traced.n_in())])[0]
        return np.asarray(found.full().ravel())

    def _matrix(
        self, q: Array, v: Array, a: Array, z: Array, load: LoadCase, multipliers: Array, step: tuple[float, float]
    ) -> Array:
        u = np.zeros(self.system.nv)
        state = {"q": q, "u": u, "v": v, "a": a, "multipliers": multipliers, "step": np.array(step)}
        found = self._evaluate("newton_matrix", z, load, **state)
        n = self.system.nv + self._n_rows + self.system.nz
        return found.reshape(n, n)

    def _residual(self, q: Array, v: Array, a: Array, z: Array, load: LoadCase) -> tuple[Array, Array]:
        s = self.system
        found = self._evaluate("newton_residual", z, load, q=q, v=v, a=a, multipliers=np.zeros(self._n_rows))
        first = s.nv + self._n_rows
        return found[: s.nv], found[first : first + s.nz]

    # ------------------------------------------------------------------ states

    def conditions(self, load: LoadCase) -> Conditions:
        """Return time and parameters as the closures want them."""
        return self.system.kernels.loops.conditions(load.t, load.parameters if len(load.parameters) else None)

    def close(self, q: Array, load: LoadCase) -> tuple[Array, float]:
        """Return the closed configuration next to one, and the largest residual that is left."""
        if not self.system.kernels.closed:
            return q, 0.0
        return self._assembler.close(q, self.held, self.conditions(load))

    def moved(self, q: Array, displacement: Array, load: LoadCase) -> tuple[Array, float]:
        """Return the closed configuration that a scaled displacement (nv) leads to."""
        there = self._assembler.space.integrate(q, displacement * self.lengths)
        return self.close(self.system.configuration(there), load)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the scaled displacement (nv) between two configurations."""
        return self._assembler.space.difference(q0, q1) / self.lengths

    def way_back(self, q: Array, motions: Array, start: Array) -> Array:
        """Return how far (k) to go along scaled motions (nv, k) so that the coordinates come nearest to others."""
        if not motions.shape[1]:
            return np.zeros(0)
        rates = np.array([self.system.coordinate_rates(q, self.lengths * one) for one in motions.T]).T
        return np.asarray(np.linalg.lstsq(rates / self._sizes[:, None], self.apart(q, start), rcond=RANK)[0])

    def apart(self, q: Array, other: Array) -> Array:
        """Return the differences (nq) of coordinates, angles and lengths over the characteristic one.

        Coordinates compare as they are, so that a body on a floor keeps its place there, whatever tilts it.
        """
        back = other - q
        for k in self._quaternions:
            if q[k : k + 4] @ other[k : k + 4] < 0:  # the same rotation by the other sign
                back[k : k + 4] = -other[k : k + 4] - q[k : k + 4]
        return np.asarray(back / self._sizes)

    @made_once
    def _sizes(self) -> Array:
        long = self.system.kernels.closures.characteristic_length
        return np.array([1.0 if "quaternion" in x or "angle" in x else long for x in self._coordinate_labels])

    @made_once
    def _quaternions(self) -> list[int]:
        return [k for k, label in enumerate(self._coordinate_labels) if label == "quaternion w"]

    @property
    def _coordinate_labels(self) -> list[str]:
        return [x for use in self.system.description.coordinate_owners for x in use.joint.position_labels]

    def velocities(self, q: Array, load: LoadCase) -> Array:
        """Return the velocities that the speeds ask for: the least ones that the closures allow."""
        s = self.system
        if not load.speeds and not self.drifts(q, load):
            return np.zeros(s.nv)
        v = np.zeros(s.nv)
        for i, speed in load.speeds:
            v[i] = speed
        if not s.kernels.closed:
            return v
        held, none = np.zeros(s.nv, dtype=bool), np.zeros(s.nv, dtype=bool)
        held[[i for i, _ in load.speeds]] = True
        return s.kernels.loops.consistency.velocities(q, v, self.conditions(load), held, none)

    def drifts(self, q: Array, load: LoadCase) -> bool:
        """Tell whether drives and other closures move by themselves at the time."""
        if not self.system.description.closures_moving:
            return False
        return bool(np.abs(self._numbers.full_rows(q, *self.conditions(load))[1]).max(initial=0.0) > AT_REST)

    def accelerations(self, q: Array, v: Array, load: LoadCase) -> Array:
        """Return the least accelerations that the closures allow while drives run at constant rates.

        They are zero unless velocities ask for others. Accelerations of the drives themselves are left out.
        """
        s = self.system
        none = np.zeros(s.nv)
        if not s.kernels.closed or not v.any():
            return none
        where = self.conditions(load)
        bias = self._numbers.second(q, v, none, where) - self._numbers.second(q, none, none, where)
        if not bias.any():
            return none
        rows = self._numbers.full_rows(q, *where)[0]
        return np.asarray(np.linalg.lstsq(rows, -bias, rcond=RANK)[0] * self.lengths)

    # ------------------------------------------------------------------ balance

    def at(self, q: Array, z: Array, load: LoadCase, *, moving: bool = True) -> Imbalance:
        """Return the imbalance at a configuration; along all motions if held joints are not to be `moving`."""
        v = self.velocities(q, load)
        a = self.accelerations(q, v, load)
        residual, rates = self._residual(q, v, a, z, load)
        zero = self._matrix(q, v, a, z, load, np.zeros(self._n_rows), (0.0, 0.0))
        free, s = self._free, self.system
        C = zero[s.nv : s.nv + self._n_rows, :][:, free] * self.lengths[free]
        follow = -zero[np.ix_(self._cut, free)] * self.lengths[free] / self.lengths[self._cut][:, None]
        hold = self._hold_rows(follow)
        rows = np.vstack([C, hold]) if moving else C
        N = null_space(rows)
        needed = residual[free] * self.lengths[free]
        motions = np.zeros((s.nv, N.shape[1]))
        motions[free] = N
        motions[self._cut] = follow @ N
        multipliers: Array = np.zeros(self._n_rows)
        held: Array = np.zeros(len(hold))
        lacking: Array = np.zeros(s.nv)
        if len(rows):
            found = np.linalg.lstsq(rows.T, needed, rcond=RANK)[0]
            multipliers, held = np.asarray(found[: self._n_rows]), np.asarray(found[self._n_rows :])
        lacking[free] = needed - rows.T @ np.concatenate([multipliers, held]) if len(rows) else needed
        return Imbalance(q, v, z, motions, N.T @ needed, rates, lacking, multipliers, held)

    def _hold_rows(self, follow: Array) -> Array:
        """Return the rows that say that held freedoms do not move, on the free ones."""
        rows = []
        for i in np.flatnonzero(self.held):
            if i in self._cut:
                rows.append(follow[int(np.searchsorted(self._cut, i))])
            else:
                rows.append((self._free == i).astype(np.float64))
        return np.array(rows).reshape(len(rows), len(self._free))

    def effort_scale(self, q: Array, z: Array, load: LoadCase) -> float:
        """Return the size of the efforts in the mechanism, scaled: weights, centrifugal forces, given efforts, and the
        efforts of elements.
        """
        s, v = self.system, self.velocities(q, load)
        mass, g = self._mass_and_gravity(self.conditions(load).parameters)
        acting = np.zeros(0)
        if s.description.forces:
            acting = self._evaluate("element_forces", z, load, q=q, v=v)
        length = s.kernels.closures.characteristic_length
        turning, along = largest(v[self._turning]), largest(v[~self._turning])
        inertial = float(mass) * turning * (turning * length + along)
        forces = largest(float(mass * g), inertial, acting)
        return largest(forces * length, load.tau * self.lengths, least=SMALLEST_EFFORT)

    @made_once
    def _mass_and_gravity(self) -> ca.Function:
        described = self.system.description
        mass = ca.sum1(ca.vertcat(0, *(body.mass_and_first_moment()[0] for body in described.bodies)))
        return self._numbers.function("masses", [], [mass, ca.norm_2(ca.vertcat(*described.gravity))])

    def with_hold_efforts(self, here: Imbalance, load: LoadCase) -> LoadCase:
        """Return the load with the efforts that hold the held freedoms."""
        tau = load.tau.copy()
        held = np.flatnonzero(self.held)[: len(here.held)]
        tau[held] += here.held / self.lengths[held]
        return replace(load, tau=tau)

    def slopes(self, here: Imbalance, load: LoadCase) -> BalanceSlopes:
        """Return mass, damping and stiffness along the motions, exact; velocities and accelerations being kept.

        What holds a joint at which a loop was cut bears on bodies that turn, and so is part of the stiffness.
        """
        s, free = self.system, self._free
        load = self.with_hold_efforts(here, load)
        a = self.accelerations(here.q, here.v, load)
        known = (here.q, here.v, a, here.z, load, here.multipliers)
        zero = self._matrix(*known, (0.0, 0.0))
        by_q, by_v = self._matrix(*known, (0.0, 1.0)) - zero, self._matrix(*known, (1.0, 0.0)) - zero
        N = here.motions * self.lengths[:, None]
        left = N[free].T
        first = s.nv + self._n_rows
        return BalanceSlopes(
            left @ zero[free][:, : s.nv] @ N,
            left @ by_v[free][:, : s.nv] @ N,
            left @ by_q[free][:, : s.nv] @ N,
            left @ by_v[free][:, first:],
            -by_q[first:, : s.nv] @ N,
            -by_v[first:, : s.nv] @ N,
            -by_v[first:, first:],
        )


def null_space(rows: Array, share: float = RANK) -> Array:
    """Return an orthonormal basis of the null space; singular values below a share of the largest count as zero.

    >>> abs(null_space(np.array([[0.0, 2.0]]))).tolist()
    [[1.0], [0.0]]
    """
    n = rows.shape[1]
    if not len(rows):
        return np.eye(n)
    _, s, vt = np.linalg.svd(rows)
    rank = int((~vanishing(s, s, share=share)).sum())
    return np.asarray(vt[rank:].T)
