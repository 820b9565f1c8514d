"""Elements of any type: the calls that take them, and what can be registered for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.closures import Coupling, DeclaredClosure, Distance
from whippletree.elements.forces import Force, Spring, TorsionSpring, on_coordinate, quantity
from whippletree.elements.joints import Free, Revolute, Screw, Universal


@dataclass(frozen=True, eq=False)
class Detent(Force):
    """Turns a joint back into one of several rests."""

    word: ClassVar[str] = "detent"
    n_coordinates: ClassVar[int] = 1

    torque: float = quantity(sign="not negative")
    teeth: float = quantity(4.0, sign="positive")

    def act(self, seen: Any) -> Any:
        """Return the effort of a cosine's energy."""
        return on_coordinate(-self.torque * ca.sin(self.teeth * seen.q), self.torque / self.teeth * self.wave(seen))

    def wave(self, seen: Any) -> ca.SX:
        return 1 - ca.cos(self.teeth * seen.q)


def start() -> wt.Mechanism:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("arm", wt.rod(1.0, mass=2.0)))
    return m


def test_the_calls_for_any_type_do_what_those_for_built_in_types_do():
    one, other = wt.Mechanism("m"), wt.Mechanism("m")
    for m in (one, other):
        for name in "abcd":
            m.body(name, wt.rod(1.0, mass=1.0))
    one.revolute("A", "ground", "a", axis="y", at=(1, 0, 0))
    one.screw("B", "a", "b", lead=0.1, axis="x")
    one.universal("C", "b", "c", axis="x", axis_child="z")
    one.free("D", "ground", "d", at=(0, 0, 1))
    one.distance("rod", "c", "d", length=2.0, at=(1, 0, 0))
    one.gear("pair", "A", "B", ratio=2.0)
    one.spring("spring", "a", "d", stiffness=10.0, free_length=1.0, at=(0, 1, 0))
    one.torsion_spring("return", "C", stiffness=3.0, index=1)
    other.joint("A", "ground", "a", Revolute(), axis="y", at=(1, 0, 0))
    other.joint("B", "a", "b", Screw(0.1), axis="x")
    other.joint("C", "b", "c", Universal(), axis="x", axis_child="z")
    other.joint("D", "ground", "d", Free(), at=(0, 0, 1))
    other.constraint("rod", Distance(2), on=[("c", (1, 0, 0)), "d"])
    other.constraint("pair", Coupling((-2.0, 1.0), 0.0), coordinates=["A", "B"])
    other.force("spring", Spring(10, 1), on=[("a", (0, 1, 0)), "d"])
    other.force("return", TorsionSpring(3), coordinates=("C", 1))
    assert one.describe() == other.describe()


def test_a_pair_of_joint_and_index_is_one_coordinate():
    m = start()
    m.force("detent", Detent(1.0), coordinates=[("A", 0)])
    m.force("alone", Detent(1.0), coordinates="A")
    assert m.describe().force("detent").coordinates == m.describe().force("alone").coordinates == (("A", 0),)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.joint("J", "ground", "arm", Free(), axis="x"), r"placed by no axis: leave out axis"),
        (lambda m: m.joint("J", "ground", "arm", Spring(1, 1)), r"joint must be an instance of a type of joint"),
        (lambda m: m.constraint("c", Detent(1.0)), r'closure "c": closure must be an instance of a type of closure'),
        (lambda m: m.constraint("c", Distance(1.0), on="arm"), r"Distance is between 2 frames: .* got 1"),
        (
            lambda m: m.constraint("c", Distance(-1.0), on=["ground", "arm"]),
            r"length must be positive, got -1.0",
        ),
        (lambda m: m.constraint("c", Distance(1.0), on=["ground", "leg"]), r'there is no body or frame "leg"'),
        (lambda m: m.force("f", Revolute()), r'force "f": force must be an instance of a type of force'),
        (lambda m: m.force("f", Detent(1.0), coordinates="B"), r'there is no joint "B"'),
        (lambda m: m.force("f", Detent(1.0, 0), coordinates="A"), r'force "f": teeth must be positive, got 0.0'),
        (lambda m: m.force("f", Detent(np.nan), coordinates="A"), r'force "f": torque must be finite'),
        (lambda m: m.force("f", Spring(1, 1), on=["ground", ("arm", (1, 2))]), r"the point must be 3 numbers"),
    ],
)
def test_what_will_not_do_is_refused_and_leaves_the_mechanism_as_it_was(call, message):
    m = start()
    before = m.describe()
    with pytest.raises(wt.ModelError, match=message):
        call(m)
    assert m.describe() == before


def test_only_element_types_with_a_word_of_their_own_can_be_registered():
    class Plain(DeclaredClosure):
        word = "plain"

    @dataclass(frozen=True, eq=False)
    class Wordless(Detent):
        word: ClassVar[str] = ""

    @dataclass(frozen=True, eq=False)
    class Taken(Detent):
        word: ClassVar[str] = "spring"

    for kind, message in (
        (int, "only types of joints, closures and forces"),
        (Detent(1.0), "only types of joints, closures and forces"),
        (Plain, "Plain cannot be registered: it must be a dataclass"),
        (Wordless, "its `word` must be one word, got ''"),
        (Taken, 'the word "spring" stands for another type of forces already'),
    ):
        with pytest.raises(wt.ModelError, match=message):
            wt.register(kind)  # type: ignore[type-var]


def test_a_registered_type_on_a_joint_is_read_and_written():
    wt.register(Detent)
    wt.register(Detent)  # once more is no harm
    m = start()
    m.planar("P", "ground", m.body("puck", mass=1.0))
    m.force("detent", Detent(m.parameter("torque", 2.0)), coordinates=("P", 2))
    text = wt.model.io.write_text(m)
    assert "P[2]" in text
    assert wt.read(text).mechanism.describe() == m.describe()


def test_what_a_type_from_outside_computes_is_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch):
    def described() -> wt.model.Description:
        m = start()
        m.force("detent", Detent(1.0), coordinates="A")
        return m.describe()

    before = described().fingerprint()
    assert described().fingerprint() == before
    monkeypatch.setattr(Detent, "wave", lambda self, seen: 2 - ca.cos(self.teeth * seen.q))
    assert described().fingerprint() != before


def test_a_mechanism_is_made_of_a_description_and_goes_on_from_there():
    m = start()
    again = wt.Mechanism.of(m.describe())
    assert again.describe() == m.describe()
    again.body("leg")
    assert again.describe() != m.describe()
