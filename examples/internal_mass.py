"""A body with coordinates of its own: a pendulum with a mass that slides inside it on a spring.

A body kind says where its moving frames are, what its inertia is, and what acts inside; joints, forces and frames
attach to it like to any body, at its moving frames too. Here a hollow rod swings on a hinge about y, and inside it a
bob slides along the rod. With J the rod's inertia about the hinge and its weight as that of a mass at half its length,
bob m at the distance r = R + eta, spring k and angle a from straight down, Lagrange's equations are

    (J + m r^2) a'' + 2 m r r' a' + (M L / 2 + m r) g sin a = 0
    m eta'' - m r a'^2 - m g cos a + k eta = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.elements.forces import ElementForces, ElementState, Force

LENGTH, ROD, BOB, REST, STIFFNESS, G = 1.2, 0.8, 0.5, 0.6, 40.0, 9.81


@dataclass(frozen=True, eq=False)
class SlideSpring(Force):
    """A spring on the one own coordinate."""

    stiffness: float

    def act(self, seen: ElementState) -> ElementForces:
        """Pull the bob back to where it rests."""
        stored = self.stiffness * ca.sumsqr(seen.q) / 2
        return ElementForces((), -self.stiffness * seen.q, stored, ca.SX(0), ca.SX(0))


@dataclass(frozen=True, eq=False)
class HollowRod(wt.BodyKind):
    """A rod along -z with a bob that slides along it."""

    length: float
    mass: float
    bob: float
    rest: float
    stiffness: float

    labels = ("displacement along the rod",)
    frames = ("bob",)

    def pose(self, frame: str, eta: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return where the bob is in the rod."""
        return ca.SX.eye(3), ca.vertcat(0, 0, -(self.rest + eta))

    def mass_matrix(self, eta: ca.SX) -> ca.SX:
        """Return the inertia of the rod and of the bob on its moving frame."""
        rod = wt.rod(length=self.length, mass=self.mass, axis="-z")
        return wt.rigid_parts(self, eta, [(None, rod), ("bob", wt.point_mass(self.bob))])

    def internal_force(self) -> Force:
        """Return the spring."""
        return SlideSpring(self.stiffness)


def describe() -> wt.Mechanism:
    """One hollow rod on a hinge about y, with a frame on its bob."""
    m = wt.Mechanism("pendulum with a bob", gravity=(0, 0, -G))
    m.body("rod", HollowRod(LENGTH, ROD, BOB, REST, STIFFNESS))
    m.revolute("hinge", m.ground, "rod", axis="y")
    m.frame("eye", on="rod.bob")
    return m


def main() -> dict[str, Any]:
    """Let it swing from 1.2 rad, and print where the bob is and how the energy is kept."""
    s = describe().build()
    q, v = s.configuration({"hinge": 1.2, "rod": 0.05}), s.velocities({"hinge": -0.4, "rod": 0.3})
    run = s.simulate(5.0, q=q, v=v, tolerance=1e-10)
    accelerations = s.forward_dynamics(run.q, run.v)
    energy = s.energy(run.q, run.v)
    total = energy.kinetic + energy.potential
    print(
        f"own coordinate of the rod: q[{s.q_slice('rod').start}], between {run.q[:, 1].min():.3f} and "
        f"{run.q[:, 1].max():.3f} m"
    )
    print(f"energy {total[0]:.6f} J, kept within {np.ptp(total):.1e} J over 5 s")
    return {"q": run.q, "v": run.v, "accelerations": accelerations, "total": total, "eye": s.pose(run.q, "eye")}


if __name__ == "__main__":
    main()
