"""Closures at a state: residuals, rows and biases for every loop formulation.

The residual, rows and bias of a closure (see `elements.closures.base`) are in the axes of the loop's base, which is
taken at rest: only the motion relative to it matters, so a loop costs its own nodes, wherever in the tree it is.
Here they are brought to the nodes:

    phi'' = sum_k F_k^T alpha_k + ... = G a + gamma           G = D* B        (Nikravesh 11-14)

where F_k holds, for each row, the wrench that a unit multiplier puts on node k. Carried inward like any force and
projected on the joints, the same columns are the rows of the Jacobian G, the generalised forces G^T lambda, and the
right-hand sides of the Schur complement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import casadi as ca

from whippletree.elements.closures import Rows, joint_rates
from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments, CutJoint
from whippletree.formulations.nodes.frame_states import (
    FrameState,
    _frame_state,
    _reach,
    force_columns,
    with_accelerations,
)
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial import stack
from whippletree.symbolic.arithmetic import plus, product
from whippletree.symbolic.sparse_factors import add_to

__all__ = [
    "ClosureSet",
    "ClosureState",
    "JointForceColumns",
    "NodeForceColumns",
    "jacobian_rows",
    "with_closure_forces",
]


Made = TypeVar("Made")


class NodeForceColumns(NamedTuple):
    """Force columns (6, m) on a node, in node axes at its origin; carried to the base, those of a closure cancel."""

    node: int
    base: int
    F: ca.SX


class JointForceColumns(NamedTuple):
    """Effort columns (m) on one freedom of a node's joint."""

    node: int
    component: int
    e: ca.SX


class ClosureState(NamedTuple):
    """A closure at a state, for the rows that are kept."""

    phi: ca.SX
    rate: ca.SX
    second: ca.SX  # phi'' for the nodes' accelerations
    node_forces: tuple[NodeForceColumns, ...]
    joint_forces: tuple[JointForceColumns, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.phi.shape[0])


@dataclass(frozen=True)
class ClosureSet:
    """The closures of a mechanism over the symbols of a trace.

    `keep` lists, for each closure, the rows to be used; the others follow from them. `a` holds accelerations, of which
    those of prescribed cut joints are used here.
    """

    attachments: ClosureAttachments
    keep: tuple[tuple[int, ...], ...]
    q: ca.SX
    v: ca.SX
    a: ca.SX
    t: ca.SX

    def evaluate(self, walk: Unrolled, some: Sequence[int] | None = None) -> list[ClosureState]:
        """Return every closure, or some of them, at the state of the walk; `second` is for the nodes' accelerations."""
        chosen = range(len(self.keep)) if some is None else some
        return [self._evaluate(walk, self.attachments.all[c], self.keep[c]) for c in chosen]

    def cut_rates(self, walk: Unrolled) -> list[ClosureState]:
        """Return for every cut joint the rows of its own velocities: `rate` is v, `second` its acceleration."""
        return [self._cut_rates(walk, cut) for cut in self.attachments.cuts]

    def cut_accelerations(self, walk: Unrolled, a: ca.SX) -> ca.SX:
        """Return accelerations (nv) with those of the cut joints filled in."""
        complete = ca.SX(a)
        for cut, closure_states in zip(self.attachments.cuts, self.cut_rates(with_accelerations(walk, a)), strict=True):
            if cut.joint.nv:
                complete[cut.v] = closure_states.second
        return complete

    def efforts_at_cuts(
        self, walk: Unrolled, tau: ca.SX, *, prescribed: bool = False, still: Unrolled | None = None
    ) -> Unrolled:
        """Return the walk with the efforts of cut joints applied to the nodes they join.

        Those of prescribed cut joints are left out, since their drives make up for them, unless they are asked for.
        Where they act is found on the walk, or on one at rest, if that is given.
        """
        chosen = [
            cut
            for cut in self.attachments.cuts
            if cut.joint.nv and (prescribed or not cut.use.prescribed) and not tau[cut.v, :].is_zero()
        ]
        rates = [self._cut_rates(still or walk, cut) for cut in chosen]
        return with_closure_forces(walk, rates, [tau[cut.v, :] for cut in chosen])

    def frame_states(self, walk: Unrolled, attachment: ClosureAttachment | CutJoint) -> tuple[FrameState, ...]:
        """Return the states of a closure's frames, seen from its base.

        Unless the closure looks at places themselves, they are measured from where the way to its first frame begins:
        what is far from the base's origin would be rounded by its distance, and near a singular position that counts.
        """
        key = ("stations", attachment.base, attachment.turn, *map(id, attachment.frames))
        found: tuple[FrameState, ...] | None = walk.reached.get(key)
        if found is None:
            ends = [(_reach(walk, attachment.base, frame.node, attachment.turn), frame) for frame in attachment.frames]
            absolute = isinstance(attachment, ClosureAttachment) and attachment.closure.absolute
            origin = ca.SX.zeros(3) if absolute or not ends else ends[0][0].origin
            found = walk.reached[key] = tuple(_frame_state(reached, frame, origin) for reached, frame in ends)
        return found

    def side_rows(self, walk: Unrolled, some: Sequence[int] | None = None) -> list[Rows]:
        """Return the rows of every closure, or some, on their sides and coordinates, whether kept or not."""
        chosen = range(len(self.attachments.all)) if some is None else some
        return [self._side_rows(walk, self.attachments.all[c])[0] for c in chosen]

    def cut_rows(self, walk: Unrolled) -> list[Rows]:
        """Return for every cut joint the rows on its sides that give its velocities."""
        return [self._cut_rows(walk, cut) for cut in self.attachments.cuts]

    def _once(self, walk: Unrolled, key: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """Return the cached value of a key for these symbols, on a walk that moves alike; compute it on first use."""
        whole = (*key, *map(id, (self.attachments, self.q, self.v, self.a, self.t)))
        if whole not in walk.reached:
            walk.reached[whole] = make(), self  # the symbols are kept, so that nothing else has their identity
        found: Made = walk.reached[whole][0]
        return found

    def _side_rows(self, walk: Unrolled, attachment: ClosureAttachment) -> tuple[Rows, tuple[FrameState, ...]]:
        frame_states = self.frame_states(walk, attachment)

        def rows() -> Rows:
            q, v, given = self.coordinates(attachment)
            found = attachment.closure.rows(tuple(s.side for s in frame_states), q, v, self.t)
            return found._replace(bias=found.bias - given)

        return self._once(walk, ("rows", attachment.key), rows), frame_states

    def _cut_rows(self, walk: Unrolled, cut: CutJoint) -> Rows:
        def rows() -> Rows:
            x = cut.joint.configuration(self.q[cut.q, :])
            sides = tuple(s.side for s in self.frame_states(walk, cut))
            return joint_rates(cut.joint, x, self.v[cut.v, :], sides)

        return self._once(walk, ("cut rows", cut.use.name), rows)

    def _evaluate(self, walk: Unrolled, attachment: ClosureAttachment, keep: Sequence[int]) -> ClosureState:
        key = ("closure", attachment.key, tuple(keep))
        return self._once(walk, key, lambda: self._closure_state(walk, attachment, keep))

    def _closure_state(self, walk: Unrolled, attachment: ClosureAttachment, keep: Sequence[int]) -> ClosureState:
        rows, frame_states = self._side_rows(walk, attachment)
        chosen = list(keep)
        D = [d[chosen, :] for d in rows.D]
        K = rows.K[chosen, :]
        rate, second = rows.drift[chosen, :], rows.bias[chosen, :]
        node_forces: list[NodeForceColumns] = []
        joint_forces: list[JointForceColumns] = []
        for frame, state, d in zip(attachment.frames, frame_states, D, strict=True):
            rate = plus(rate, product(d, stack(state.side.w, state.side.u)))
            second = plus(second, product(d, state.acceleration))
            if frame.node >= 0:
                node_forces.append(NodeForceColumns(frame.node, attachment.base, force_columns(frame, state, d)))
        for i, c in enumerate(attachment.coordinates):
            k = K[:, i]
            rate = rate + k * self.v[c.v]
            if c.node is not None:
                second = second + k * walk.nodes[c.node].acceleration[c.component]
                joint_forces.append(JointForceColumns(c.node, c.component, k))
            elif c.cut is not None:
                rates = self._cut_rates(walk, self.attachments.cuts[c.cut])
                second = second + k * rates.second[c.component]
                node_forces += [NodeForceColumns(p.node, p.base, p.F[:, c.component] @ k.T) for p in rates.node_forces]
        return ClosureState(rows.phi[chosen, :], rate, second, tuple(node_forces), tuple(joint_forces))

    def coordinates(self, attachment: ClosureAttachment) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the coordinates and rates a closure depends on, and the second derivative that its rows must have."""
        none = ca.SX.zeros(attachment.closure.n_rows)
        own = attachment.own
        if own is not None:
            cut = self.attachments.cuts[own]
            return self.q[cut.q, :], self.v[cut.v, :], none if attachment.driven is None else self.a[cut.v, :]
        q = ca.SX(ca.vertcat(*(self.q[c.q] for c in attachment.coordinates)))
        v = ca.SX(ca.vertcat(*(self.v[c.v] for c in attachment.coordinates)))
        return q, v, none

    def _cut_rates(self, walk: Unrolled, cut: CutJoint) -> ClosureState:
        return self._once(walk, ("cut", cut.use.name), lambda: self._cut_state(walk, cut))

    def _cut_state(self, walk: Unrolled, cut: CutJoint) -> ClosureState:
        frame_states, rows = self.frame_states(walk, cut), self._cut_rows(walk, cut)
        rate, second = rows.drift, rows.bias
        node_forces = []
        for frame, state, d in zip(cut.frames, frame_states, rows.D, strict=True):
            rate = plus(rate, product(d, stack(state.side.w, state.side.u)))
            second = plus(second, product(d, state.acceleration))
            if frame.node >= 0:
                node_forces.append(NodeForceColumns(frame.node, cut.base, force_columns(frame, state, d)))
        return ClosureState(rows.phi, rate, second, tuple(node_forces), ())


def with_closure_forces(
    walk: Unrolled, closure_states: Sequence[ClosureState], multipliers: Sequence[ca.SX]
) -> Unrolled:
    """Return the walk with the closures' forces on its nodes and joints added."""
    push: dict[int, Any] = {}
    effort: dict[int, ca.SX] = {}
    for one, value in zip(closure_states, multipliers, strict=True):
        for on_node in one.node_forces:
            push[on_node.node] = push.get(on_node.node, 0) + on_node.F @ value
        for hinge in one.joint_forces:
            k = hinge.node
            tau = effort.setdefault(k, ca.SX(walk.nodes[k].tau))
            tau[hinge.component] = tau[hinge.component] + ca.dot(hinge.e, value)
    nodes = list(walk.nodes)
    for k, force in push.items():
        before = nodes[k].push
        nodes[k] = replace(nodes[k], push=force if before is None else before + force)
    for k, tau in effort.items():
        nodes[k] = replace(nodes[k], tau=tau)
    return walk.with_loads(nodes)


def jacobian_rows(walk: Unrolled, closure_states: Sequence[ClosureState]) -> list[dict[int, ca.SX]]:
    """Return G row by row, closure after closure: the entries that are not zero, by their place in v."""
    rows: list[dict[int, ca.SX]] = []
    for one in closure_states:
        blocks: dict[int, ca.SX] = {}
        for on_node in one.node_forces:
            k, F = on_node.node, on_node.F
            while k != on_node.base:
                node = walk.nodes[k]
                x = node.configuration()
                block = product(node.joint_map(x).T, F)
                blocks[k] = plus(blocks[k], block) if k in blocks else block
                F, k = node.shift(x).force(F), walk.parents[k]
        for hinge in one.joint_forces:
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
                        add_to(row, start + j, entry)
            rows.append(row)
    return rows
