"""Closures at a state: what every loop formulation takes from them.

The residual, rows and bias of a closure (see `elements.closures.base`) are in the axes of the loop's base, which is
taken at rest: only the motion relative to it matters, so a loop costs its own nodes, wherever in the tree it is.
Here they are brought to the nodes:

    phi'' = sum_k F_k^T alpha_k + ... = G a + gamma           G = D* B        (Nikravesh 11-14)

where F_k holds, for each row, the wrench that a unit multiplier puts on node k. Carried inward like any force and
projected on the joints, the same columns are the rows of the Jacobian G, the generalised forces G^T lambda, and the
right-hand sides of the Schur complement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures import Rows, Side, joint_rates
from whippletree.formulations.grips import CutJoint, Fastening, Fastenings, Grip, Turn
from whippletree.formulations.node import Motion, Node
from whippletree.formulations.sweeps import Unrolled
from whippletree.spatial import Rotation, Translation, centripetal, cross, stack

__all__ = [
    "Closing",
    "Held",
    "Hinge",
    "Pull",
    "Reached",
    "Station",
    "advance",
    "columns",
    "follow",
    "jacobian_rows",
    "pushed",
    "with_accelerations",
]


class Station(NamedTuple):
    """A grip at a state, seen from the loop's base: its side, its acceleration (6), and its node's axes."""

    side: Side
    acceleration: ca.SX
    axes: ca.SX


class Pull(NamedTuple):
    """Force columns (6, m) on a node, in node axes at its origin; carried to the base, those of a closure cancel."""

    node: int
    base: int
    F: ca.SX


class Hinge(NamedTuple):
    """Effort columns (m) on one freedom of a node's joint."""

    node: int
    component: int
    e: ca.SX


class Held(NamedTuple):
    """A closure at a state, for the rows that are kept."""

    phi: ca.SX
    rate: ca.SX
    second: ca.SX  # phi'' for the nodes' accelerations
    pulls: tuple[Pull, ...]
    hinges: tuple[Hinge, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.phi.shape[0])


@dataclass(frozen=True)
class Closing:
    """The closures of a mechanism over the symbols of a trace.

    `keep` lists, for each closure, the rows to be used; the others follow from them. `a` holds accelerations, of which
    those of prescribed cut joints are used here.
    """

    fastenings: Fastenings
    keep: tuple[tuple[int, ...], ...]
    q: ca.SX
    v: ca.SX
    a: ca.SX
    t: ca.SX

    def hold(self, walk: Unrolled, some: Sequence[int] | None = None) -> list[Held]:
        """Return every closure, or some of them, at the state of the walk; `second` is for the nodes' accelerations."""
        chosen = range(len(self.keep)) if some is None else some
        return [self._hold(walk, self.fastenings.all[c], self.keep[c]) for c in chosen]

    def cut_rates(self, walk: Unrolled) -> list[Held]:
        """Return for every cut joint the rows of its own velocities: `rate` is v, `second` its acceleration."""
        return [self._cut_rates(walk, cut) for cut in self.fastenings.cuts]

    def cut_accelerations(self, walk: Unrolled, a: ca.SX) -> ca.SX:
        """Return accelerations (nv) with those of the cut joints filled in."""
        complete = ca.SX(a)
        for cut, held in zip(self.fastenings.cuts, self.cut_rates(with_accelerations(walk, a)), strict=True):
            if cut.joint.nv:
                complete[cut.v] = held.second
        return complete

    def efforts_at_cuts(self, walk: Unrolled, tau: ca.SX) -> Unrolled:
        """Return the walk with the efforts of cut joints applied to the nodes they join."""
        chosen = [
            (held, tau[cut.v, :])
            for cut, held in zip(self.fastenings.cuts, self.cut_rates(walk), strict=True)
            if cut.joint.nv and not cut.use.prescribed
        ]
        return pushed(walk, [held for held, _ in chosen], [effort for _, effort in chosen])

    def stations(self, walk: Unrolled, fastening: Fastening | CutJoint) -> tuple[Station, ...]:
        """Return what a closure holds on to, seen from its base.

        Unless the closure looks at places themselves, they are measured from where the way to its first grip begins:
        what is far from the base's origin would be rounded by its distance, and near a singular position that counts.
        """
        key = ("stations", fastening.base, fastening.turn, *map(id, fastening.grips))
        found: tuple[Station, ...] | None = walk.memory.get(key)
        if found is None:
            ends = [(_reach(walk, fastening.base, grip.node, fastening.turn), grip) for grip in fastening.grips]
            absolute = isinstance(fastening, Fastening) and fastening.closure.absolute
            origin = ca.SX.zeros(3) if absolute or not ends else ends[0][0].origin
            found = walk.memory[key] = tuple(_station(reached, grip, origin) for reached, grip in ends)
        return found

    def side_rows(self, walk: Unrolled) -> list[Rows]:
        """Return every closure's rows on its sides and coordinates, whether kept or not."""
        return [self._side_rows(walk, fastening)[0] for fastening in self.fastenings.all]

    def cut_rows(self, walk: Unrolled) -> list[Rows]:
        """Return for every cut joint the rows on its sides that give its velocities."""
        return [self._cut_rows(cut, self.stations(walk, cut)) for cut in self.fastenings.cuts]

    def _side_rows(self, walk: Unrolled, fastening: Fastening) -> tuple[Rows, tuple[Station, ...]]:
        stations = self.stations(walk, fastening)
        q, v, given = self.coordinates(fastening)
        rows = fastening.closure.rows(tuple(s.side for s in stations), q, v, self.t)
        return rows._replace(bias=rows.bias - given), stations

    def _cut_rows(self, cut: CutJoint, stations: Sequence[Station]) -> Rows:
        x = cut.joint.configuration(self.q[cut.q, :])
        return joint_rates(cut.joint, x, self.v[cut.v, :], tuple(s.side for s in stations))

    def _hold(self, walk: Unrolled, fastening: Fastening, keep: Sequence[int]) -> Held:
        rows, stations = self._side_rows(walk, fastening)
        chosen = list(keep)
        D = [d[chosen, :] for d in rows.D]
        K = rows.K[chosen, :]
        rate, second = rows.drift[chosen, :], rows.bias[chosen, :]
        pulls: list[Pull] = []
        hinges: list[Hinge] = []
        for grip, station, d in zip(fastening.grips, stations, D, strict=True):
            rate = rate + d @ stack(station.side.w, station.side.u)
            second = second + d @ station.acceleration
            if grip.node >= 0:
                pulls.append(Pull(grip.node, fastening.base, columns(grip, station, d)))
        for i, c in enumerate(fastening.coordinates):
            k = K[:, i]
            rate = rate + k * self.v[c.v]
            if c.node is not None:
                second = second + k * walk.nodes[c.node].acceleration[c.component]
                hinges.append(Hinge(c.node, c.component, k))
            elif c.cut is not None:
                rates = self._cut_rates(walk, self.fastenings.cuts[c.cut])
                second = second + k * rates.second[c.component]
                pulls += [Pull(p.node, p.base, p.F[:, c.component] @ k.T) for p in rates.pulls]
        return Held(rows.phi[chosen, :], rate, second, tuple(pulls), tuple(hinges))

    def coordinates(self, fastening: Fastening) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the coordinates and rates a closure depends on, and what its second derivative has to be."""
        none = ca.SX.zeros(fastening.closure.n_rows)
        own = fastening.own
        if own is not None:
            cut = self.fastenings.cuts[own]
            return self.q[cut.q, :], self.v[cut.v, :], none if fastening.driven is None else self.a[cut.v, :]
        q = ca.SX(ca.vertcat(*(self.q[c.q] for c in fastening.coordinates)))
        v = ca.SX(ca.vertcat(*(self.v[c.v] for c in fastening.coordinates)))
        return q, v, none

    def _cut_rates(self, walk: Unrolled, cut: CutJoint) -> Held:
        stations = self.stations(walk, cut)
        rows = self._cut_rows(cut, stations)
        rate, second = rows.drift, rows.bias
        pulls = []
        for grip, station, d in zip(cut.grips, stations, rows.D, strict=True):
            rate = rate + d @ stack(station.side.w, station.side.u)
            second = second + d @ station.acceleration
            if grip.node >= 0:
                pulls.append(Pull(grip.node, cut.base, columns(grip, station, d)))
        return Held(rows.phi, rate, second, tuple(pulls), ())


def follow(walk: Unrolled, base: int, grip: Grip) -> Station:
    """Walk from the base, taken at rest, to a grip; what is seen is in the base's axes.

    Accelerations are those of the nodes' joints.
    """
    return _station(_reach(walk, base, grip.node, None), grip, ca.SX.zeros(3))


def _station(reached: Reached, grip: Grip, origin: ca.SX) -> Station:
    """Return a grip on a node that was reached, its place measured from `origin`."""
    motion, p, V, alpha, own = reached
    axes, w = motion.axes, motion.rate
    u = V[3:6] + cross(w, grip.point)
    point = alpha[3:6] + centripetal(w, alpha[0:3]) @ grip.point
    side = Side(axes @ grip.rotation, p + axes @ grip.point + (own - origin), axes @ w, axes @ u)
    return Station(side, stack(axes @ alpha[0:3], axes @ point), axes)


_ZERO = ca.SX.zeros(3)


class Reached(NamedTuple):
    """A node seen from the base: its motion, place, twist and acceleration, and where its place is measured from."""

    motion: Motion
    p: ca.SX
    V: ca.SX
    alpha: ca.SX
    origin: ca.SX = _ZERO

    @staticmethod
    def rest() -> Reached:
        """Return the base itself."""
        return Reached(Motion.rest(), ca.SX.zeros(3), ca.SX.zeros(6), ca.SX.zeros(6))


def _reach(walk: Unrolled, base: int, node: int, turn: Turn) -> Reached:
    """Return a node seen from the base, its place measured from the hinge where the way to it begins.

    A walk remembers what was reached.
    """
    way: list[int] = []
    k = node
    while k != base and (base, k, turn) not in walk.memory:
        way.append(k)
        k = walk.parents[k]
    if k == base:
        rest = Motion.rest() if turn is None else Motion(ca.SX.zeros(3), ca.SX(ca.DM(turn)).T)
        origin = rest.axes @ _beginning(walk.nodes[way[-1]]) if way else _ZERO
        found = Reached(rest, -origin, ca.SX.zeros(6), ca.SX.zeros(6), origin)
    else:
        found = walk.memory[base, k, turn]
    for k in reversed(way):
        found = walk.memory[base, k, turn] = advance(walk.nodes[k], found)
    return found


def _beginning(node: Node) -> ca.SX:
    """Return where a node's joint is on its parent, as far as that is constant."""
    place = ca.densify(node.shift(node.configuration()).position())
    return ca.SX(ca.vertcat(*(x if x.is_constant() else ca.SX(0) for x in ca.vertsplit(place))))


def advance(node: Node, parent: Reached) -> Reached:
    """Return a node's state from its parent's."""
    x = node.configuration()
    shift, H = node.shift(x), node.joint_map(x)
    motion, alpha = node.carry(x, parent.motion, parent.alpha)
    p = parent.p + parent.motion.axes @ shift.position()
    V = shift.motion(parent.V) + H @ node.v
    return Reached(motion, p, V, alpha + H @ node.acceleration, parent.origin)


def columns(grip: Grip, station: Station, D: ca.SX) -> ca.SX:
    """Return rows D on a grip's motion, in base axes, as force columns on its node."""
    return Translation(grip.point).force(Rotation(station.axes.T).force(D.T))


def with_accelerations(walk: Unrolled, a: ca.SX) -> Unrolled:
    """Return the walk with these joint accelerations (nv)."""
    nodes = [replace(node, acceleration=a[where, :]) for node, where in zip(walk.nodes, walk.v_slices, strict=True)]
    return walk.with_nodes(nodes)


def pushed(walk: Unrolled, held: Sequence[Held], multipliers: Sequence[ca.SX]) -> Unrolled:
    """Return the walk with the closures' forces on its nodes and joints added."""
    push: dict[int, Any] = {}
    effort: dict[int, ca.SX] = {}
    for one, value in zip(held, multipliers, strict=True):
        for pull in one.pulls:
            push[pull.node] = push.get(pull.node, 0) + pull.F @ value
        for hinge in one.hinges:
            k = hinge.node
            tau = effort.setdefault(k, ca.SX(walk.nodes[k].tau))
            tau[hinge.component] = tau[hinge.component] + ca.dot(hinge.e, value)
    nodes = list(walk.nodes)
    for k, force in push.items():
        before = nodes[k].push
        nodes[k] = replace(nodes[k], push=force if before is None else before + force)
    for k, tau in effort.items():
        nodes[k] = replace(nodes[k], tau=tau)
    return walk.with_nodes(nodes)


def jacobian_rows(walk: Unrolled, held: Sequence[Held]) -> list[dict[int, ca.SX]]:
    """Return G row by row, closure after closure: the entries that are not zero, by their place in v."""
    rows: list[dict[int, ca.SX]] = []
    for one in held:
        blocks: dict[int, ca.SX] = {}
        for pull in one.pulls:
            k, F = pull.node, pull.F
            while k != pull.base:
                node = walk.nodes[k]
                x = node.configuration()
                block = node.joint_map(x).T @ F
                blocks[k] = blocks[k] + block if k in blocks else block
                F, k = node.shift(x).force(F), walk.parents[k]
        for hinge in one.hinges:
            nv = walk.nodes[hinge.node].v.shape[0]
            block = blocks.setdefault(hinge.node, ca.SX.zeros(nv, one.n_rows))
            block[hinge.component, :] = block[hinge.component, :] + hinge.e.T
        for i in range(one.n_rows):
            row: dict[int, ca.SX] = {}
            for k in sorted(blocks):
                start = walk.v_slices[k].start
                for j in range(blocks[k].shape[0]):
                    entry = blocks[k][j, i]
                    if not entry.is_zero():
                        row[start + j] = entry
            rows.append(row)
    return rows
