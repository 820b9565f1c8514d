"""Systems: a plan and its kernels, and the calls users make."""

from whippletree.system.quantities import Energy, Momentum, Reaction, Reactions
from whippletree.system.system import System

__all__ = ["Energy", "Momentum", "Reaction", "Reactions", "System"]
