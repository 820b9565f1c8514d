"""A platform on six legs (Stewart and Gough), and its exact motion from the platform's own.

Each leg is a cylinder on a universal joint on the ground, a rod that slides in it, and a ball joint under the
platform. Leg axes are z; the universal joint turns about the ground's x, then about the cylinder's y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
from loop_exact import Long, Moving, accelerations, cross
from loop_models import GROUND, STATES, Link, Part, Problem
from models import State

LEGS = range(1, 7)
BASE_RADIUS, PLATFORM_RADIUS, HEIGHT = 1.0, 0.6, 1.1  # metres
BASE_SPREAD, PLATFORM_SPREAD = 15.0, 45.0  # degrees from the middle of a pair of legs
CYLINDER, ROD = 0.8, 0.8  # lengths; the coordinate of the slide is the leg's length less the cylinder's
GRAVITY = (0.0, 0.0, -9.81)
PLATFORM = Part("platform", 40.0, (0.0, 0.0, 0.03), (3.7, 3.7, 7.2))
AGREEMENT = 1e-12
"""Largest relative difference allowed between the legs' accelerations found in two ways."""


def platform() -> Problem:
    parts, links = _description()
    states = [_state(rng, parts, links) for rng in np.random.default_rng(2).spawn(STATES)]
    motion = {
        name: State(*(np.array(column, dtype=float) for column in zip(*(state[name] for state in states), strict=True)))
        for name in states[0]
    }
    legs = tuple(link for link in links if link.kind != "spherical")
    first_ball = next(link for link in links if link.kind == "spherical")
    flight = Link("free", "flight", GROUND, "platform")
    trees = {"platform on leg 1": (*legs, first_ball), "platform free": (flight, *legs)}
    return Problem("platform, 6 legs", GRAVITY, parts, links, motion, trees)


def _description() -> tuple[tuple[Part, ...], tuple[Link, ...]]:
    parts, links = [PLATFORM], []
    for i in LEGS:
        parts += [
            Part(f"cylinder {i}", 4.0, (0.0, 0.0, 0.35), (0.22, 0.22, 0.005)),
            Part(f"rod {i}", 2.0, (0.0, 0.0, -0.4), (0.107, 0.107, 0.0004)),
        ]
        top = (0.0, 0.0, CYLINDER)
        links += [
            Link("universal", f"universal {i}", GROUND, f"cylinder {i}", at=_corner(i, BASE_RADIUS, BASE_SPREAD)),
            Link("prismatic", f"slide {i}", f"cylinder {i}", f"rod {i}", at=top),
            Link(
                "spherical", f"ball {i}", f"rod {i}", "platform", at_child=_corner(i, PLATFORM_RADIUS, PLATFORM_SPREAD)
            ),
        ]
    return tuple(parts), tuple(links)


def _corner(leg: int, radius: float, spread: float) -> tuple[float, float, float]:
    pair, side = divmod(leg - 1, 2)
    angle = np.deg2rad(120.0 * pair + (spread if side else -spread))
    return (radius * float(np.cos(angle)), radius * float(np.sin(angle)), 0.0)


# ---------------------------------------------------------------------------------------------------------
# Motion, in extended precision and ground axes unless said otherwise


class Numbers(NamedTuple):
    """Coordinates, velocities, accelerations and forces of one joint in one state, in our numbers."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Leg(NamedTuple):
    """Axes of the universal joint, vector along the leg, rates of both angles and of the length."""

    axes: np.ndarray
    along: np.ndarray
    coordinates: np.ndarray
    rates: np.ndarray

    @property
    def R(self) -> np.ndarray:
        z = self.axes[2]
        return np.stack([cross(self.axes[1], z), self.axes[1], z], axis=1)

    @property
    def w(self) -> np.ndarray:
        return self.rates[:2] @ self.axes[:2]


def _state(rng: np.random.Generator, parts: tuple[Part, ...], links: tuple[Link, ...]) -> dict[str, Numbers]:
    """A tilted, moving platform on pushing legs, its exact accelerations, all by joint."""
    R = _turned(rng.uniform(-0.25, 0.25, 3).astype(Long))
    p = (np.array([0.0, 0.0, HEIGHT]) + rng.uniform(-0.12, 0.12, 3)).astype(Long)
    plate = Moving(R, p, *rng.uniform(-0.8, 0.8, (2, 3)).astype(Long))
    push = rng.uniform(40.0, 160.0, len(LEGS))  # the weight's share is about 100 N
    moving, legs = {"platform": plate}, {}
    for i in LEGS:
        base, corner = (np.array(_corner(i, *sizes), dtype=Long) for sizes in SIZES)
        legs[i] = leg = _leg(p + R @ corner - base, plate.v + cross(plate.w, R @ corner))
        moving[f"cylinder {i}"] = Moving(leg.R, base, leg.w, np.zeros(3, dtype=Long))
        moving[f"rod {i}"] = Moving(leg.R, base + leg.along, leg.w, plate.v + cross(plate.w, R @ corner))
    a = accelerations(GRAVITY, parts, links, moving, {f"slide {i}": push[i - 1] for i in LEGS})
    spin, speed = R.T @ plate.w, R.T @ plate.v
    spin_up, speed_up = R.T @ a["platform"][:3], R.T @ a["platform"][3:] - cross(spin, speed)
    numbers = {
        "flight": Numbers(
            np.concatenate([_quaternion(R), p]),
            np.concatenate([spin, speed]),
            np.concatenate([spin_up, speed_up]),
            np.zeros(6),
        )
    }
    for i in LEGS:
        numbers |= _leg_numbers(i, legs[i], plate, a, push[i - 1])
    return numbers


SIZES = ((BASE_RADIUS, BASE_SPREAD), (PLATFORM_RADIUS, PLATFORM_SPREAD))


def _leg_numbers(i: int, leg: Leg, plate: Moving, a: dict[str, np.ndarray], push: float) -> dict[str, Numbers]:
    """The leg's accelerations follow from the platform's, and must agree with those of its bodies."""
    arm = plate.R @ np.array(_corner(i, *SIZES[1]), dtype=Long)
    turning, end = a["platform"][:3], a["platform"][3:]
    up = _leg_accelerations(leg, end + cross(turning, arm) + cross(plate.w, cross(plate.w, arm)))
    turning_leg = up[:2] @ leg.axes[:2] + leg.rates[0] * leg.rates[1] * cross(leg.axes[0], leg.axes[1])
    for body in (f"cylinder {i}", f"rod {i}"):
        if np.max(np.abs(a[body][:3] - turning_leg)) > AGREEMENT * np.max(np.abs(turning_leg)):
            raise RuntimeError(f"{body}: the exact solution contradicts itself")
    back = plate.R.T
    return {
        f"universal {i}": Numbers(leg.coordinates[:2], leg.rates[:2], up[:2], np.zeros(2)),
        f"slide {i}": Numbers(leg.coordinates[2:] - Long(CYLINDER), leg.rates[2:], up[2:], np.array([push])),
        f"ball {i}": Numbers(
            _quaternion(leg.R.T @ plate.R),
            back @ (plate.w - leg.w),
            back @ (turning - turning_leg + cross(plate.w, leg.w)),
            np.zeros(3),
        ),
    }


def _leg(along: np.ndarray, rate: np.ndarray) -> Leg:
    """The leg whose end is `along` from its base and moves with `rate`."""
    length = np.sqrt(along @ along)
    first, second = np.arctan2(-along[1], along[2]), np.arcsin(along[0] / length)
    none, one = Long(0), Long(1)
    axes = np.array([[one, none, none], [none, np.cos(first), np.sin(first)], along / length])
    leg = Leg(axes, along, np.array([first, second, length]), np.zeros(3, dtype=Long))
    return leg._replace(rates=_combination(_columns(leg), rate))


def _columns(leg: Leg) -> list[np.ndarray]:
    """What each rate contributes to the end's velocity."""
    return [cross(leg.axes[0], leg.along), cross(leg.axes[1], leg.along), leg.axes[2]]


def _leg_accelerations(leg: Leg, end: np.ndarray) -> np.ndarray:
    """Second derivatives of both angles and of the length, from the end's acceleration."""
    (x, y, z), columns = leg.axes, _columns(leg)
    moved = leg.rates @ np.array(columns)
    y_rate, z_rate = leg.rates[0] * cross(x, y), cross(leg.w, z)
    drift = [cross(x, moved), cross(y_rate, leg.along) + cross(y, moved), z_rate]
    return _combination(columns, end - leg.rates @ np.array(drift))


def _combination(columns: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
    """The factors with which three vectors add up to the given one (Cramer)."""
    a, b, c = columns
    normals = [cross(b, c), cross(c, a), cross(a, b)]
    return np.array([normal @ vector for normal in normals]) / (a @ normals[0])


def _turned(vector: np.ndarray) -> np.ndarray:
    """The rotation matrix of a rotation vector (Rodrigues)."""
    angle = np.sqrt(vector @ vector)
    x, y, z = vector / angle
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=Long)
    return np.eye(3, dtype=Long) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def _quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation matrix."""
    return pin.Quaternion(np.ascontiguousarray(R, dtype=float)).normalized().coeffs()[[3, 0, 1, 2]]
