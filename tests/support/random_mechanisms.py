"""Random mechanisms of any structure, masses, lengths and state, the same for the same number, to ask all formulations.

Structures are those of `random_loops`, trees, loops that are locked, and loops that free joints close. Masses are
plain, spread over many powers of ten, light on a heavy base, or missing on some links; lengths are plain, or all a
thousandth or a thousand times as large; the mechanism moves, rests, or rests in balance. Bodies, joints and closures
are described in any order. The answer is that of `absolute_balance.refined`, in absolute coordinates apart from the
engine.

Errors are relative to the largest acceleration, or to that which the forces would make one by one if nothing balanced
them (`forced`): in balance nothing accelerates, and rounding is measured by what was subtracted. What is allowed is
1e-8, or a hundred times what the conditioning of the equations makes of rounding, entry by entry
(`absolute_balance.rounding_of`): masses of any ratio do no harm by themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

import whippletree as wt
from support import random_loops
from support.absolute_balance import Equations, Stand, refined, rounding_of
from support.hard_loops import ROUNDINGS, effort_scale, per_length, placed_elsewhere
from support.loop_models import GROUND, Hinge, Looped, built, inputs
from support.random_loops import Draft, Plane, Space, unit
from whippletree.errors import WhippletreeError
from whippletree.formulations.methods import registry
from whippletree.system.equations import Request

Array = np.ndarray

RIGHT = 1e-8
APPROXIMATE = 1e-4
"""The relative error that `penalty` and `natural` promise, or else they refuse a state."""

AT_REST = 1e-9
"""Accelerations below this are rounding of the reference, and differences count by themselves."""

UNDETERMINED = 1e-3
"""The allowed error from which on there is no acceleration to speak of, and only a formulation's word is asked for."""


# ---------------------------------------------------------------------------------------------------------
# Structures, masses, lengths


def tree(d: Draft, i: int) -> int:
    d.branches(int(d.rng.integers(2, 5)))
    return -1


def locked(d: Draft, i: int) -> int:
    """A loop without freedoms, on the ground or on something that moves."""
    base = d.base() if i % 2 else GROUND
    d.loop(base, Plane(unit(d.rng)) if i % 3 else Space(), 0)
    return -1


def closed_by_nothing(d: Draft, i: int) -> int:
    """A tree some of whose bodies have a free joint to another one."""
    d.branches(int(d.rng.integers(2, 5)))
    for _ in range(int(d.rng.integers(1, 3))):
        d.join("free", *d.two_bodies())
    return -1


STRUCTURES: Mapping[str, Callable[[Draft, int], int]] = {
    "tree": tree,
    "one loop": random_loops.one_loop,
    "locked": locked,
    "planar": random_loops.planar,
    "in a row": random_loops.in_a_row,
    "one base": random_loops.one_base,
    "overconstrained": random_loops.overconstrained,
    "floating": random_loops.floating,
    "cut joints": random_loops.cut_joints,
    "rods": random_loops.rods,
    "couplings": random_loops.couplings,
    "closed by nothing": closed_by_nothing,
}
MASSES = ("plain", "spread", "light on heavy", "massless")
STATES = ("moving", "at rest", "in balance")


def weigh(d: Draft, how: str) -> None:
    """Give the bodies of a draft other masses."""
    for k, (name, part) in enumerate(d.parts.items()):
        factor = 1.0
        if how == "spread":
            factor = 10.0 ** d.rng.uniform(-4.5, 4.5)
        elif how == "light on heavy":
            factor = 10.0 ** (d.rng.uniform(2.0, 9.0) * (1 if k == 0 else -1))
        elif how == "massless":
            factor = float(d.rng.random() > 0.4)
        d.parts[name] = replace(part, mass=part.mass * factor, inertia=part.inertia * factor)


def resized(looped: Looped, scale: float) -> Looped:
    """All lengths multiplied; couplings and written laws mix lengths with angles, and stay as they are."""
    if scale == 1.0 or looped.couplings or looped.laws:
        return looped
    return replace(looped, **placed_elsewhere(looped, np.zeros(3), GROUND, scale))


# ---------------------------------------------------------------------------------------------------------
# A mechanism in a state, and its accelerations


@dataclass(frozen=True)
class Trial:
    """A mechanism, its state and efforts, its accelerations, what they are compared with, and the error allowed."""

    looped: Looped
    equations: Equations
    tau: Array
    a: Array
    scale: float
    length: float
    allowed: float

    @property
    def v(self) -> Array:
        return self.equations.v[self.equations.columns.of_joints]

    def error(self, a: Array) -> float:
        """The largest difference from the reference, relative."""
        if not np.isfinite(a).all():
            return np.inf
        factors = self._factors
        size = max(np.abs(self.a * factors).max(initial=0.0), self.scale)
        far = np.abs((a - self.a) * factors).max(initial=0.0)
        return float(far / size) if size > AT_REST else float(far)

    @property
    def _factors(self) -> Array:
        return joint_factors(self.looped.hinges, self.length)


def joint_factors(hinges: tuple[Hinge, ...], length: float) -> Array:
    """What makes velocities of all joints comparable: slides in lengths."""
    return np.concatenate([np.zeros(0), *(per_length(hinge, length) for hinge in hinges)])


def forced(equations: Equations, F: Array, length: float) -> float:
    """The largest acceleration of a joint that one of the forces would make by itself, the constraints satisfied."""
    N, M = equations.motions, equations.mass
    if not N.size:  # what holds everything holds gravity back
        return float(np.linalg.norm(equations.looped.gravity) / length)
    reduced = N.T @ M @ N
    size = np.sqrt(np.maximum(np.diag(reduced), 1e-30 * max(np.diag(reduced).max(), 1e-300)))
    inverse = np.linalg.pinv(reduced / np.outer(size, size), rcond=1e-13) / np.outer(size, size)
    rows = N[equations.columns.of_joints] * joint_factors(equations.looped.hinges, length)[:, None]
    return float(np.abs((rows @ inverse @ N.T) * F).max(initial=0.0))


def balancing(equations: Equations) -> Array:
    """The least efforts with which nothing accelerates at rest."""
    N, columns = equations.motions, equations.columns
    F = equations.forces(np.zeros(equations.looped.nv), {})
    return np.linalg.lstsq(N[columns.of_joints].T, -N.T @ F, rcond=1e-12)[0]


@functools.cache
def trial(i: int) -> Trial:
    """The i-th mechanism.

    >>> trial(0).looped.name
    'tree, plain, moving 0'
    """
    structure = list(STRUCTURES)[i % len(STRUCTURES)]
    round_ = i // len(STRUCTURES)
    masses, state = MASSES[round_ % len(MASSES)], STATES[round_ // 2 % len(STATES)]
    scale = (1.0, 1.0, 1e-3, 1.0, 1e3)[round_ % 5]
    for attempt in range(200):
        d = Draft(np.random.default_rng([30, i, attempt]))
        STRUCTURES[structure](d, i)
        weigh(d, masses)
        looped = resized(d.finished(f"{structure}, {masses}, {state} {i}"), scale)
        length = scale if looped.couplings == () else 1.0
        found = in_state(looped, d.rng, state, length)
        if found is not None:
            return found
    raise AssertionError(f"{structure} {i}: nothing was accepted")


def in_state(looped: Looped, rng: np.random.Generator, state: str, length: float) -> Trial | None:
    """The mechanism in a state; None if its rank is in doubt."""
    there = Equations(Stand.of(looped))
    if not looped.hinges or there.gap < 1e-4 * min(length, 1 / length):
        return None
    v = there.consistent(rng.uniform(-3.0, 3.0, there.mobility)) if state == "moving" else None
    equations = Equations(there.stand, v, there.rank)
    tau = rng.uniform(-5.0, 5.0, looped.nv) * effort_scale(looped, length)
    if state == "in balance":
        tau = balancing(equations)
    solution, condition = refined(equations, tau)
    size, allowed = 0.0, np.inf
    if np.isfinite(condition):
        size = forced(equations, equations.forces(tau, {}), length)
        rounded = ROUNDINGS * np.abs(rounding_of(solution, tau) * joint_factors(looped.hinges, length)).max(initial=0.0)
        whole = max(size, np.abs(solution.joints * joint_factors(looped.hinges, length)).max(initial=0.0), AT_REST)
        allowed = max(RIGHT, float(rounded / whole))
    return Trial(looped, equations, tau, solution.joints, size, length, allowed)


# ---------------------------------------------------------------------------------------------------------
# What the engine says


def formulations(s: wt.System) -> list[str]:
    """All that there are, for loops or for trees, `auto` first."""
    some = registry.loop_formulations() if s.closure_rows else registry.tree_formulations()
    return ["auto", *(one.text for one in some)]


def acceleration(s: wt.System, t: Trial, formulation: str) -> Array:
    """What a call would return, without machine code; it raises what a call would raise."""
    at = {"q": t.looped.q, "v": t.v, "tau": t.tau, "t": np.array([t.looped.t])}
    if s.closure_rows:
        loops = s.kernels.loops
        loops.consistency.check(at["q"], at["v"], loops.conditions(t.looped.t))
    function = s.function("forward_dynamics", formulation=formulation)
    found = np.array(function(*inputs(function, at))).ravel()
    if np.isfinite(found).all():
        return found
    if not s.closure_rows:
        raise wt.DynamicsError("not finite")
    name = s.chosen.name if formulation == "auto" else formulation
    return s._engine.loops.fallback.answer(Request("forward_dynamics", name), at)


def compiled(s: wt.System, t: Trial, formulation: str) -> Array:
    """The same by machine code, as users call it."""
    return np.asarray(s.forward_dynamics(t.looped.q, t.v, t.tau, t=t.looped.t, formulation=formulation))


def verdicts(
    t: Trial, call: Callable[[wt.System, Trial, str], Array] = acceleration, share: int | None = None
) -> dict[str, str]:
    """For each formulation "right", "words: ..." or "WRONG ...", with the error and what is allowed.

    With a `share`, `auto` and two others only: other ones for the next number.
    """
    try:
        s = built(t.looped)
    except WhippletreeError as error:
        return {"build": f"words: {error}"}
    wanted = t.equations.mobility
    have = s.mobility.mobility
    found = {"mobility": "right" if have == wanted else f"WRONG: {have}, not {wanted}"}
    names = formulations(s)
    if share is not None:
        names = [names[0], *(names[1 + (2 * share + k) % (len(names) - 1)] for k in range(2))]
    for name in names:
        try:
            a = call(s, t, name)
        except WhippletreeError as words:
            found[name] = f"words: {words}"
            continue
        exact = name == "auto" or registry.find(name).exact
        allowed = t.allowed if exact else max(t.allowed, APPROXIMATE)
        error = t.error(a)
        found[name] = (
            "right" if error <= allowed or t.allowed > UNDETERMINED else f"WRONG by {error:.1e} of {allowed:.1e}"
        )
    return found
