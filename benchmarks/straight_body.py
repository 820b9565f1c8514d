"""A human body whose hinge axes are all along its limbs or square to them.

The human body of `whippletree.analysis.models` has the book's points and vectors, and so oblique axes and hinges that
meet in one point. Operation counts were first taken of this one, with the same bodies, masses and tree; it is kept so
that they can be compared.
"""

from __future__ import annotations

from whippletree import Mechanism, box
from whippletree.model import Body

__all__ = ["straight_body"]

Point = tuple[float, float, float]
Chain = tuple[tuple[str, str, float, float], ...]
"""Parts from the trunk outward: name, axis of the hinge that holds it, length, mass."""

LEG: Chain = (
    ("hip flexion", "y", 0.04, 0.9),
    ("hip abduction", "x", 0.04, 0.9),
    ("thigh", "z", 0.42, 8.0),
    ("shank", "y", 0.42, 3.5),
    ("talus", "y", 0.03, 0.3),
    ("foot", "x", 0.08, 0.9),
    ("toes", "y", 0.06, 0.2),
)
ARM: Chain = (
    ("shoulder flexion", "y", 0.03, 0.4),
    ("shoulder abduction", "x", 0.03, 0.4),
    ("upper arm", "z", 0.29, 2.0),
    ("elbow", "y", 0.05, 0.4),
    ("forearm", "z", 0.22, 1.0),
    ("wrist", "x", 0.02, 0.1),
    ("hand", "y", 0.1, 0.4),
)
NECK: Chain = (("neck", "y", 0.04, 0.5), ("neck side", "x", 0.04, 0.5), ("head", "z", 0.2, 4.2))


def straight_body() -> Mechanism:
    """A floating pelvis, chest, head, two arms, two legs: 40 bodies, 6 + 39 freedoms."""
    m = Mechanism("human body, straight axes")
    pelvis = m.body("pelvis", box((0.2, 0.3, 0.16), mass=9.0, at=(0.005, 0.0, 0.02)))
    m.free("flight", m.ground, pelvis)
    lumbar = m.body("lumbar", box((0.16, 0.26, 0.14), mass=6.0, at=(0.01, 0.0, 0.07)))
    chest = m.body("chest", box((0.2, 0.32, 0.3), mass=15.0, at=(0.01, 0.0, 0.15)))
    m.revolute("lumbar joint", pelvis, lumbar, at=(-0.02, 0.0, 0.1), axis="y")
    m.revolute("chest joint", lumbar, chest, at=(0.0, 0.0, 0.14), axis="x")
    add_chain(m, "", NECK, chest, (0.0, 0.0, 0.32), up=1.0)
    for side, y in (("left ", 1.0), ("right ", -1.0)):
        leg = add_chain(m, side, LEG, pelvis, (0.0, 0.09 * y, -0.04), up=-1.0)
        add_chain(m, side, ARM, chest, (0.0, 0.18 * y, 0.26), up=-1.0)
        for name, at, mass in (("shoulder blade", (-0.08, 0.09 * y, 0.2), 0.8), ("ribs", (0.06, 0.06 * y, 0.1), 1.2)):
            part = m.body(side + name, box((0.02, 0.1, 0.14), mass=mass, at=(0.01, 0.02 * y, 0.0)))
            m.revolute(f"{side}{name} joint", chest, part, at=at, axis="z")
        soft = m.body(f"{side}soft mass", box((0.1, 0.1, 0.25), mass=2.0, at=(0.0, 0.0, -0.02)))
        m.revolute(f"{side}soft mass joint", leg["thigh"], soft, at=(0.0, 0.0, -0.18), axis="y")
    return m


def add_chain(m: Mechanism, side: str, parts: Chain, on: Body, at: Point, *, up: float) -> dict[str, Body]:
    """Add parts one after the other, upward or downward; return them by name."""
    made: dict[str, Body] = {}
    for name, axis, length, mass in parts:
        thick = 0.04 + 0.1 * length
        shape = box((thick, thick, length), mass=mass, at=(0.004, 0.0, up * length / 2))
        made[name] = m.body(side + name, shape)
        m.revolute(f"{side}{name} joint", on, made[name], at=at, axis=axis)
        on, at = made[name], (0.0, 0.0, up * length)
    return made
