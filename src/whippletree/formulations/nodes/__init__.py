"""Nodes, their constants, and the two sweeps over them."""
