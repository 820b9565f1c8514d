"""Results: the trajectory of a run, its certificate, tables, files and plots."""

from whippletree.results.certificate import Certificate
from whippletree.results.instants import Event, Instant
from whippletree.results.trajectory import Trajectory

__all__ = ["Certificate", "Event", "Instant", "Trajectory"]
