"""A tree with branches and every joint type, and the identities that hold for any mechanism.

The order of `q` and `v` is the order in which joints are declared; names are easier: `coordinates`,
`velocities`, `q_slice`, `v_slice`. Quaternions make `q` longer than `v`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt


def describe() -> wt.Mechanism:
    """A floating platform that carries one of everything."""
    m = wt.Mechanism("one of everything")
    block = wt.box((0.3, 0.2, 0.1), mass=2.0, at=(0.1, 0.02, 0.05))
    platform = m.body("platform", wt.box((2, 1, 0.2), mass=50.0))
    m.free("float", m.ground, platform)

    # first branch: a crane with a screw jack
    post = m.body("post", block)
    jack = m.body("jack", block)
    sleeve = m.body("sleeve", block)
    m.fixed("weld", platform, post, at=(0.5, 0, 0.1))
    m.screw("spindle", post, jack, at=(0, 0, 0.3), axis="z", lead=0.02)  # 20 mm per turn
    m.cylindrical("sleeve fit", jack, sleeve, at=(0.1, 0, 0.2), axis="x")

    # second branch: a cardan shaft that ends in a ball joint
    shaft = m.body("shaft", wt.rod(length=0.8, mass=3.0, axis="z"))
    ball = m.body("ball", block)
    m.universal("cardan", platform, shaft, at=(-0.5, 0, 0.1), axis="x", axis_child="y")
    m.spherical("socket", shaft, ball, at=(0, 0, 0.8))

    # third branch: a table with a puck on it, and a slider on a hinge whose axis points anywhere
    puck = m.body("puck", wt.cylinder(radius=0.1, length=0.05, mass=0.5))
    arm = m.body("arm", block)
    slider = m.body("slider", block)
    m.planar("table", platform, puck, at=(0, 0.3, 0.1), axis="z")
    m.revolute("hinge", puck, arm, at=(0.05, 0, 0.05), axis=(1, 2, 2))
    m.prismatic("slide", arm, slider, at=(0.2, 0, 0), axis="x")
    return m


def main() -> dict[str, Any]:
    """Print the tree and where everything is; check dynamics by identities."""
    system = describe().build()
    print(system.plan, "\n")
    for use in system.description.joints:
        labels = ", ".join(use.joint.position_labels) or "nothing"
        print(f"  {use.name:<10} {use.joint.kind:<12} {labels}")
    print(f"  together nq = {system.nq}, nv = {system.nv}")

    rng = np.random.default_rng(1)
    q = system.random(rng)
    v, tau = rng.uniform(-1, 1, system.nv), rng.uniform(-1, 1, system.nv)
    a = system.forward_dynamics(q, v, tau)
    other = system.forward_dynamics(q, v, tau, formulation="composite")
    M = system.mass_matrix(q)
    kinetic = float(system.energy(q, v).kinetic)
    moved = system.integrate(q, 0.3 * v)

    # power of the efforts = rate of the energy, by a central difference along the motion
    h = 1e-5
    ahead = system.energy(system.integrate(q, h * v + h * h / 2 * a), v + h * a).total
    behind = system.energy(system.integrate(q, -h * v + h * h / 2 * a), v - h * a).total
    errors = {
        "inverse dynamics gives tau back": np.abs(system.inverse_dynamics(q, v, a) - tau).max(),
        "both formulations agree": np.abs(a - other).max(),
        "M a + bias = tau": np.abs(M @ a + system.bias_force(q, v) - tau).max(),
        "kinetic energy = v M v / 2": abs(v @ M @ v / 2 - kinetic),
        "power = rate of energy": abs(float(ahead - behind) / (2 * h) - tau @ v),
        "difference undoes integrate": np.abs(system.difference(q, moved) - 0.3 * v).max(),
    }
    for what, error in errors.items():
        print(f"  {what:<33} off by {error:.1e}")

    # the screw: one turn of the spindle lifts the jack by its lead
    low, high = (system.configuration({"spindle": angle}) for angle in (0.0, 2 * np.pi))
    lift = system.pose(high, "jack")[2, 3] - system.pose(low, "jack")[2, 3]
    print(f"  one turn of the spindle lifts the jack by {1000 * lift:.3f} mm")
    return {"errors": errors, "lift": lift, "system": system, "scale": np.abs(a).max()}


if __name__ == "__main__":
    main()
