"""One file for each formulation."""
