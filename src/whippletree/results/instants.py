"""A state at one instant of a run, and an event: an instant with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array

__all__ = ["Event", "Instant"]


@user_facing
@readable
class Instant(NamedTuple):
    """Coordinates, velocities and the states of elements at one time.

    >>> import numpy as np
    >>> q, v, z = Instant(np.zeros(1), np.ones(1), np.zeros(0))
    """

    q: Array
    v: Array
    z: Array


@user_facing
@dataclass(frozen=True, eq=False)
class Event:
    """Something that happened in a run: its name, its time and the state then.

    >>> import numpy as np
    >>> Event("touch", 0.5, np.zeros(1), np.ones(1), np.zeros(0))
    Event "touch" at t = 0.5 s
    """

    name: str
    t: float
    q: Array
    v: Array
    z: Array

    @property
    def state(self) -> Instant:
        """The state at the event."""
        return Instant(self.q, self.v, self.z)

    def __repr__(self) -> str:
        return f'Event "{self.name}" at t = {self.t:.9g} s'
