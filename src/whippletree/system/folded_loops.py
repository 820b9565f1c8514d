"""Loops that are closed folded: two joints that share no body lie upon each other, as in a rhombus laid flat.

Such a position belongs to a branch of its own, on which part of the loop stands still or turns as one. It is closed and
regular, and rarely meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import casadi as ca
import numpy as np

from whippletree.elements.joints import Revolute
from whippletree.formulations.recursions import kinematics
from whippletree.kernels.kernel import Array
from whippletree.model.description import JointUse
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.loop_plan import Conditions
from whippletree.system.state_space import StateSpace
from whippletree.system.tolerances import FOLDED

__all__ = ["FoldedLoops"]

Pair = tuple[JointUse, JointUse]


class FoldedLoops:
    """Finds joints that lie upon each other where the loops have brought them there.

    Joints that only turn are looked at, two of one loop that share no body; not those that lie upon each other wherever
    the spanning tree is, such as hinges of coaxial shafts.
    """

    def __init__(self, numbers: ClosureNumbers, states: StateSpace) -> None:
        self._numbers, self._states, self._tree = numbers, states, numbers.equations.node_tree()
        uses = {use.name: use for use in numbers.description.joints if _only_turns(use)}
        pairs: dict[tuple[str, str], Pair] = {}
        for loop in numbers.plan.loops:
            turning = [uses[name] for name in loop.joints if name in uses]
            pairs |= {(a.name, b.name): (a, b) for a, b in combinations(turning, 2) if not self._touch(a, b)}
        self._pairs = list(pairs.values())
        self._function: ca.Function | None = None

    def names(self, q: Array, where: Conditions) -> tuple[str, str] | None:
        """Return two joints that lie upon each other at a closed configuration, if there are any."""
        folded = self._upon_each_other(q, where, self._pairs)
        if not folded:
            return None
        anywhere = self._states.random(np.random.default_rng(0))
        always = self._upon_each_other(anywhere, where, folded)
        found = [pair for pair in folded if pair not in always]
        return (found[0][0].name, found[0][1].name) if found else None

    def _touch(self, a: JointUse, b: JointUse) -> bool:
        """Tell whether two joints share a body, bodies that are welded together being one."""
        nodes = [{self._tree.where[place][0] for place in (use.parent, use.child)} for use in (a, b)]
        return bool(nodes[0] & nodes[1])

    def _upon_each_other(self, q: Array, where: Conditions, pairs: Sequence[Pair]) -> list[Pair]:
        if not pairs:
            return []
        frames = self._frames(q, where)
        found = []
        for a, b in pairs:
            one, other = frames[a.name], frames[b.name]
            axis, apart = one[:, 2], other[:, 3] - one[:, 3]
            if isinstance(a.joint, Revolute) and isinstance(b.joint, Revolute):
                if np.linalg.norm(np.cross(axis, other[:, 2])) > FOLDED:
                    continue
                apart = apart - axis * (axis @ apart)
            if np.linalg.norm(apart) <= FOLDED * self._numbers.lengths.mechanism:
                found.append((a, b))
        return found

    def _frames(self, q: Array, where: Conditions) -> dict[str, Array]:
        """Return axes and origin (3, 4) of each joint's frame on its parent, by joint."""
        uses = list({use.name: use for pair in self._pairs for use in pair}.values())
        if self._function is None:
            self._function = self._traced(uses)
        rows = self._function(q, where.parameters).full().reshape(-1, 3, 4)
        return {use.name: frame for use, frame in zip(uses, rows, strict=True)}

    def _traced(self, uses: Sequence[JointUse]) -> ca.Function:
        """Return the function from coordinates and parameters to the frames of joints, one below the other."""
        equations = self._numbers.equations
        q = ca.SX.sym("q", equations.plan.nq)
        named = equations.parameters
        nodes = kinematics.poses(equations.walk({"q": q})).records
        rows = []
        for use in uses:
            index, placement = self._tree.where[use.parent]
            own = placement @ use.on_parent
            R, p = ca.SX(own.rotation), ca.vertcat(*own.point)
            if index >= 0:
                R, p = nodes[index].R @ R, nodes[index].p + nodes[index].R @ p
            rows.append(ca.horzcat(R, p))
        return ca.Function("frames", [q, named], [ca.densify(ca.vertcat(*rows))])


def _only_turns(use: JointUse) -> bool:
    """Tell whether a joint lets its bodies turn about a point, and nothing else."""
    labels = use.joint.velocity_labels
    return bool(labels) and all("angular" in label for label in labels)
