"""An excavator digs: three hydraulic cylinders in three loops, and a controller in plain Python at a kilohertz.

Boom, stick and bucket are moved by cylinders of two bodies each, a barrel and a rod, which close one loop each. The
controller knows the path of the bucket's teeth as extensions of the cylinders, and the forces that hold the arm along
it; it adds what the extensions lack. The positions of all pins are those of one drawing: every body has the frame of
the ground there, so that all coordinates are zero in it, and no guess is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
PERIOD = 1e-3
DURATION = 3.0
CYLINDERS = ("boom cylinder", "stick cylinder", "bucket cylinder")
HINGES = ("boom", "stick", "bucket")

# pins in the drawing, as (x, z) in metres: forward and up from the foot of the boom
FOOT, TIP, WRIST, TEETH = (0.0, 0.0), (4.8, 2.3), (5.6, -0.5), (4.6, -1.6)
ENDS = {  # of the cylinders: on the first of two bodies, and on the second
    "boom cylinder": ((0.5, -0.5), (2.2, 1.7)),
    "stick cylinder": ((2.3, 2.6), (4.5, 2.9)),
    "bucket cylinder": ((5.3, 1.8), (6.03, -0.26)),
}
SURFACE = -1.4  # height of the soil
STIFFNESS, DAMPING = np.array([2e8, 5e7, 1e7]), np.array([5e6, 1e6, 1e5])  # of the controller, in N/m and N s/m


def point(pin: tuple[float, float]) -> tuple[float, float, float]:
    """Return a pin as a point in the plane of the arm."""
    return (pin[0], 0.0, pin[1])


def slender(mass: float, a: tuple[float, float], b: tuple[float, float]) -> dict[str, Any]:
    """Return the mass properties of a slender body between two pins, a fifth as thick as it is long."""
    middle, along = (np.array(point(a)) + point(b)) / 2, np.array(point(b)) - point(a)
    inertia = mass / 12 * (along @ along * np.eye(3) * 1.04 - np.outer(along, along))
    return {"mass": mass, "com": middle, "inertia": inertia}


def describe() -> wt.Mechanism:
    """Return the arm of an excavator of 20 tonnes, on a carriage that stands still."""
    m = wt.Mechanism("excavator")
    boom = m.body("boom", **slender(1600.0, FOOT, TIP))
    stick = m.body("stick", **slender(850.0, ENDS["stick cylinder"][1], WRIST))
    bucket = m.body("bucket", **slender(750.0, WRIST, TEETH))
    for name, parent, child, pin in (
        ("boom", m.ground, boom, FOOT),
        ("stick", boom, stick, TIP),
        ("bucket", stick, bucket, WRIST),
    ):
        m.revolute(name, parent, child, at=point(pin), at_child=point(pin), axis="y")
    for name, first, second in (
        ("boom cylinder", m.ground, boom),
        ("stick cylinder", boom, stick),
        ("bucket cylinder", stick, bucket),
    ):
        cylinder(m, name, first, second)
    teeth = m.frame("teeth", on=bucket, at=point(TEETH))
    depth = 0.05 * ca.log1p(ca.exp((SURFACE - m.position(teeth)[2]) / 0.05))
    resistance = -3e4 * depth * ca.tanh(m.velocity(teeth)[3:] / 0.1)
    m.load("soil", teeth, force=[resistance[0], 0, resistance[2]])
    return m


def cylinder(m: wt.Mechanism, name: str, first: Any, second: Any) -> None:
    """Add a barrel, pinned to the first body, and a rod, which slides in it and is pinned to the second."""
    a, b = ENDS[name]
    middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
    barrel, rod = (
        m.body(f"{name}, barrel", **slender(120.0, a, middle)),
        m.body(f"{name}, rod", **slender(80.0, middle, b)),
    )
    m.revolute(f"{name}, foot", first, barrel, at=point(a), at_child=point(a), axis="y")
    m.prismatic(name, barrel, rod, at=point(a), at_child=point(a), axis=(b[0] - a[0], 0.0, b[1] - a[1]))
    m.revolute(f"{name}, head", rod, second, at=point(b), at_child=point(b), axis="y")


class DigPath(NamedTuple):
    """Where the arm shall be at some times: angles of its hinges (n, 3), and extensions of its cylinders (n, 3)."""

    t: Array
    angles: Array
    extensions: Array


def turned(angle: Any, vector: Any) -> Array:
    """Return a vector (x, z) turned about y."""
    c, s, (x, z) = np.cos(angle), np.sin(angle), vector
    return np.array([c * x + s * z, c * z - s * x])


def turn(vector: Any) -> Any:
    """Return the angle about y by which x is turned into a vector (x, z)."""
    return np.arctan2(-np.asarray(vector[1]), vector[0])


def teeth_path(t: Array) -> tuple[Array, Array]:
    """Return where the teeth shall be (2, n), through the soil and out of it, and how far the bucket is curled."""
    s = np.clip(t / DURATION, 0.0, 1.0)
    s = s**3 * (10 - 15 * s + 6 * s**2)
    return np.array([6.4 - 2.2 * s, -1.2 - 0.9 * np.sin(np.pi * s) + 0.5 * s]), -0.6 + 1.8 * s


def dig_path(t: Array) -> DigPath:
    """Return the path as angles and extensions: two links reach the wrist, and the bucket hangs there as it shall."""
    foot, tip, wrist, teeth = (np.array(pin)[:, None] * np.ones_like(t) for pin in (FOOT, TIP, WRIST, TEETH))
    target, curl = teeth_path(t)
    reach = target - turned(curl, teeth - wrist) - foot
    a, b, c = np.hypot(*(tip - foot)), np.hypot(*(wrist - tip)), np.hypot(*reach)
    boom = turn(reach) - np.arccos((a**2 + c**2 - b**2) / (2 * a * c)) - turn(tip - foot)
    stick = turn(reach - turned(boom, tip - foot)) - turn(wrist - tip)
    angles = np.array([boom, stick - boom, curl - stick]).T
    extensions = []
    for (first, second), pin, angle in zip(ENDS.values(), (FOOT, TIP, WRIST), angles.T, strict=True):
        head = np.array(pin)[:, None] + turned(angle, (np.array(second) - pin)[:, None] * np.ones_like(t))
        extensions.append(np.hypot(*(head - np.array(first)[:, None])) - np.hypot(*np.subtract(second, first)))
    return DigPath(t, angles, np.array(extensions).T)


def holding_forces(system: wt.System, path: DigPath) -> Array:
    """Return the cylinders' forces (n, 3) that hold the arm still along a path."""
    q, forces = system.q0, []
    for angles in path.angles:
        q[[system.q_slice(name).start for name in HINGES]] = angles
        q = system.assemble(q, hold=HINGES)
        tau = system.inverse_dynamics(q, system.v0, actuators=CYLINDERS)
        forces.append([tau[system.v_slice(name).start] for name in CYLINDERS])
    return np.array(forces)


class CylinderControl:
    """Follows a path by the forces of the cylinders."""

    def __init__(self, system: wt.System) -> None:
        t = PERIOD * np.arange(round(DURATION / PERIOD) + 1)
        knots = np.linspace(0.0, DURATION, 31)
        path, some = dig_path(t), holding_forces(system, dig_path(knots))
        self.extensions, self.speeds = path.extensions, np.gradient(path.extensions, t, axis=0, edge_order=2)
        self.forces = np.array([np.interp(t, knots, force) for force in some.T]).T
        self.places = np.array([system.v_slice(name).start for name in CYLINDERS])
        self.tau = np.zeros(system.nv)

    def __call__(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Return the efforts of all joints, which are those of the cylinders."""
        k, at = round(t / PERIOD), self.places
        self.tau[at] = self.forces[k] + STIFFNESS * (self.extensions[k] - q[at]) + DAMPING * (self.speeds[k] - v[at])
        return self.tau


def start(system: wt.System) -> Array:
    """Return the configuration at which the path begins."""
    angles = dig_path(np.zeros(1)).angles[0]
    return system.assemble(system.configuration(dict(zip(HINGES, angles, strict=True))), hold=HINGES)


def main() -> dict[str, Any]:
    """Dig for three seconds, and see how near the teeth stay to their path."""
    system = describe().build()
    run = system.simulate(
        DURATION,
        every=0.02,
        q=start(system),
        method="rk4",
        step=PERIOD,
        controller=CylinderControl(system),
        period=PERIOD,
    )
    wanted, _ = teeth_path(run.t)
    off = np.linalg.norm(run.position("teeth")[:, [0, 2]] - wanted.T, axis=1)
    print(system.mobility)
    print(run.certificate)
    print(f"the teeth stay within {1e3 * off.max():.1f} mm of their path")
    return {"run": run, "system": system, "off": off}


if __name__ == "__main__":
    main()
