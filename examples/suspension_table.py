"""Camber, toe and track of a multi-link suspension over its stroke.

Five links hold the upright of a rear wheel: two lower ones, two upper ones, and a trailing one. Each is a rod between
two ball joints, a `distance` here, so that one freedom is left: the wheel goes up and down. Its height is no coordinate
of any joint of such a suspension. Three slides and a ball between the chassis and the upright make it one: they hold
nothing, but the first of them, "travel", is the height of the wheel's centre, and can be swept.

x is forward, y to the left, z up, and this is the left wheel. Angles are read off the wheel's axis, which is y of the
upright as it was designed. Camber is positive if the wheel leans outward at its top, toe is positive if its front
points inward. The table also has the lateral way of the contact point, the track, and the height of the roll centre,
which follows from the velocity of that point: `velocity_ratio` of the sweep gives it exactly, without differences.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
CENTRE, RADIUS = (0.0, 0.75, 0.30), 0.30
LINKS = {  # on the chassis, and on the upright, as designed
    "lower front": ((0.10, 0.35, 0.22), (0.06, 0.68, 0.20)),
    "lower rear": ((-0.18, 0.36, 0.225), (-0.15, 0.69, 0.21)),
    "upper front": ((0.10, 0.40, 0.42), (0.03, 0.66, 0.44)),
    "upper rear": ((-0.14, 0.40, 0.425), (-0.09, 0.66, 0.45)),
    "trailing": ((0.55, 0.52, 0.30), (0.06, 0.66, 0.27)),
}


def describe() -> wt.Mechanism:
    """The upright on five rods, and three slides and a ball that measure where it is."""
    m = wt.Mechanism("five-link suspension")
    along_z, along_y, along_x = (m.body(f"slider along {axis}") for axis in "zyx")
    upright = m.body("upright", mass=30.0)  # its frame is at the wheel's centre
    m.prismatic("travel", m.ground, along_z, at=CENTRE, axis="z")
    m.prismatic("lateral", along_z, along_y, axis="y")
    m.prismatic("fore and aft", along_y, along_x, axis="x")
    m.spherical("ball", along_x, upright)
    for name, (chassis, knuckle) in LINKS.items():
        m.distance(
            name,
            m.ground,
            upright,
            at=chassis,
            at_child=np.subtract(knuckle, CENTRE),
            length=float(np.linalg.norm(np.subtract(knuckle, chassis))),
        )
    return m


def wheel_geometry(sweep: Any) -> dict[str, Array]:
    """Camber and toe in degrees, contact point, track and height of the roll centre in metres, over the sweep."""
    pose, rates = sweep.pose("upright"), sweep.velocity_ratio("upright")
    axis, centre = pose[:, :3, 1], pose[:, :3, 3]
    down = np.array([0.0, 0.0, -1.0])
    spoke = down - (axis @ down)[:, None] * axis
    arm = RADIUS * spoke / np.linalg.norm(spoke, axis=1)[:, None]
    contact = centre + arm
    speed = rates[:, 3:] + np.cross(rates[:, :3], arm)  # of the upright's point there, per metre of travel
    return {
        "camber [deg]": np.degrees(-np.arcsin(axis[:, 2])),
        "toe [deg]": np.degrees(np.arctan2(axis[:, 0], axis[:, 1])),
        "track [m]": 2 * contact[:, 1],
        "wheelbase change [m]": contact[:, 0] - contact[len(contact) // 2, 0],
        "roll centre [m]": contact[:, 2] + contact[:, 1] * speed[:, 1] / speed[:, 2],
    }


def main(picture: str = "") -> dict[str, Any]:
    """Print the table over a stroke of 160 mm, and draw it if a file is named."""
    system = describe().build()
    print(system.mobility, end="\n\n")
    sweep = system.sweep_joint("travel", np.linspace(-0.08, 0.08, 17))
    geometry = wheel_geometry(sweep)
    print(sweep.table("travel", more=geometry).to_string(index=False, float_format="%9.4f"))
    if picture:
        shown = {name: geometry[name] for name in ("camber [deg]", "toe [deg]", "track [m]")}
        _drawn(sweep, shown, picture)
    return {"system": system, "sweep": sweep, "geometry": geometry}


def _drawn(sweep: Any, shown: dict[str, Array], picture: str) -> None:
    """Draw curves as suspension engineers do: the stroke upward."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.5), layout="constrained")
    for axes, (name, values) in zip(figure.subplots(1, len(shown), sharey=True), shown.items(), strict=True):
        axes.plot(values, 1e3 * sweep.values, linewidth=1.6)
        axes.axhline(0.0, color="0.6", linewidth=0.8)
        axes.set_xlabel(name)
        axes.grid(True, alpha=0.3)
    figure.axes[0].set_ylabel("wheel travel [mm]")
    figure.suptitle("five-link suspension over its stroke")
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:2])
