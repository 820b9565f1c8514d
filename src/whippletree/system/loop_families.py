"""The closures of large mechanisms in numbers: each family of loops is traced once and evaluated for all its loops.

A loop's residual and rows depend on the joints between its base and the two sides of its cut joint, and on nothing
else. Loops with the same joints in the same places are of one family, whatever their dimensions, which may
depend on parameters. Drives, rods and other described closures are traced one by one (`Described`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.closures import pose_error
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments, CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet, jacobian_rows
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.rolled.node_kinds import joint_kind
from whippletree.kernels.kernel import Array
from whippletree.spatial import RigidInertia
from whippletree.spatial.scalars import Scalar
from whippletree.system import tolerances

__all__ = ["Block", "LoopFamilies", "dense", "loop_families"]

Traced = tuple[Unrolled, ClosureSet]

TraceFunction = Callable[[str, list[ca.SX], list[ca.SX]], ca.Function]
"""Makes a function of these inputs and, last, the parameters."""


class Block(NamedTuple):
    """Rows (m, k) of one closure, on the velocities at `columns`."""

    columns: Array
    rows: Array


class LoopPath(NamedTuple):
    """The nodes of a loop, inner ones first, and where they hang: numbers among themselves, -1 for the base.

    `sharing` gives for each node the first one with the same freedoms: itself, unless these are a body's own.
    """

    nodes: tuple[int, ...]
    parents: tuple[int, ...]
    sides: tuple[int, int]
    sharing: tuple[int, ...]


@dataclass(frozen=True)
class _LoopFamily:
    """Loops that differ in their dimensions only: the coordinates, constants and columns of each, and the traces."""

    loops: Array
    q: Array  # (k, nq of a loop)
    constants: Callable[[Array], Array]  # from parameters to (k, n)
    columns: Array  # (k, nv of a loop), the tree's joints first, then the cut one
    n_tree: int
    residual: ca.Function
    rate: ca.Function
    full: ca.Function
    tree: ca.Function


_AT_ONCE = 20_000
"""How many loops, each state by itself, are evaluated at once."""


class Described(NamedTuple):
    """The described closures: their residuals and how fast they open, and their rows with the drift.

    `full` and `tree` are the columns that the rows of each closure are on, of all joints and of the tree; the functions
    give the entries of these one after the other. `sizes` are the numbers of rows.
    """

    openings: ca.Function
    full: list[Array]
    full_rows: ca.Function
    tree: list[Array]
    tree_rows: ca.Function
    sizes: list[int]


@dataclass(frozen=True)
class LoopFamilies:
    """The loops of a mechanism by families, and its other closures."""

    families: tuple[_LoopFamily, ...]
    count: int
    described: Described | None

    def residual(self, q: Array, t: float, parameters: Array) -> Array:
        """Return the pose errors (6 n) of the cut joints, and the residuals of described closures."""
        result = np.zeros((self.count, 6))
        for family in self.families:
            result[family.loops] = family.residual(q[family.q].T, family.constants(parameters).T, parameters).full().T
        if self.described is None:
            return result.ravel()
        gaps, _ = self.described.openings(q, 0, t, parameters)
        return np.concatenate([result.ravel(), gaps.full().ravel()])

    def openings(self, q: Array, v: Array, t: Array, parameters: Array) -> tuple[Array, Array]:
        """Return how far the closures are open in k states, and how fast they open."""
        gaps, rates = np.zeros((len(q), self.count, 6)), np.zeros((len(q), self.count, 6))
        step = max(_AT_ONCE // self.count, 1)
        constants = [family.constants(parameters) for family in self.families]
        for start in range(0, len(q), step):
            some = slice(start, start + step)
            for family, own in zip(self.families, constants, strict=True):
                own_q, own_v = q[some][:, family.q], v[some][:, family.columns]
                shape = (len(own_q), len(family.loops), 6)
                columns = own_q.reshape(-1, own_q.shape[-1]).T, np.tile(own, (len(own_q), 1)).T
                gaps[some, family.loops] = family.residual(*columns, parameters).full().T.reshape(shape)
                opening = family.rate(*columns, own_v.reshape(-1, own_v.shape[-1]).T, parameters)
                rates[some, family.loops] = opening.full().T.reshape(shape)
        found = gaps.reshape(len(q), -1), rates.reshape(len(q), -1)
        if self.described is None or not len(q):
            return found
        more = self.described.openings(q.T, v.T, t[None, :], parameters)
        gaps, rates = (np.hstack([one, other.full().T]) for one, other in zip(found, more, strict=True))
        return gaps, rates

    def full_rows(self, q: Array, t: float, parameters: Array) -> tuple[list[Block], Array]:
        """Return the rows of every closure, six for a cut joint, on the velocities of all joints, and their drift."""
        blocks, still = self._blocks(q, parameters, "full"), np.zeros(6 * self.count)
        if self.described is None:
            return blocks, still
        entries, drift = self.described.full_rows(q, t, parameters)
        more = _filled(self.described.full, self.described.sizes, entries.full().ravel())
        return blocks + more, np.concatenate([still, drift.full().ravel()])

    def tree_rows(self, q: Array, t: float, parameters: Array) -> list[Block]:
        """Return the rows of every closure on the tree's velocities."""
        blocks = self._blocks(q, parameters, "tree")
        if self.described is None:
            return blocks
        entries = self.described.tree_rows(q, t, parameters).full().ravel()
        return blocks + _filled(self.described.tree, self.described.sizes, entries)

    def _blocks(self, q: Array, parameters: Array, which: str) -> list[Block]:
        blocks: list[Any] = [None] * self.count
        for family in self.families:
            values = getattr(family, which)(q[family.q].T, family.constants(parameters).T, parameters).full()
            columns = family.columns if which == "full" else family.columns[:, : family.n_tree]
            n = columns.shape[1]
            for at, own, numbers in zip(family.loops, columns, np.hsplit(values, len(family.loops)), strict=True):
                blocks[at] = Block(own, numbers[:, :n])
        return blocks


def _filled(columns: list[Array], sizes: list[int], entries: Array) -> list[Block]:
    """Return blocks of so many rows from their columns and entries, row by row."""
    shapes = [(size, len(own)) for own, size in zip(columns, sizes, strict=True)]
    ends = np.cumsum([0, *(rows * width for rows, width in shapes)])
    parts = zip(columns, shapes, ends, ends[1:], strict=False)
    return [Block(own, entries[start:end].reshape(shape)) for own, shape, start, end in parts]


def dense(blocks: list[Block], nv: int) -> Array:
    """Return rows (m, nv) given closure after closure.

    >>> dense([Block(np.array([2]), np.array([[5.0]]))], 3)
    array([[0., 0., 5.]])
    """
    A = np.zeros((sum(len(block.rows) for block in blocks), nv))
    start = 0
    for block in blocks:
        A[start : start + len(block.rows), block.columns] = block.rows
        start += len(block.rows)
    return A


def loop_families(
    attachments: ClosureAttachments,
    node_tree: NodeTree,
    function: TraceFunction,
    moving: Callable[[], Traced],
    resting: Callable[[], Traced],
) -> LoopFamilies | None:
    """Return the loops by families, if there are many and no joint is prescribed.

    All closures are there over the symbols of a walk with velocities and one without.
    """
    if len(attachments.cuts) < tolerances.MANY_LOOPS:
        return None
    if any(constants.use.prescribed for constants in node_tree.node_constants) or any(
        cut.turn is not None or cut.use.prescribed for cut in attachments.cuts
    ):
        return None
    groups: dict[object, list[tuple[int, LoopPath]]] = {}
    for c, cut in enumerate(attachments.cuts):
        path = loop_path(cut, node_tree)
        joints = tuple(joint_kind(node_tree.node_constants[k].joint) for k in path.nodes)
        groups.setdefault((joints, *path[1:], joint_kind(cut.joint)), []).append((c, path))
    families = tuple(_family(attachments, node_tree, members, function) for members in groups.values())
    described = _described(function, moving(), resting()) if attachments.described else None
    return LoopFamilies(families, len(attachments.cuts), described)


def _described(function: TraceFunction, moving: Traced, resting: Traced) -> Described:
    """Trace the described closures."""
    walk, closures = moving
    states = closed.described_states(walk, closures)
    sizes = [one.n_rows for one in states]
    gaps, rates = (ca.SX(ca.vertcat(*parts)) for parts in zip(*((one.phi, one.rate) for one in states), strict=True))
    openings = function("openings", [closures.q, closures.v, closures.t], [gaps, rates])
    walk, closures = resting
    rows, drift = closed.described_rows(walk, closures)
    full, full_entries = _entries(rows, sizes)
    tree, tree_entries = _entries(jacobian_rows(walk, closed.described_states(walk, closures)), sizes)
    here = [closures.q, closures.t]
    full_rows = function("full_rows", here, [full_entries, drift])
    return Described(openings, full, full_rows, tree, function("tree_rows", here, [tree_entries]), sizes)


def _entries(rows: list[dict[int, ca.SX]], sizes: list[int]) -> tuple[list[Array], ca.SX]:
    """Return the columns that the rows of each closure are on, and all entries there."""
    columns, entries, start = [], [], 0
    for size in sizes:
        own = rows[start : start + size]
        places = sorted({j for row in own for j in row})
        columns.append(np.array(places, dtype=int))
        entries += [row.get(j, ca.SX(0)) for row in own for j in places]
        start += size
    return columns, ca.SX(ca.vertcat(ca.SX(0, 1), *entries))


def loop_path(cut: CutJoint, node_tree: NodeTree) -> LoopPath:
    """Return the nodes between the base of a loop and its sides."""
    nodes = tuple(sorted({k for frame in cut.frames for k in node_tree.tree.path(frame.node, cut.base)}))
    place = {cut.base: -1, **{k: i for i, k in enumerate(nodes)}}
    parents = tuple(place[node_tree.node_constants[k].parent] for k in nodes)
    owners = [("body", node_tree.homes[k]) if k in node_tree.homes else ("joint", k) for k in nodes]
    sharing = tuple(owners.index(owner) for owner in owners)
    return LoopPath(nodes, parents, (place[cut.frames[0].node], place[cut.frames[1].node]), sharing)


def _dimensions(cut: CutJoint, path: LoopPath, node_tree: NodeTree) -> list[Scalar]:
    """Return the dimensions of a loop: where its joints are on its bodies."""
    placements = [node_tree.node_constants[k].placement for k in path.nodes]
    placements += [frame.placement for frame in cut.frames if frame.placement is not None]
    return [entry for placement in placements for entry in placement.entries()]


def _constants(numbers: list[list[Scalar]], function: TraceFunction) -> Callable[[Array], Array]:
    """Return the dimensions of loops, a row for each, for given parameters."""
    if all(isinstance(x, float) for row in numbers for x in row):
        plain = np.array(numbers, dtype=np.float64)
        return lambda parameters: plain
    rows = function("dimensions", [], [ca.SX(ca.horzcat(*(ca.vertcat(*row) for row in numbers)))])
    return lambda parameters: np.asarray(rows(parameters).full().T)


def _family(
    attachments: ClosureAttachments,
    node_tree: NodeTree,
    members: list[tuple[int, LoopPath]],
    function: TraceFunction,
) -> _LoopFamily:
    """Trace the first of these loops with symbols for its dimensions."""
    c, path = members[0]
    cut, node_constants = attachments.cuts[c], node_tree.node_constants
    joints = [node_constants[k].joint for k in path.nodes]
    q_slices, at_q = _slices(path, [joint.nq for joint in joints])
    v_slices, at_v = _slices(path, [joint.nv for joint in joints])
    nq, nv = at_q + cut.joint.nq, at_v + cut.joint.nv
    q, p = ca.SX.sym("q", nq), ca.SX.sym("p", 12 * (len(joints) + 2))
    nodes = []
    for i, joint in enumerate(joints):
        none = ca.SX.zeros(joint.nv)
        R, point = ca.reshape(p[12 * i : 12 * i + 9], 3, 3).T, p[12 * i + 9 : 12 * i + 12]
        nodes.append(Node(joint, R, point, RigidInertia.zero(), q[q_slices[i], :], none, none, none))
    walk = Unrolled(nodes, path.parents, v_slices, nv, ca.SX.zeros(3))
    frames = []
    for i, side in enumerate(path.sides, start=len(joints)):
        frames.append(NodeFrame(side, ca.reshape(p[12 * i : 12 * i + 9], 3, 3).T, p[12 * i + 9 : 12 * i + 12]))
    local = CutJoint(cut.use, (frames[0], frames[1]), -1, slice(at_q, nq), slice(at_v, nv))
    closure = attachments.all[c].closure
    held = ClosureAttachments((ClosureAttachment(cut.use.name, closure, local.frames, -1, (), 0),), (local,))
    still = ca.SX.zeros(nv)
    closure_set = ClosureSet(held, (tuple(range(closure.n_rows)),), q, still, still, ca.SX(0))
    sides = tuple(s.side for s in closure_set.frame_states(walk, local))
    error = pose_error(local.joint, local.joint.configuration(q[local.q, :]), sides)
    full = _matrix(closed.full_rows(walk, closure_set)[0], nv)
    v = ca.SX.sym("v", nv)
    tree = jacobian_rows(walk, closure_set.evaluate(walk))
    return _LoopFamily(
        loops=np.array([c for c, _ in members]),
        q=np.array([_places(attachments.cuts[c], path, node_tree, "q") for c, path in members]),
        constants=_constants([_dimensions(attachments.cuts[c], path, node_tree) for c, path in members], function),
        columns=np.array([_places(attachments.cuts[c], path, node_tree, "v") for c, path in members]),
        n_tree=at_v,
        residual=function("residual", [q, p], [error]),
        rate=function("rate", [q, p, v], [full @ v]),
        full=function("full", [q, p], [full]),
        tree=function("tree", [q, p], [_matrix(tree, nv)]),
    )


def _slices(path: LoopPath, sizes: list[int]) -> tuple[list[slice], int]:
    """Return where the coordinates of each node are among those of the loop, and how many there are."""
    found: list[slice] = []
    end = 0
    for i, (first, size) in enumerate(zip(path.sharing, sizes, strict=True)):
        found.append(slice(end, end + size) if first == i else found[first])
        end = max(end, found[i].stop)
    return found, end


def _places(cut: CutJoint, path: LoopPath, node_tree: NodeTree, what: str) -> list[int]:
    """Return where the coordinates of a loop are in q or v, its cut joint's last."""
    own = [k for i, k in enumerate(path.nodes) if path.sharing[i] == i]
    slices = [*(getattr(node_tree.node_constants[k], what) for k in own), getattr(cut, what)]
    return [i for where in slices for i in range(where.start, where.stop)]


def _matrix(rows: list[dict[int, ca.SX]], nv: int) -> ca.SX:
    A = ca.SX.zeros(len(rows), nv)
    for i, row in enumerate(rows):
        for j, value in row.items():
            A[i, j] = value
    return A
