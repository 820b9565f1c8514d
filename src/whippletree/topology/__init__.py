"""The graph of bodies and joints, and everything it alone decides: the spanning tree, the loops, all index ranges."""

from whippletree.topology.graph import GROUND, ClosureLike, Edge, PlanNode
from whippletree.topology.loops import Cut, Group, Loop
from whippletree.topology.plan import Plan, make_plan
from whippletree.topology.tree import Tree

__all__ = ["GROUND", "ClosureLike", "Cut", "Edge", "Group", "Loop", "Plan", "PlanNode", "Tree", "make_plan"]
