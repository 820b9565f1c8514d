"""Flexible bodies whose fastest vibration decides how long steps are: explicit methods have to follow it.

An explicit method is stable with steps of about 1 / omega of the fastest vibration, be that visible or not. Stiff beams
and many modes make it a thousand times faster than the motion that a run is about; implicit methods are stable with any
step. How fast a body vibrates depends on what it is attached to, so frequencies are those of the mechanism: K and M of
all freedoms that closures leave, with no other stiffness than that of flexible bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whippletree.elements.bodies import FlexibleBody
from whippletree.kernels.kernel import Array
from whippletree.model.names import quoted
from whippletree.results.replay import Replay, of_rows
from whippletree.simulate import system_interface
from whippletree.simulate.tableaus import METHODS
from whippletree.system import System

if TYPE_CHECKING:
    from whippletree.studies.run_records import RunRecord

__all__ = ["Vibration", "fastest_vibration", "stiff_body"]

_EXPLICIT = {*METHODS, "adams", "semi_implicit_euler"}

_MANY_STEPS = 10_000
"""Steps of a run from which on their shortness is worth a warning."""

_UNSEEN = 100.0
"""Steps of an adaptive method are worth a word if they are so many, and so many for each output."""

_FOLLOWED = 0.1
"""A step of at least so many 1 / omega is as long as a vibration lets it be: `dopri5` takes 0.3 where the vibration is
visible at its usual tolerance, and 1 to 3 where it is not; methods of higher order take more."""

_MOST_FREEDOMS = 400
"""Frequencies of larger mechanisms are not looked for."""

_REMEDY = (
    'if that vibration does not matter, take method="generalized_alpha" (spectral_radius= damps it) or "trapezoidal" '
    "with a step= that suits the motion, or make the body with fewer modes= (highest_frequency=)"
)


class Vibration(NamedTuple):
    """The fastest vibration of the flexible bodies in a mechanism, in radians per second, and whose it is most."""

    rate: float
    body: str


def stiff_body(made: RunRecord, run: Replay, outputs: int) -> str:
    """Say which flexible body makes the steps of an explicit method short, or unstable; nothing if none does.

    That steps are short is worth a word if there are many more of them than `outputs`.
    """
    if made.method not in _EXPLICIT or made.system.nv > _MOST_FREEDOMS:
        return ""
    if made.adaptive:
        worth_a_word = made.steps > max(_MANY_STEPS, _UNSEEN * outputs)
        step = float(run.t[-1] - run.t[0]) / made.steps if worth_a_word else 0.0
    else:
        step = made.fixed_step
    if _alone(run.system) * step < _FOLLOWED:
        return ""
    found = fastest_vibration(run.system, run.q[0], float(run.t[0]), of_rows(run.parameters, 0))
    whose = f"the vibration of body {quoted(found.body)} at up to {found.rate / (2 * np.pi):.4g} Hz"
    if made.adaptive:
        words = f'steps of "{made.method}", {step:.3g} s on average, are as short as {whose} demands: {_REMEDY}'
        return words if found.rate * step > _FOLLOWED else ""
    unstable = found.rate * step > np.pi and not made.amplification(1j * found.rate * step) <= 1.0
    words = f'steps of "{made.method}", {step:.3g} s, are unstable for {whose}: take a smaller step=; {_REMEDY}'
    return words if unstable else ""


def _alone(system: System) -> float:
    """Return the highest natural frequency of any flexible body with its frame held, times ten.

    Where its frame is free to move, a body with one mode vibrates up to six times as fast.
    """
    kinds = (body.kind for body in system.description.bodies if isinstance(body.kind, FlexibleBody))
    return 10.0 * max((float(kind.frequencies().max(initial=0.0)) for kind in kinds), default=0.0)


def fastest_vibration(system: System, q: Array, t: float = 0.0, parameters: Array | None = None) -> Vibration:
    """Return the fastest vibration near a configuration; none has the rate zero."""
    bodies = [(each.name, each.kind) for each in system.description.bodies if isinstance(each.kind, FlexibleBody)]
    owners = [(system.v_slice(name), name, kind.arrays.array("stiffness")) for name, kind in bodies if kind.n_own]
    if not owners:
        return Vibration(0.0, "")
    K, M = np.zeros((system.nv, system.nv)), system.mass_matrix(q, t=t, parameters=parameters)
    for own, _, stiffness in owners:
        K[own, own] = stiffness
    allowed = _allowed(system, q, t, parameters)
    inertia, modes = np.linalg.eigh(allowed.T @ M @ allowed)
    heavy = inertia > _MASSLESS * inertia.max(initial=0.0)
    allowed = allowed @ (modes[:, heavy] / np.sqrt(inertia[heavy]))
    squares, shapes = np.linalg.eigh(allowed.T @ K @ allowed)
    if not squares.size or squares[-1] <= 0.0:
        return Vibration(0.0, "")
    shape = allowed @ shapes[:, -1]
    strain = [float(shape[own] @ stiffness @ shape[own]) for own, _, stiffness in owners]
    return Vibration(float(np.sqrt(squares[-1])), owners[int(np.argmax(strain))][1])


_MASSLESS = 1e-12
"""Motions with less than this share of the largest inertia belong to massless bodies."""


def _allowed(system: System, q: Array, t: float, parameters: Array | None) -> Array:
    """Return the velocities (nv, n) that closures and prescribed motions allow, as columns."""
    free = np.eye(system.nv)[:, ~np.array(system_interface.driven_freedoms(system), dtype=bool)]
    rows = system.closure_jacobian(q, t=t, parameters=parameters) @ free
    if not len(rows):
        return free
    _, sizes, directions = np.linalg.svd(rows)
    rank = int(np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0)))
    return np.asarray(free @ directions[rank:].T)
