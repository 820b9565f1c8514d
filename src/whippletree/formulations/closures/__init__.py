"""Closures on the nodes: frames, rows, forces, and the code that all loop methods share."""
