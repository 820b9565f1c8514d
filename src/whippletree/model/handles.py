"""Handles, which `Mechanism` returns for bodies, frames, joints, closures and forces: a name and its mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whippletree.foundation.user_frames import user_facing

if TYPE_CHECKING:
    from whippletree.model.mechanism import Mechanism

__all__ = ["BodyHandle", "ClosureHandle", "ForceHandle", "FrameHandle", "JointHandle"]


@dataclass(frozen=True)
class _Handle:
    name: str
    mechanism: Mechanism = field(repr=False)

    def __str__(self) -> str:
        return self.name


@user_facing
@dataclass(frozen=True)
class BodyHandle(_Handle):
    """A body of a mechanism, or its ground.

    >>> from whippletree.model import Mechanism
    >>> Mechanism("m").body("arm").name
    'arm'
    """


@user_facing
@dataclass(frozen=True)
class FrameHandle(_Handle):
    """A named frame of a mechanism.

    >>> from whippletree.model import Mechanism
    >>> Mechanism("m").frame("camera", on="ground").name
    'camera'
    """


@user_facing
@dataclass(frozen=True)
class JointHandle(_Handle):
    """A joint of a mechanism.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.revolute("A", m.ground, m.body("arm")).name
    'A'
    """


@user_facing
@dataclass(frozen=True)
class ClosureHandle(_Handle):
    """A closure of a mechanism.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.distance("rod", m.ground, m.body("ball"), length=1.0).name
    'rod'
    """


@user_facing
@dataclass(frozen=True)
class ForceHandle(_Handle):
    """A force element of a mechanism.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.spring("strut", m.ground, m.body("wheel"), stiffness=1e4, free_length=0.3).name
    'strut'
    """
