"""Files as earlier versions wrote them stay readable: each says today what it said then."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.model.io import read_text, write_text

SAMPLES = Path(__file__).parent / "samples"


def every_element() -> wt.Mechanism:
    m = wt.Mechanism("every element")
    k = m.parameter("k", 100.0)
    for name in "abcdefghij":
        m.body(name, mass=1.0, inertia=(1, 1, 1))
    m.frame("hook", on="ground", at=(0, 0, 3), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    m.frame("tip", on="b", at=(0, k / 100, 1))
    m.fixed("weld", "ground", "a", at=(1, 0, 0))
    m.revolute("hinge", "a", "b", at=(0, 0, 1), axis="y", at_child=(0, 0, -1), armature=0.1)
    m.prismatic("slide", "b", "c", axis=(1, 2, 2), axis_child="x")
    m.cylindrical("sleeve", "c", "d", axis="-z", armature=(0.1, k / 1000))
    m.screw("thread", "d", "e", lead=0.01 * k, axis="x")
    m.planar("table", "e", "f", axis="y", prescribed=True)
    m.universal("cardan", "f", "g", axis="x", axis_child="z", at=(0, 1, 0))
    m.spherical("ball", "g", "h", at=(0, 0, 2))
    m.spherical("gimbals", "h", "i", coordinates="bryant")
    m.free("flight", "ground", "j", coordinates="euler", pose=np.eye(4))
    m.distance("rod", "a", "j", length=k / 50, at=(0, 1, 0), at_child=(1, 0, 0))
    m.coincident("pivot", "a", "i", at=(1, 1, 1))
    m.in_plane("plane", "a", "h", normal="x", offset=0.5, at=(1, 0, 0))
    m.perpendicular("square", "a", "g", axis="x", axis_child=(0, 1, 0))
    m.coupling("sum", {"hinge": 1.0, ("sleeve", 1): -k}, offset=0.25)
    m.gear("pair", "hinge", "thread", ratio=k / 7)
    m.closure("cam", m.coordinate("hinge") - 0.1 * ca.sin(m.coordinate("slide")))
    m.drive("motor", "thread", position=2 * ca.sin(m.time) * k)
    m.drive_point("hand", "j", at=(0, 0, 1), position=(ca.sin(m.time), None, 0.5))
    z = m.state("z", 0.5)
    m.state_rate("z", -z + m.rate("hinge"))
    m.spring("spring", "a", "tip", stiffness=k, free_length=1, damping=2, at=(0, 0, 1))
    m.spring("damper", "hook", "c", damping=3)
    m.spring("law", "a", "c", law=m.elongation**3 + m.elongation_rate, energy=m.elongation**4 / 4, at_child=(0, 1, 0))
    m.spring("lawless", "a", "d", law=z * m.elongation + m.coordinate("hinge"), free_length=k)
    m.bushing(
        "mount",
        "a",
        "d",
        stiffness=(1, 2, 3, 4, 5, k),
        damping=np.eye(6) + 0.01,
        pose=[[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    )
    m.torsion_spring("return", "cardan", stiffness=k, rest=0.1, damping=1, index=1)
    m.friction("rub", "ball", coulomb=1, viscous=k, index=2)
    m.friction("bearing", "sleeve", coefficient=0.1, radius=0.02, length=0.1, preload=k)
    m.limit("stop", "hinge", lower=-1, upper=k / 100, stiffness=1e4)
    m.limit("one stop", "slide", upper=1, stiffness=1e4, damping=2, width=0.01)
    m.actuator("servo", "gimbals", effort=z - m.reaction("hinge").fx + m.coordinate("slide"), index=1)
    m.load("thrust", "tip", force=(0, 0, k * ca.exp(-m.time)), frame="body")
    m.load("push", "c", wrench=ca.vertcat(z, 0, 0, m.velocity("tip")[3:]), at=(1, 0, 0))
    m.contact("ball on the floor", "c", radius=0.1, stiffness=1e5, damping=k, friction=0.5, offset=0.1 * ca.sin(m.time))
    m.contact("box on a slope", "d", size=(1, 2, k / 100), stiffness=1e5, normal=(0, 0.6, 0.8), at=(0, 0, 0.5))
    m.contact("capsule", "e", length=1, axis="x", stiffness=k)
    m.contact("feet", "f", points=[(1, 0, 0), (0, k, 0)], stiffness=k, speed=0.1)
    m.contact_between(
        "hit", "a", "j", radius=0.1, radius_child=0.2, length_child=k / 100, axis_child=(1, 1, 0), stiffness=1e5
    )
    m.contact_between(
        "crate", "b", "j", radius=0.1, size_child=(1, 2, k), at_child=(0, 0, 1), stiffness=1e5, friction=0.3
    )
    m.tyre("linear", "g", radius=0.3, stiffness=2e5, cornering_stiffness=6e4)
    m.tyre(
        "sliding",
        "h",
        radius=0.3,
        stiffness=2e5,
        cornering_stiffness=k,
        slip_stiffness=1e4,
        relaxation=0.2,
        lateral_relaxation=0.4,
        friction=0.9,
        trail=0.02,
        rolling_resistance=0.01,
        axis="x",
        at=(0, 0, 1),
        normal="y",
        offset=0.1,
        initial=(0.001, 0.002),
    )
    m.event(
        "bounce",
        m.coordinate("slide"),
        direction="falling",
        velocities={"slide": -0.8 * m.rate("slide")},
        states={"z": 0},
    )
    return m


def test_a_file_with_every_element_says_what_the_calls_say() -> None:
    """The file was written by the version before elements had their calls and files from one declaration."""
    read = wt.read(SAMPLES / "every_element.yaml").mechanism.describe()
    described = every_element().describe()
    assert read == described
    assert read.fingerprint() == described.fingerprint()
    assert read_text(write_text(every_element())).mechanism.describe() == described
