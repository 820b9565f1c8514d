"""What the sweeps walk over: nodes, their constants, and the two sweeps."""
