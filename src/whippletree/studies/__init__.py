"""Studies of a system: a simulation that becomes a trajectory, its checkpoints, and how it goes on from one."""

from whippletree.studies.many_runs import simulate_many
from whippletree.studies.simulations import resume, simulate

__all__ = ["resume", "simulate", "simulate_many"]
