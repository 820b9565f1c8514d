"""Energy balances of the parts of a mechanism that meet only at the ground.

Such parts do not exchange energy, so that each has a balance of its own, against its own energies: a small part that is
all wrong does not show in the sum with a large one. The energy of a part is that of the whole mechanism with all others
held as they were at the start, less a constant. The work on a part is known exactly if no other part has work done on
it; otherwise it is integrated over the outputs. By how much the sum of that misses the work on the whole, so much the
balance of a part may be off, and what is within that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.closures import Side
from whippletree.elements.forces import Actuator, ElementState, Load
from whippletree.kernels.kernel import Array
from whippletree.model.description import GROUND, ClosureUse, Description, ForceUse, StateUse
from whippletree.results.certificate import PART_TOLERANCE, ROUNDING
from whippletree.results.replay import Replay

__all__ = ["MOST_PARTS", "IndependentPart", "PartBalance", "independent_parts", "part_balances", "stored_in_time"]

MOST_PARTS = 64
"""More parts than that are not measured one by one."""


class IndependentPart(NamedTuple):
    """Bodies that are connected to each other otherwise than by the ground, their joints, and what acts on them."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    states: tuple[str, ...]
    worked: bool  # whether something may put energy in or take it out, besides efforts that are given

    @property
    def name(self) -> str:
        """The part by its first body, and how many others there are.

        >>> IndependentPart(("arm", "hand"), (), (), False).name
        '"arm" and 1 more'
        """
        more = len(self.bodies) - 1
        return f'"{self.bodies[0]}"' + (f" and {more} more" if more else "")


class PartBalance(NamedTuple):
    """The energy of a part that came from nowhere, at worst, and the most that passes; NaN if it is not known."""

    name: str
    error: float
    limit: float


def independent_parts(description: Description) -> list[IndependentPart]:
    """Return the parts of a mechanism that meet only at the ground.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("two")
    >>> for name in ("left", "right"):
    ...     _ = m.revolute(f"to {name}", m.ground, m.body(name, mass=1.0))
    >>> [part.name for part in independent_parts(m.describe())]
    ['"left"', '"right"']
    """
    group = _Groups()
    owners = {use.name: (use.parent, use.child) for use in description.coordinate_owners}
    for body in description.bodies:
        group.join([body.name])
    for joint in description.joints:
        group.join(_bodies(description, (joint.parent, joint.child)))
    uses: tuple[ClosureUse | ForceUse | StateUse, ...]
    uses = (*description.closures, *description.forces, *description.states)
    for use in uses:
        places = [place for place, _ in use.sides] + [end for name, _ in use.coordinates for end in owners[name]]
        read = () if isinstance(use, ClosureUse) else use.states
        own = (use.name,) if isinstance(use, StateUse) else ()
        group.join([*_bodies(description, places), *(f"state {name}" for name in (*read, *own))])
    members_of = group.members()
    worked = set() if len(members_of) < 2 else {group.root(name) for name in _worked(description, owners)}
    parts = []
    for root, members in members_of.items():
        bodies = tuple(b.name for b in description.bodies if b.name in members)
        joints = tuple(name for name, ends in owners.items() if members.intersection(_bodies(description, ends)))
        states = tuple(s.name for s in description.states if f"state {s.name}" in members)
        if joints:
            parts.append(IndependentPart(bodies, joints, states, root in worked))
    return parts


def part_balances(run: Replay, parts: list[IndependentPart]) -> list[PartBalance]:
    """Return the balance of each part; one part is the whole mechanism, of which the certificate tells already."""
    if not 2 <= len(parts) <= MOST_PARTS or run.work is None or len(run.t) < 2:
        return []
    energies = [_energy_of(run, part) for part in parts]
    works, missed = _works_on(run, parts)
    found = []
    for part, (energy, kinetic), work in zip(parts, energies, works, strict=True):
        error = np.abs(energy - energy[0] - (work - work[0])).max()
        limit = PART_TOLERANCE * (kinetic.max() + np.ptp(energy - kinetic)) + ROUNDING * np.abs(energy).max()
        unknown = error > limit >= error - missed
        found.append(PartBalance(part.name, np.nan if unknown else float(error), float(limit)))
    return found


def _energy_of(run: Replay, part: IndependentPart) -> tuple[Array, Array]:
    """Return total and kinetic energy of a part over the outputs, the total but for a constant."""
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
        k = system.element_states.index(state)
        z[:, k] = run.z[:, k]
    return replace(run, q=q, v=v, z=z, work=None)


def _works_on(run: Replay, parts: list[IndependentPart]) -> tuple[list[Array], float]:
    """Return the work on each part up to each output, and by how much that may be off."""
    assert run.work is not None
    total = run.work[:, 0] - run.work[:, 1]
    tau = np.zeros(run.system.nv) if run.efforts is None else np.abs(np.atleast_2d(run.efforts)).max(axis=0)
    worked = [part.worked or any(tau[run.system.v_slice(name)].any() for name in part.joints) for part in parts]
    if sum(worked) <= 1:
        return [total if has else np.zeros(len(total)) for has in worked], 0.0
    works = [_integrated(run, part) if has else np.zeros(len(total)) for part, has in zip(parts, worked, strict=True)]
    return works, float(np.abs(np.sum(works, axis=0) - (total - total[0])).max())


def _integrated(run: Replay, part: IndependentPart) -> Array:
    """Return the work on a part, from its power at the outputs by a cubic spline."""
    alone = _only(run, part)
    powers = alone.system.powers(alone.q, alone.v, **alone.element_options())
    power = powers.supplied - powers.dissipated
    if run.efforts is not None:
        power = power + (np.broadcast_to(run.efforts, alone.v.shape) * alone.v).sum(axis=1)
    h = np.diff(run.t)
    slope = np.gradient(power, run.t, edge_order=1 if len(h) < 2 else 2)
    each = h * (power[1:] + power[:-1]) / 2 - h**2 * (slope[1:] - slope[:-1]) / 12
    return np.append(0.0, np.cumsum(each))


def _worked(description: Description, owners: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Yield bodies on which work may be done besides that of efforts that are given."""
    yield from (use.child for use in description.joints if use.prescribed)
    acting: list[ForceUse | ClosureUse] = [use for use in description.forces if _works(use)]
    acting += [use for use in description.closures if use.closure.timed or not use.closure.holonomic]
    for use in acting:
        ends = [end for name, _ in use.coordinates for end in owners[name]]
        yield from _bodies(description, [*(place for place, _ in use.sides), *ends])


def _works(use: ForceUse) -> bool:
    """Tell whether a force may put energy in or take it out."""
    sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(letter, 3) for letter in "pwu")) for _ in use.sides)
    q, v = (ca.SX.sym(letter, len(use.coordinates)) for letter in "qv")
    done = use.force.act(ElementState(sides, q, v, ca.SX.sym("z", len(use.states)), ca.SX.sym("t")))
    return not (ca.SX(done.dissipated).is_zero() and ca.SX(done.supplied).is_zero())


def stored_in_time(description: Description) -> bool:
    """Tell whether what an element stores may depend on time by itself: then parts cannot be told apart.

    >>> from whippletree.model import Mechanism
    >>> stored_in_time(Mechanism("m").describe())
    False
    """
    return any(use.force.timed and not isinstance(use.force, Actuator | Load) for use in description.forces)


def _bodies(description: Description, places: Iterable[str]) -> list[str]:
    """Return the bodies of places, the ground left out."""
    return [body for body in map(description.body_of, places) if body != GROUND]


class _Groups:
    """Names that are joined into groups."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        """Return the name that stands for a group."""
        self._above.setdefault(name, name)
        while self._above[name] != name:
            self._above[name] = self._above[self._above[name]]
            name = self._above[name]
        return name

    def join(self, names: list[str]) -> None:
        """Let names be of one group."""
        for name in names:
            self._above[self.root(name)] = self.root(names[0])

    def members(self) -> dict[str, set[str]]:
        """Return the names of each group."""
        found: dict[str, set[str]] = {}
        for name in self._above:
            found.setdefault(self.root(name), set()).add(name)
        return found
