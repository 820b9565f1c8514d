"""Joints of USD that say of each of six axes whether it is locked, limited, driven or free ("D6").

The child moves along the free ones of x, y and z of the joint's frame on its parent, and then turns about those of
x, y and z, each as the turns before have left it. Where a joint of ours is just that, it is one; else the axes are
joints one after another, with bodies without mass in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from whippletree.files.neutral_model import NeutralJoint, NeutralLink
from whippletree.files.poses import about_axis, rpy_of, with_axis
from whippletree.files.usd_values import UsdObject, number
from whippletree.spatial.orientation import perpendicular_frame
from whippletree.spatial.placement import Placement

__all__ = ["ALONG", "JointAxis", "axes_of", "chained", "joint_that_fits", "starts_of"]

ALONG = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
AXES = tuple(f"{way}{letter}" for way in ("trans", "rot") for letter in "XYZ")


class JointAxis(NamedTuple):
    """An axis of a joint: whether it may move, where it is held if not, and whether that is all that is said of it."""

    name: str
    free: bool
    at: float
    plain: bool

    @property
    def turns(self) -> bool:
        """Whether it is a turn."""
        return self.name.startswith("rot")

    @property
    def frame(self) -> Placement:
        """A frame whose z is along the axis."""
        return with_axis(ALONG[self.name[-1]])

    @property
    def held(self) -> Placement:
        """Where it is held."""
        turn = about_axis(self.at) if self.turns else about_axis(0.0, self.at)
        return self.frame @ turn @ self.frame.inverse()


def axes_of(prim: UsdObject, length: float) -> list[JointAxis]:
    """Return the six axes of a prim; those whose lower limit is not below the upper are locked."""
    found = []
    for name in AXES:
        unit = math.radians(1.0) if name.startswith("rot") else length
        lower = number(prim.GetAttribute(f"limit:{name}:physics:low"), -math.inf)
        upper = number(prim.GetAttribute(f"limit:{name}:physics:high"), math.inf)
        driven = any(
            number(prim.GetAttribute(f"drive:{name}:physics:{key}"), 0.0)
            for key in ("stiffness", "damping", "maxForce")
        )
        at = lower * unit if lower == upper else 0.0  # the other way round it is only said to be locked
        plain = not driven and not math.isfinite(lower) and not math.isfinite(upper)
        found.append(JointAxis(name, lower < upper, at, plain))
    return found


def joint_that_fits(axes: Sequence[JointAxis]) -> tuple[Joint, Placement] | None:
    """Return the joint with just these free axes and its frame in theirs; None if there is none, or not so plain."""
    free = [axis for axis in axes if axis.free]
    if any(not axis.plain for axis in free) or any(axis.at for axis in axes if not axis.free):
        return None
    slides, turns = ("".join(axis.name[-1] for axis in free if axis.turns is way) for way in (False, True))
    rest = "".join(letter for letter in "XYZ" if letter not in turns)
    joint: Joint | None = None
    frame = Placement()
    match len(slides), len(turns):
        case 0, 0:
            joint = Fixed()
        case 0, 2:
            first, second = (ALONG[letter] for letter in turns)
            joint, frame = Universal(), Placement(perpendicular_frame(first, second, "the axes of a joint"))
        case 0, 3:
            joint = Spherical()
        case 1, 1 if slides == turns:
            joint, frame = Cylindrical(), with_axis(ALONG[turns])
        case 2, 1 if slides == rest:
            joint, frame = Planar(), with_axis(ALONG[turns])
        case 3, 3:
            joint = Free()
    return None if joint is None else (joint, frame)


def chained(
    axes: Sequence[JointAxis], name: str, bodies: Sequence[str], sides: Sequence[Placement]
) -> Iterator[tuple[NeutralJoint, NeutralLink | None, JointAxis | None]]:
    """Yield the joints of free axes one after another, each with the body behind it unless that is the last.

    Three plain turns are a ball.
    """
    ball = sum(axis.turns and axis.free and axis.plain for axis in axes) == 3
    moving = [axis.name for axis in axes if axis.free and not (ball and axis.turns)] + ["ball"] * ball
    here, at, end = bodies[0], sides[0], Placement()
    placed: list[tuple[JointAxis | None, str, Placement]] = []
    for axis in axes:
        if not axis.free:
            end = end @ axis.held
        elif not (ball and axis.turns):
            placed.append((axis, axis.name, end))
            end = Placement()
    if ball:
        placed.append((None, "ball", end))
        end = Placement()
    for k, (one, label, before) in enumerate(placed):
        last = k == len(placed) - 1
        own = name if len(moving) == 1 else f"{name} {label}"
        child = bodies[1] if last else f"{bodies[1]} behind {own}"
        frame = Placement() if one is None else one.frame
        joint = Spherical() if one is None else Revolute() if one.turns else Prismatic()
        on_child = sides[1] @ end.inverse() if last else Placement()
        use = NeutralJoint(own, joint, here, child, at @ before @ frame, on_child @ frame)
        yield use, None if last else NeutralLink(child), one
        here, at = child, Placement()


def starts_of(axes: Sequence[JointAxis], relative: Placement) -> dict[str, float]:
    """Return where all axes stand, the locked ones too, if the child's frame is so placed in the parent's.

    >>> from whippletree.files.poses import from_turns
    >>> axes = [JointAxis(name, True, 0.0, True) for name in AXES]
    >>> at = starts_of(axes, Placement(from_turns("xyz", (0.1, 0.2, 0.3)), (1.0, 2.0, 3.0)))
    >>> [round(at[name], 12) for name in AXES]
    [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]
    """
    turns = rpy_of(relative.inverse().rotation)  # Rx Ry Rz is turned back by -z, -y and -x about fixed axes
    values = [*map(float, relative.point), *(-angle for angle in turns)]
    return {axis.name: value for axis, value in zip(axes, values, strict=True)}
