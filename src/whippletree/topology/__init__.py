"""What follows from the graph of bodies and joints alone: the spanning tree and every index range."""

from whippletree.topology.plan import Plan, PlanNode, make_plan

__all__ = ["Plan", "PlanNode", "make_plan"]
