"""Energy balances of the parts of a mechanism that meet only at the ground.

Such parts do not exchange energy, so that each has a balance of its own, against its own energies: a small part that is
all wrong does not show in the sum with a large one. The energy of a part is that of the whole mechanism with all others
held as they were at the start, less a constant. The work on a part is known exactly if no other part has work done on
it; otherwise it is integrated over the states there are. By how much the sum of that misses the work on the whole, so
much the balance of a part may be off, and what is within that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.forces import Actuator, Load
from whippletree.kernels.kernel import Array
from whippletree.model.description import GROUND, ClosureUse, Description, ForceUse
from whippletree.model.parts import IndependentPart
from whippletree.results.certificate_measures import ROUNDING
from whippletree.results.replay import Replay

__all__ = ["MOST_PARTS", "PartBalance", "part_balances", "stored_in_time"]

MOST_PARTS = 64
"""More parts than that are not measured one by one."""


class PartBalance(NamedTuple):
    """The energy of a part that came from nowhere, at worst, and the most that passes; NaN if it is not known."""

    name: str
    error: float
    limit: float


def part_balances(
    run: Replay, parts: list[IndependentPart], tolerance: float, outputs: Replay | None = None
) -> list[PartBalance]:
    """Return the balance of each part, which may be off by a share `tolerance` of the part's own energies.

    One part is the whole mechanism, of which the certificate tells already. Powers are integrated over the states of
    the run and, between them, those of its `outputs`.
    """
    if not 2 <= len(parts) <= MOST_PARTS or run.work is None or len(run.t) < 2:
        return []
    energies = [_energy_of(run, part) for part in parts]
    works, missed = _works_on(run, parts, outputs)
    found = []
    for part, (energy, kinetic), work in zip(parts, energies, works, strict=True):
        error = np.abs(energy - energy[0] - (work - work[0])).max()
        limit = tolerance * (kinetic.max() + np.ptp(energy - kinetic)) + ROUNDING * np.abs(energy).max()
        unknown = error > limit >= error - missed
        found.append(PartBalance(part.name, np.nan if unknown else float(error), float(limit)))
    return found


def _energy_of(run: Replay, part: IndependentPart) -> tuple[Array, Array]:
    """Return total and kinetic energy of a part, the total but for a constant."""
    energy = _only(run, part).energy()
    return energy.total, energy.kinetic


def _only(run: Replay, part: IndependentPart) -> Replay:
    """Return the run with all other parts at rest where they were at the start."""
    system = run.system
    q, v, z = (np.repeat(given[:1], len(run.t), axis=0) for given in (run.q, np.zeros_like(run.v), run.z))
    for joint in part.joints:
        q[:, system.q_slice(joint)] = run.q[:, system.q_slice(joint)]
        v[:, system.v_slice(joint)] = run.v[:, system.v_slice(joint)]
    for state in part.states:
        k = system.kernels.elements.names.index(state)
        z[:, k] = run.z[:, k]
    return replace(run, q=q, v=v, z=z, work=None)


def _works_on(run: Replay, parts: list[IndependentPart], outputs: Replay | None) -> tuple[list[Array], float]:
    """Return the work on each part up to each output, and by how much that may be off."""
    assert run.work is not None
    total = run.work[:, 0] - run.work[:, 1]
    tau = np.zeros(run.system.nv) if run.efforts is None else np.abs(np.atleast_2d(run.efforts)).max(axis=0)
    bodies = set(_worked(run.system.description))
    worked = [
        bool(bodies.intersection(part.bodies)) or any(tau[run.system.v_slice(name)].any() for name in part.joints)
        for part in parts
    ]
    if sum(worked) <= 1:
        return [total if has else np.zeros(len(total)) for has in worked], 0.0
    fine, where = run, slice(None)
    if outputs is not None:
        fine, where = _joined(run, outputs)
    works = [
        _integrated(fine, part)[where] if has else np.zeros(len(total)) for part, has in zip(parts, worked, strict=True)
    ]
    return works, float(np.abs(np.sum(works, axis=0) - (total - total[0])).max())


def _joined(run: Replay, outputs: Replay) -> tuple[Replay, Any]:
    """Return states and outputs of a run in one row, and where in it the states are."""
    extra = np.flatnonzero(~np.isin(outputs.t, run.t) & (outputs.t > run.t[0]) & (outputs.t < run.t[-1]))
    t = np.concatenate([run.t, outputs.t[extra]])
    order = np.argsort(t, kind="stable")
    q, v, z = (
        np.concatenate([a, b[extra]])[order] for a, b in ((run.q, outputs.q), (run.v, outputs.v), (run.z, outputs.z))
    )
    efforts = run.efforts
    if efforts is not None and outputs.efforts is not None:
        own, others = np.broadcast_to(efforts, run.v.shape), np.broadcast_to(outputs.efforts, outputs.v.shape)
        efforts = np.concatenate([own, others[extra]])[order]
    joined = replace(run, t=t[order], q=q, v=v, z=z, efforts=efforts, work=None)
    return joined, np.argsort(order)[: len(run.t)]


def _integrated(run: Replay, part: IndependentPart) -> Array:
    """Return the work on a part, from its power at the states of a run by a cubic spline."""
    alone = _only(run, part)
    powers = alone.system.powers(alone.q, alone.v, alone.efforts, **alone.element_options())
    power = powers.supplied - powers.dissipated
    if run.efforts is not None:
        power = power + (np.broadcast_to(run.efforts, alone.v.shape) * alone.v).sum(axis=1)
    h = np.diff(run.t)
    slope = np.gradient(power, run.t, edge_order=1 if len(h) < 2 else 2)
    each = h * (power[1:] + power[:-1]) / 2 - h**2 * (slope[1:] - slope[:-1]) / 12
    return np.append(0.0, np.cumsum(each))


def _worked(description: Description) -> Iterator[str]:
    """Yield bodies on which work may be done besides that of efforts that are given."""
    owners = {use.name: (use.parent, use.child) for use in description.coordinate_owners}
    yield from (use.child for use in description.joints if use.prescribed)
    acting: list[ForceUse | ClosureUse] = [use for use in description.forces if _works(use)]
    acting += [use for use in description.closures if use.closure.timed or not use.closure.holonomic]
    for use in acting:
        ends = [end for name, _ in use.coordinates for end in owners[name]]
        yield from _bodies(description, [*(place for place, _ in use.sides), *ends])


def _works(use: ForceUse) -> bool:
    """Tell whether a force may put energy in or take it out."""
    done = use.traced()
    return not (ca.SX(done.dissipated).is_zero() and ca.SX(done.supplied).is_zero())


def stored_in_time(description: Description) -> bool:
    """Tell whether the energy stored in an element may depend on time by itself: then parts cannot be told apart.

    >>> from whippletree.model import Mechanism
    >>> stored_in_time(Mechanism("m").describe())
    False
    """
    return any(use.force.timed and not isinstance(use.force, Actuator | Load) for use in description.forces)


def _bodies(description: Description, places: Iterable[str]) -> list[str]:
    """Return the bodies of places, the ground left out."""
    return [body for body in map(description.body_of, places) if body != GROUND]
