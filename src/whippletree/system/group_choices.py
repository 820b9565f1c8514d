"""How each group of loops is solved by `by_group`: by the method that takes the fewest operations for it.

A group is traced apart from the rest, with the branches that hang on it, by each method it can be solved with; groups
that are alike are traced once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import casadi as ca

from whippletree.elements.closures import DeclaredClosure
from whippletree.formulations.closures.closure_frames import ClosureAttachment
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_groups import NodeGroup, node_groups, with_branches
from whippletree.formulations.methods import constraint_embedding
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.foundation.once import made_once
from whippletree.kernels.tape import read_tape
from whippletree.system.equations import Equations
from whippletree.system.formulation_choice import GroupChoice

__all__ = ["LoopGroups", "merged", "operations"]

_PIECES = 60
"""Groups that are together larger than this many nodes, those that are alike counted once, are embedded unweighed."""

_WIDE = 2_000
"""A group whose nodes, times its independent freedoms squared, are more than this is not tried by its bodies' maps."""


class LoopGroups:
    """The groups of loops of a mechanism under one numeric plan.

    `walk` is the tree with all forces on it, and `regular` says whether it has a regular mass matrix by itself.
    """

    def __init__(self, equations: Equations, walk: Unrolled, closure_set: ClosureSet, regular: bool) -> None:
        self.equations, self.plan, self.walk = equations, equations.loop_plan, walk
        self._lock = equations.lock
        self.closure_set, self.regular = closure_set, regular
        self.groups = node_groups(walk.tree, closure_set.attachments, closure_set.keep, walk.units)

    @made_once
    def everything(self) -> bool:
        """Whether one group on the ground is the whole mechanism, so that its methods are the candidates."""
        return len(self.groups) == 1 and len(self.groups[0].nodes) == len(self.walk.nodes)

    def size(self, g: int) -> tuple[int, int]:
        """Return the nodes of a group, and how many freedoms are independent in it."""
        slices = [self.walk.v_slices[k] for k in self.groups[g].nodes]
        freedoms = {i for where in slices for i in range(where.start, where.stop)}
        return len(slices), sum(i in freedoms for i in self.plan.choice.independent)

    def rows_across(self, g: int) -> float:
        """Return how many rows of closures cross a joint of a group, in the mean over its nodes."""
        group, crossed = self.groups[g], 0
        for c in group.attachments:
            held = self.closure_set.attachments.all[c]
            way = {k for frame in held.frames for k in self.walk.tree.path(frame.node, held.base)}
            crossed += len(self.closure_set.keep[c]) * len(way)
        return crossed / len(group.nodes)

    @made_once
    def choices(self) -> list[GroupChoice]:
        """Return how each group is solved: the cheapest of its methods, by its operations."""
        if self.everything:
            return [self._choice(0, {})]
        kinds: dict[object, dict[str, int]] = {}
        keys = [self._kind(g) for g in range(len(self.groups))]
        size = {key: len(self._scope(g).nodes) for g, key in enumerate(keys)}
        weigh = sum(size.values()) <= _PIECES
        for g, key in enumerate(keys):
            if weigh and key not in kinds:
                kinds[key] = {method: self._piece(g, method) for method in self._methods(g)}
        return [self._choice(g, kinds.get(key, {})) for g, key in enumerate(keys)]

    def _methods(self, g: int) -> list[str]:
        """Return the methods that a group can be solved with."""
        same = len(self._scope(g).nodes) == len(self.groups[g].nodes)
        n, k = self.size(g)
        wide = n * k**2 > _WIDE
        unfit = {*(() if self.regular else ("augmented",)), *(("branches",) if same or wide else ())}
        unfit |= {"embedded"} if wide else set()
        return [method for method in constraint_embedding.METHODS if method not in unfit]

    def _scope(self, g: int) -> NodeGroup:
        return with_branches(self.walk.parents, self.groups, g)

    def _piece(self, g: int, method: str) -> int:
        return operations(
            constraint_embedding.piece(self.walk, self.closure_set, self.plan.choice, self.groups, g, method)
        )

    def _choice(self, g: int, counts: Mapping[str, int]) -> GroupChoice:
        group = self.groups[g]
        node_constants = self.equations.node_tree().node_constants
        freedoms = {i for k in group.nodes for i in range(node_constants[k].v.start, node_constants[k].v.stop)}
        return GroupChoice(
            loops=tuple(dict.fromkeys(self.closure_set.attachments.all[c].name for c in group.attachments)),
            base="ground" if group.base < 0 else self._body(group.base),
            bodies=len(group.nodes),
            freedoms=len(freedoms),
            equations=sum(len(self.closure_set.keep[c]) for c in group.attachments),
            independent=sum(i in freedoms for i in self.plan.choice.independent),
            method=min(counts, key=lambda name: counts[name], default=self._methods(g)[0]),
            counts=dict(counts),
        )

    def _body(self, node: int) -> str:
        """Return the body or moving frame on a node, or the body whose own coordinates are eliminated there."""
        node_tree = self.equations.node_tree()
        own = node_tree.node_constants[node].home or node_tree.node_constants[node].v
        bodies = (body.name for body in self.equations.description.bodies if node_tree.where[body.name][0] == node)
        frames = (name for name, (k, _) in node_tree.where.items() if k == node)
        flexible = (name for name, (_, v) in self.equations.plan.own_slices.items() if v == own)
        return next(itertools.chain(bodies, frames, flexible))  # not empty: every node is one of these

    def _kind(self, g: int) -> object:
        """Return what the cost of a group with its branches depends on: which of its constants are plain, and where."""
        scope, group = self._scope(g), self.groups[g]
        place = {k: m for m, k in enumerate(scope.nodes)}
        node_constants, held = self.equations.node_tree().node_constants, self.closure_set.attachments
        beyond = [place[p] for k, p in enumerate(self.walk.parents) if p in place and k not in place]
        freedom: dict[int, int] = {}
        described: list[object] = []
        for k in scope.nodes:
            constants, node = node_constants[k], self.walk.nodes[k]
            freedom |= {i: len(freedom) + n for n, i in enumerate(range(constants.v.start, constants.v.stop))}
            numbers = (constants.placement.rotation, constants.placement.point, constants.inertia)
            described.append(
                (
                    place.get(constants.parent, -1),
                    repr(constants.joint),
                    _plain(numbers),
                    node.prescribed,
                    len(node.loads),
                )
            )
        closures: list[object] = []
        row: dict[int, int] = {}
        start = 0
        for c, keep in enumerate(self.closure_set.keep):
            if c in group.attachments:
                row |= {start + i: len(row) + i for i in range(len(keep))}
                f = held.all[c]
                frames = [(place.get(g.node, -1), _plain(g.rotation), _plain(g.point)) for g in f.frames]
                used = [(place.get(k.node) if k.node is not None else k.cut, k.component) for k in f.coordinates]
                closures.append((type(f.closure).__name__, str(_entries(f)), frames, place.get(f.base, -1), used, keep))
            start += len(keep)
        choice = self.plan.choice
        decided = (
            [freedom[i] for i in choice.independent if i in freedom],
            [(row[r], freedom[d]) for r, d in choice.pivots if r in row],
        )
        return repr((scope.base < 0, described, beyond, closures, decided))


def _entries(attachment: ClosureAttachment) -> object:
    closure = attachment.closure
    return (closure.text, closure.entries()) if isinstance(closure, DeclaredClosure) else repr(closure)


def _plain(numbers: object) -> object:
    """Return numbers with all that are neither zero nor one replaced by a mark: what they are costs nothing.

    >>> _plain((0.0, 2.5, (1.0, -1.0)))
    (0.0, 'x', (1.0, -1.0))
    """
    if isinstance(numbers, ca.SX | ca.DM):
        return tuple(_plain(numbers[i]) if numbers.numel() > 1 else _scalar(numbers) for i in range(numbers.numel()))
    if isinstance(numbers, tuple | list):
        return tuple(_plain(each) for each in numbers)
    return numbers if numbers in (0.0, 1.0, -1.0) else "x"


def _scalar(x: ca.SX | ca.DM) -> object:
    """Return the number that an expression is, or its text."""
    return _plain(float(x)) if ca.SX(x).is_constant() else str(x)


def merged(groups: Sequence[GroupChoice]) -> tuple[GroupChoice, ...]:
    """Return groups with those that are alike told once."""
    found: dict[object, GroupChoice] = {}
    for group in groups:
        key = group[2:7]
        found[key] = found[key]._replace(alike=found[key].alike + 1) if key in found else group
    return tuple(found.values())


def operations(results: Sequence[ca.SX]) -> int:
    """Return the number of scalar operations of some expressions."""
    out = ca.vertcat(*(ca.vec(ca.densify(result)) for result in results))
    return read_tape(ca.Function("piece", ca.symvar(out), [out])).count().total
