"""What follows from the graph of bodies and joints alone: the spanning tree, the loops and every index range."""

from whippletree.topology.graph import GROUND, ClosureLike, Edge, PlanNode
from whippletree.topology.loops import Cut, Group, Loop
from whippletree.topology.plan import Plan, make_plan
from whippletree.topology.tree import Tree

__all__ = ["GROUND", "ClosureLike", "Cut", "Edge", "Group", "Loop", "Plan", "PlanNode", "Tree", "make_plan"]
