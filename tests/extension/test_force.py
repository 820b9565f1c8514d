"""A force element from outside the package with an auxiliary state: a Maxwell element, a spring behind a damper.

With x the elongation of the line between two points and z that of the damper, the force is f = k (x - z), z' = f / c;
k (x - z)^2 / 2 is stored and f^2 / c dissipated. The twin is written with what the package has: a spring whose law
depends on a state.
"""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import BASIC
from whippletree.elements.declaration import part
from whippletree.elements.forces import ElementForces, ElementState, Force, pure_force, quantity, stretch
from whippletree.spatial.scalars import Scalar

Array = np.ndarray


@wt.register
@dataclass(frozen=True, eq=False)
class Maxwell(Force):
    """Pulls two points together with a spring and a damper in series."""

    word: ClassVar[str] = "maxwell"
    n_sides: ClassVar[int] = 2
    state_labels: ClassVar[tuple[str, ...]] = ("creep",)

    stiffness: Scalar = quantity(unit="N/m", sign="not negative")
    damping: Scalar = quantity(unit="N s/m", sign="positive", why="without a damper it is a spring")
    free_length: Scalar = quantity(0.0, unit="m", sign="not negative")

    def act(self, seen: ElementState) -> ElementForces:
        """Return the pair of forces; the spring's energy is stored, the damper's power dissipated."""
        line = stretch(seen.sides, ca.SX(self.free_length))
        f = self._force(seen)
        pull = pure_force(f * line.direction)
        return ElementForces((pull, -pull), ca.SX(0, 1), f * f / (2 * self.stiffness), f * f / self.damping, ca.SX(0))

    def rates(self, seen: ElementState) -> ca.SX:
        """Return how fast the damper gives way."""
        return self._force(seen) / self.damping

    def _force(self, seen: ElementState) -> ca.SX:
        return self.stiffness * (stretch(seen.sides, ca.SX(self.free_length)).elongation - seen.z[0])


K, C, FREE = 300.0, 40.0, 0.3


def add(m: wt.Mechanism, name: str, a: Any, b: Any, creep: float = 0.02) -> None:
    m.force(name, Maxwell(K, C, FREE), on=[(a, (0.1, 0, 0)), b], initial=[creep])


def add_twin(m: wt.Mechanism, name: str, a: Any, b: Any, creep: float = 0.02) -> None:
    z = m.state(f"{name}.creep", creep)
    m.frame(f"{name} end", on=a, at=(0.1, 0, 0))
    x = ca.norm_2(m.position(b) - m.position(f"{name} end")) - FREE
    m.state_rate(f"{name}.creep", K * (x - z) / C)
    m.spring(name, a, b, at=(0.1, 0, 0), free_length=FREE, law=K * (m.elongation - z))


def chain(n: int, put: Any = add, every: int = 1) -> wt.Mechanism:
    """A chain of bodies; elements reach from each body to the one after the next."""
    m = wt.Mechanism(f"chain of {n}")
    bodies = [m.ground]
    for k in range(n):
        link = m.body(f"link {k}", wt.box((0.4, 0.1 + 0.01 * (k % 4), 0.2), mass=1.0, at=(0.2, 0, 0)))
        m.revolute(f"joint {k}", bodies[-1], link, at=(0.4, 0, 0.05), axis=("y", "z")[k % 2])
        bodies.append(link)
    for k in range(0, n - 1, every):
        put(m, f"element {k}", bodies[k], bodies[k + 2], 0.01 * (k % 5))
    return m


def four_bar(put: Any = add) -> wt.Mechanism:
    m = wt.Mechanism("four-bar")
    crank, coupler, rocker = (m.body(name, wt.rod(length, mass=1.0)) for name, length in BARS.items())
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(0.5, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(1.2, 0, 0), at_child=(1.0, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(1.3, 0, 0), axis="y")
    put(m, "strut", m.ground, coupler)
    return m


BARS = {"crank": 0.5, "coupler": 1.2, "rocker": 1.0}


def close(ours: Any, expected: Any, tolerance: float = 1e-9) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance * max(np.abs(expected).max(), 1e-3))


def drawn(s: wt.System, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.6, 0.6, s.nq), rng.normal(size=s.nv), rng.normal(size=s.nv)


# ------------------------------------------------------------------ trees and loops


def test_a_tree_is_moved_like_its_twin():
    s, twin = chain(4).build(), chain(4, add_twin).build()
    assert (
        s.kernels.elements.names
        == ("element 0.creep", "element 1.creep", "element 2.creep")
        == twin.kernels.elements.names
    )
    close(s.z0, [0.0, 0.01, 0.02])
    q, v, tau = drawn(s)
    z = np.array([0.05, -0.02, 0.1])
    close(s.forward_dynamics(q, v, tau, z=z), twin.forward_dynamics(q, v, tau, z=z))
    close(s.state_rates(q, v, tau, z=z), twin.state_rates(q, v, tau, z=z))
    close(s.inverse_dynamics(q, v, s.forward_dynamics(q, v, tau, z=z), z=z), tau)


def test_all_formulations_of_a_loop_agree():
    s, twin = (four_bar(put).build(guess={"A": 0.9}, hold=["A"]) for put in (add, add_twin))
    q = s.q0
    v = s.consistent_velocities(q, {"A": 2.0}, hold=["A"])
    z = np.array([0.1])
    expected = twin.forward_dynamics(q, v, z=z, formulation="tree_augmented")
    for formulation in BASIC:
        close(s.forward_dynamics(q, v, z=z, formulation=formulation), expected)


def test_rolled_form():
    s = chain(60, every=4).build()
    q, v, tau = drawn(s, 1)
    z = np.linspace(-0.1, 0.1, s.nz)
    function = s.function("forward_dynamics")
    given = {"q": q, "v": v, "tau": tau, "z": z, "t": 0.0}
    straight = function(*(given[name] for name in function.name_in()))
    close(s.forward_dynamics(q, v, tau, z=z), np.array(straight).ravel(), 1e-8)


# ------------------------------------------------------------------ energy


def test_power_is_what_the_energy_loses():
    s = chain(3).build()
    q, v, _ = drawn(s, 2)
    z, h = np.array([0.05, -0.02]), 1e-6
    a, dz = s.forward_dynamics(q, v, z=z), s.state_rates(q, v, z=z)

    def total(t: float) -> float:
        at = q + t * v, v + t * a
        return float(s.energy(*at, z=z + t * dz).total)

    close((total(h) - total(-h)) / (2 * h), -s.powers(q, v, z=z).dissipated, 1e-6)


@pytest.mark.parametrize("looped", [False, True])
def test_energy_balance_over_a_run(looped):
    s = four_bar().build(guess={"A": 0.9}, hold=["A"]) if looped else chain(3).build()
    run = s.simulate(0.4, tolerance=1e-10, every=0.002)
    total = run.energy().total
    close(total, [s.energy(q, v, z=z).total for q, v, z in zip(run.q, run.v, run.z, strict=True)])
    lost = np.array([s.powers(q, v, z=z).dissipated for q, v, z in zip(run.q, run.v, run.z, strict=True)])
    assert len(lost) == 201
    taken = 0.002 / 3 * (lost[0] + 4 * lost[1:-1:2].sum() + 2 * lost[2:-1:2].sum() + lost[-1])  # Simpson's rule
    assert taken > 1e-3
    close(total[-1], total[0] - taken, 1e-6)


# ------------------------------------------------------------------ derivatives


def test_derivatives_of_inverse_dynamics_against_differences():
    s = chain(3).build()
    q, v, a = drawn(s, 3)
    z, h = np.array([0.05, -0.02]), 1e-6
    slopes = s.inverse_dynamics_derivatives(q, v, a, z=z)
    for k, e in enumerate(np.eye(3)):
        dq = (s.inverse_dynamics(q + h * e, v, a, z=z) - s.inverse_dynamics(q - h * e, v, a, z=z)) / (2 * h)
        dv = (s.inverse_dynamics(q, v + h * e, a, z=z) - s.inverse_dynamics(q, v - h * e, a, z=z)) / (2 * h)
        close(slopes.q[:, k], dq, 1e-6)
        close(slopes.v[:, k], dv, 1e-6)


def test_implicit_methods_follow_the_state():
    s = chain(3).build()
    run, exact = (s.simulate(0.2, **how) for how in ({"method": "trapezoidal", "step": 5e-4}, {"tolerance": 1e-10}))
    close(run.z[-1], exact.z[-1], 1e-4)


# ------------------------------------------------------------------ description, files, pickles


def described() -> wt.Mechanism:
    m = wt.Mechanism("described")
    k = m.parameter("k", K)
    m.frame("hook", on=m.ground, at=(0, 0, 1), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    bob = m.body("bob", wt.sphere(0.1, mass=2.0))
    m.prismatic("drop", m.ground, bob, axis="z")
    m.force("element", Maxwell(k, 0.1 * k, 0.2), on=["hook", (bob, (0, 0, 0.1))], initial=[0.01])
    z = m.state("slow", 0.5)
    m.state_rate("slow", -z)
    m.actuator("push", "drop", effort=z)
    return m


def test_states_of_elements_come_after_those_that_were_declared():
    m = described()
    assert [use.name for use in m.describe().states] == ["slow", "element.creep"]
    with pytest.raises(wt.ModelError, match=r"the state belongs to a force element"):
        m.state_rate("element.creep", 0.0)
    m.event("slack", m.state_symbol("element.creep") - 1.0)
    assert m.describe().event("slack").states == ("element.creep",)


def test_a_file_holds_it():
    m = described()
    text = wt.model.io.write_text(m)
    assert "maxwell: [hook, bob]" in text and "initial: [0.01]" in text and "element.creep" not in text
    assert wt.read(text).mechanism.describe() == m.describe()


def test_a_file_is_checked_by_the_declaration():
    head = "name: m\nbodies: {bob: {mass: 1}}\njoints: {drop: {prismatic: [ground, bob]}}\nforces:\n"
    with pytest.raises(wt.FileError, match=r'5:\d+: force "e": the key "damping" is missing'):
        wt.read(head + "  e: {maxwell: [ground, bob], stiffness: 1}")
    with pytest.raises(wt.FileError, match=r'5:\d+: force "e": damping must be positive, got 0.0: without a damper'):
        wt.read(head + "  e: {maxwell: [ground, bob], stiffness: 1, damping: 0}")
    with pytest.raises(wt.FileError, match=r"maxwell must be 2 names of bodies or frames in a list"):
        wt.read(head + "  e: {maxwell: bob, stiffness: 1, damping: 1}")


def test_what_it_acts_on_is_counted():
    m = wt.Mechanism("m")
    bob = m.body("bob")
    with pytest.raises(wt.ModelError, match=r'force "e": Maxwell is between 2 frames: give as many by on=, got 1'):
        m.force("e", Maxwell(1.0, 1.0), on=[bob])
    with pytest.raises(wt.ModelError, match=r'force "e": initial must be 1 numbers'):
        m.force("e", Maxwell(1.0, 1.0), on=["ground", bob], initial=[1.0, 2.0])
    m.force("e", Maxwell(1, 1), on=["ground", bob])
    assert m.describe().force("e").force.entries() == (1.0, 1.0, 0.0)


def test_pickles_and_runs_from_the_file():
    m = described()
    again = pickle.loads(pickle.dumps(m))
    assert again.describe() == m.describe()
    runs = [mechanism.build().simulate(0.1) for mechanism in (m, again, wt.read(wt.model.io.write_text(m)).mechanism)]
    assert all(np.array_equal(run.z, runs[0].z) for run in runs)


@dataclass(frozen=True, eq=False)
class Mistaken(Force):
    """A law with a mistake in it: its `how` says which."""

    word: ClassVar[str] = "mistaken"
    n_coordinates: ClassVar[int] = 1
    how: str = part(str, "")

    def act(self, seen: ElementState) -> ElementForces:
        """Return an effort."""
        angle = seen.q[0]
        if self.how == "if":
            return self._pushing(ca.SX(1.0) if angle > 0 else ca.SX(-1.0))
        return self._pushing(ca.SX(math.sin(angle)))

    def _pushing(self, effort: ca.SX) -> ElementForces:
        return ElementForces((), effort, ca.SX(0), ca.SX(0), ca.SX(0))


@pytest.mark.parametrize("how, words", [("if", r"is a formula.*casadi\.if_else"), ("math", r"nan.*casadi\.sin")])
def test_a_law_that_asks_a_formula_is_told_what_to_write(how: str, words: str) -> None:
    m = wt.Mechanism("m")
    hinge = m.revolute("hinge", m.ground, m.body("arm", mass=1.0, com=(1, 0, 0)))
    m.force("law", Mistaken(how), coordinates=[hinge])
    with pytest.raises(wt.ModelError, match=words) as caught:
        m.build().simulate(0.1)
    frames = [frame.name for frame in caught.traceback]
    assert how == "math" or frames[-1] == "act"  # the line of the law
