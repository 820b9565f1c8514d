"""Closures on the nodes: frames, rows, forces, and what all loop methods share."""
