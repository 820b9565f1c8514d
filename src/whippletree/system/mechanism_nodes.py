"""What all traces of a mechanism share, whatever was decided by numbers: nodes, and what closures and forces hold."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from whippletree.formulations.closures.closure_frames import ClosureAttachments, attach_closures
from whippletree.formulations.nodes.applied_forces import ForcePlacements, place_forces
from whippletree.formulations.nodes.node_tree import NodeTree, column, make_node_tree
from whippletree.model.description import Description
from whippletree.topology import Plan

__all__ = ["MechanismNodes"]


class MechanismNodes:
    """The nodes of a mechanism and what hangs on them, made when first asked for; and the symbols of inputs."""

    def __init__(self, description: Description, plan: Plan) -> None:
        self.description, self.plan = description, plan
        self._node_trees: dict[bool, NodeTree] = {}
        self._attachments: dict[bool, ClosureAttachments] = {}
        self._acting: dict[bool, ForcePlacements] = {}
        self._symbols: dict[tuple[str, int], ca.SX] = {}

    def node_tree(self, *, weld: bool = True) -> NodeTree:
        """Return the nodes' constants, with welded bodies as one node or not."""
        if weld not in self._node_trees:
            self._node_trees[weld] = make_node_tree(self.description, self.plan, weld=weld)
        return self._node_trees[weld]

    def attachments(self, *, weld: bool = True) -> ClosureAttachments:
        """Return what the closures hold on to."""
        if weld not in self._attachments:
            reference = None if weld else self.node_tree()
            self._attachments[weld] = attach_closures(self.description, self.plan, self.node_tree(weld=weld), reference)
        return self._attachments[weld]

    def acting(self, *, weld: bool = True) -> ForcePlacements:
        """Return what acts, with what it takes hold of."""
        if weld not in self._acting:
            self._acting[weld] = place_forces(self.description, self.plan, self.node_tree(weld=weld))
        return self._acting[weld]

    def symbol(self, name: str, size: int) -> ca.SX:
        """Return the symbol of an input, the same for all functions: what they share is then traced once."""
        if (name, size) not in self._symbols:
            self._symbols[name, size] = ca.SX.sym(name.replace(" ", "_"), size)
        return self._symbols[name, size]

    def grounded(self) -> tuple[Any, ca.SX]:
        """Return mass and first moment of the bodies that are welded to the ground, which no node holds."""
        mass: Any = 0.0
        moment = ca.SX.zeros(3)
        for body in self.description.bodies:
            index, placement = self.node_tree().where[body.name]
            if index < 0:
                moved = body.properties.moved(at=placement.point, rotation=placement.rotation)
                mass, moment = mass + moved.mass, moment + moved.mass * column(moved.com)
        return mass, moment

    def place(self, name: str) -> tuple[int, ca.SX, ca.SX]:
        """Return a body's or frame's node among those on the way to it, and its rotation and point there."""
        index, placement = self.node_tree().toward(name).where[name]
        return index, ca.SX(ca.DM(np.array(placement.rotation))), column(placement.point)
