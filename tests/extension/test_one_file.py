"""A force, a closure and a joint in one place each: declared and registered, and nothing else is said about them.

Method, checks, file, documentation and picture follow from the declaration. Their numbers are checked against plain
formulas.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import element_methods
import whippletree as wt
from whippletree.elements.closures import DeclaredClosure, Rows, Side
from whippletree.elements.forces import ElementForces, ElementState, Force, pure_force, quantity, stretch
from whippletree.elements.joints import Joint
from whippletree.spatial import Shift, Translation
from whippletree.viewer.scenes import still_scene

Scalar = float | ca.SX

# ------------------------------------------------------------------ the three files


@wt.register
@dataclass(frozen=True, eq=False)
class Magnet(Force):
    """A pair of magnets, which pull with strength / (distance + gap)^2.

    >>> m.magnet("pull", "ground", "bob", strength=2.0)
    """

    word: ClassVar[str] = "magnet"
    n_sides: ClassVar[int] = 2
    drawn: ClassVar[str] = "spring"

    strength: Scalar = quantity(unit="N m^2", sign="not negative")
    gap: Scalar = quantity(0.01, unit="m", sign="positive", why="magnets that touch hold without bound")

    def act(self, seen: ElementState) -> ElementForces:
        """Return the pair of forces, and the energy that the pull has stored."""
        line = stretch(seen.sides, ca.SX(0))
        away = line.elongation + self.gap
        pull = pure_force(self.strength / away**2 * line.direction)
        return ElementForces((pull, -pull), ca.SX(0, 1), -self.strength / away, ca.SX(0), ca.SX(0))


@wt.register
@dataclass(frozen=True, eq=False)
class Square(DeclaredClosure):
    """One coordinate is the square of another, times a factor."""

    word: ClassVar[str] = "square_of"
    n_coordinates: ClassVar[int] = 2

    factor: Scalar = quantity(1.0, sign="not zero")

    @property
    def labels(self) -> tuple[str, ...]:
        """What the row transmits."""
        return ("effort through the cam",)

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return q1 - factor q0^2."""
        slope = ca.densify(ca.horzcat(-2 * self.factor * q[0], 1))
        bias = ca.densify(-2 * self.factor * v[0] ** 2)
        return Rows(q[1] - self.factor * q[0] ** 2, (), slope, ca.SX.zeros(1), bias)


@wt.register
@dataclass(frozen=True)
class Rack(Joint):
    """A slide that a pinion moves: the coordinate is its angle, `radius` the way for each radian."""

    radius: Scalar = quantity(unit="m", sign="positive")

    kind: ClassVar[str] = "rack"
    n_configuration: ClassVar[int] = 1
    position_labels: ClassVar[tuple[str, ...]] = ("angle",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity",)

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the displacement."""
        return self.radius * q

    def shift(self, x: ca.SX) -> Shift:
        """Translate along z."""
        return Shift((Translation(ca.vertcat(0, 0, x)),))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the translation by one radian."""
        return ca.SX(ca.vertcat(0, 0, 0, 0, 0, self.radius))


# ------------------------------------------------------------------ what follows


def described() -> Any:
    """A bob between magnets on a slide, whose square another slide follows, and a rack."""
    m: Any = wt.Mechanism("described")
    for name in ("bob", "follower", "carriage"):
        m.body(name, wt.sphere(0.1, mass=2.0))
    m.prismatic("drop", "ground", "bob", axis="z", at=(0, 0, 0.5))
    m.prismatic("follow", "ground", "follower", axis="x")
    m.rack("rack", "ground", "carriage", radius=0.02, axis="y", at=(1, 0, 0), armature=0.1)
    m.magnet("pull", "ground", "bob", strength=m.parameter("strength", 3.0), at_child=(0, 0, 0.1))
    m.square_of("cam", [("drop", 0), "follow"], factor=2.0)
    return m


def test_the_methods_do_what_the_calls_for_any_type_do() -> None:
    other = wt.Mechanism("described")
    for name in ("bob", "follower", "carriage"):
        other.body(name, wt.sphere(0.1, mass=2.0))
    other.prismatic("drop", "ground", "bob", axis="z", at=(0, 0, 0.5))
    other.prismatic("follow", "ground", "follower", axis="x")
    other.joint("rack", "ground", "carriage", Rack(0.02), axis="y", at=(1, 0, 0), armature=0.1)
    pull = Magnet(other.parameter("strength", 3.0))
    other.force("pull", pull, on=["ground", ("bob", (0, 0, 0.1))])
    other.constraint("cam", Square(2.0), coordinates=["drop", "follow"])
    assert described().describe() == other.describe()


def test_they_move_as_their_formulas_say() -> None:
    s = described().build(guess={"drop": 0.3})
    q = s.q0
    x = q[s.q_slice("drop")][0]
    np.testing.assert_allclose(q[s.q_slice("follow")], [2 * x**2], atol=1e-9)
    away = abs(0.5 + x + 0.1) + 0.01
    (on_ground, on_bob) = s.forces(q, np.zeros(3))["pull"].wrenches
    np.testing.assert_allclose(on_bob[3:], [0, 0, -3.0 / away**2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(on_ground[3:], -on_bob[3:])
    np.testing.assert_allclose(s.pose(np.array([x, 2 * x**2, 5.0]), "carriage")[:3, 3], [1, 0.1, 0], atol=1e-12)
    kinetic = s.energy(q, np.array([0.0, 0.0, 7.0])).kinetic
    assert kinetic == pytest.approx(2.0 * (0.02 * 7) ** 2 / 2 + 0.1 * 7**2 / 2)


def test_a_run_keeps_its_energy() -> None:
    s = described().build(guess={"drop": 0.3})
    run = s.simulate(0.2, tolerance=1e-10)
    assert run.certificate.ok
    np.testing.assert_allclose(run.energy().total, run.energy().total[0], rtol=1e-7)


def test_files_hold_them() -> None:
    text = wt.model.io.write_text(described())
    assert (
        "magnet: [ground, bob]" in text and "rack: [ground, carriage]" in text and "square_of: [drop, follow]" in text
    )
    assert wt.read(text).mechanism.describe() == described().describe()
    with pytest.raises(wt.FileError, match=r'force "pull": gap must be positive, got -1.0: magnets that touch hold'):
        wt.read(text.replace("gap: 0.01", "gap: -1"))
    with pytest.raises(wt.FileError, match=r'force "pull": there is no key "gab"; did you mean "gap"'):
        wt.read(text.replace("gap: 0.01", "gab: 1"))


def test_the_method_tells_what_it_takes() -> None:
    m = described()
    assert inspect.signature(m.magnet) == inspect.Signature(
        [
            *(inspect.Parameter(name, 1, annotation="str") for name in ("name",)),
            *(inspect.Parameter(name, 1, annotation="PlaceLike") for name in ("parent", "child")),
            inspect.Parameter("strength", 3, annotation="Scalar"),
            inspect.Parameter("gap", 3, annotation="Scalar", default=0.01),
            *(inspect.Parameter(name, 3, annotation="PointLike | None", default=None) for name in ("at", "at_child")),
        ]
    )
    assert inspect.getdoc(m.magnet) == inspect.getdoc(Magnet)
    with pytest.raises(TypeError, match="strength"):
        m.magnet("other", "ground", "bob")
    with pytest.raises(wt.ModelError, match=r'force "other": strength must not be negative, got -1.0'):
        m.magnet("other", "ground", "bob", strength=-1)
    with pytest.raises(AttributeError, match="no attribute 'magnets'"):
        m.magnets("other", "ground", "bob", strength=1)


@pytest.mark.parametrize("kind", [Magnet, Square, Rack])
def test_what_is_generated_of_a_type_in_the_package(kind: Any) -> None:
    """The same file in the package, exported, gets a method that editors see, and a part of a page."""
    (method,) = ast.parse(element_methods.method(kind)).body
    assert isinstance(method, ast.FunctionDef) and method.name == element_methods.word_of(kind)
    given = [*method.args.args[1:], *method.args.kwonlyargs]
    assert all(each.annotation is not None for each in given)
    assert [each.arg for each in given] == list(inspect.signature(getattr(described(), method.name)).parameters)
    assert (ast.get_docstring(method) or "").startswith((kind.__doc__ or "").partition("\n")[0])
    section = element_methods.section(kind)
    assert f"### `{method.name}`" in section
    assert all(f"`{each.arg}`" in section or f"{each.arg}: ..." in section for each in method.args.kwonlyargs)
    if kind is Magnet:
        assert "- `strength`: in N m^2, not negative" in section
        assert "- `gap`: in m, positive (magnets that touch hold without bound)" in section


def test_a_picture_shows_it() -> None:
    s = described().build(guess={"drop": 0.3})
    scene = still_scene(s, s.q0)
    (strut,) = (one for one in scene.struts if one.name == "pull")
    assert strut.kind == "spring"
    np.testing.assert_allclose(strut.second_point, [0, 0, 0.1])
