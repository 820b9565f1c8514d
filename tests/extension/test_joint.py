"""A joint type from outside the package, with two constants of its own, through everything that joints go through.

The cam screw turns about its axis by an angle and advances by `advance` times the angle plus `lift` times its sine. The
same motion comes from a cylindrical joint whose two coordinates are held together by an expression: the twin.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import EXACT
from support.sampling import deep
from whippletree.elements.joints import Joint, quantity
from whippletree.spatial import Shift, Translation, Turn
from whippletree.system import size_policy

Array = np.ndarray

LARGE = size_policy.ROLL_FROM
"""As many bodies as it takes to be walked in a loop."""
Add = Callable[..., Any]


@wt.register
@dataclass(frozen=True)
class CamScrew(Joint):
    """One angle about the axis, with a displacement advance q + lift sin q along it."""

    advance: float = quantity(unit="m/rad", sign="not zero", why="a cam that only lifts has dead points")
    lift: float = quantity(0.0, unit="m")

    kind: ClassVar[str] = "cam_screw"
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    n_configuration: ClassVar[int] = 4
    position_labels: ClassVar[tuple[str, ...]] = ("angle",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity",)

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return cosine, sine, displacement and slope."""
        c, s = ca.cos(q), ca.sin(q)
        return ca.vertcat(c, s, self.advance * q + self.lift * s, self.advance + self.lift * c)

    def shift(self, x: ca.SX) -> Shift:
        """Translate along z, then turn about it."""
        return Shift((Translation(ca.vertcat(0, 0, x[2])), Turn(x[0], x[1])))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the momentary screw axis."""
        return ca.SX(ca.vertcat(0, 0, 1, 0, 0, x[3]))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return what the change of slope brings."""
        return ca.SX(ca.vertcat(0, 0, 0, 0, 0, -self.lift * x[1] * v * v))


def as_one(m: wt.Mechanism, name: str, parent: Any, child: Any, constants: tuple[Any, Any], **where: Any) -> None:
    """The joint of the new type."""
    m.joint(name, parent, child, CamScrew(*constants), **where)


def as_twin(m: wt.Mechanism, name: str, parent: Any, child: Any, constants: tuple[Any, Any], **where: Any) -> None:
    """The same motion, of parts that are built in."""
    m.cylindrical(name, parent, child, **where)
    q = m.coordinate(name, 0)
    m.closure(f"law of {name}", m.coordinate(name, 1) - constants[0] * q - constants[1] * ca.sin(q))


def body(m: wt.Mechanism, name: str, k: int = 0) -> Any:
    return m.body(name, wt.box((0.3 + 0.01 * k, 0.2, 0.5), mass=1.0 + 0.1 * (k % 7), at=(0.1, 0.05, 0.02 * (k % 5))))


def chain(n: int, add: Add, seed: int = 0) -> wt.Mechanism:
    """Bodies one after the other; every third joint is revolute, the others have constants of their own."""
    rng = np.random.default_rng(seed)
    m = wt.Mechanism(f"chain of {n}")
    last = m.ground
    for k in range(n):
        link = body(m, f"link {k}", k)
        axis = ("x", "y", "z")[k % 3]
        constants = (float(rng.uniform(0.1, 0.4)), float(rng.uniform(-0.3, 0.3)))
        if k % 3 == 2:
            m.revolute(f"joint {k}", last, link, at=(0.3, 0.1, 0.2), axis=axis)
        else:
            add(m, f"joint {k}", last, link, constants, at=(0.3, 0.1, 0.2), axis=axis)
        last = link
    return m


def loop(add: Add, *, redundant: bool) -> wt.Mechanism:
    """A nut on a shaft, kept by a slide along the same axis, or by a link that leaves it no more than it needs."""
    m = wt.Mechanism("nut on a shaft")
    shaft, nut = body(m, "shaft"), body(m, "nut", 3)
    m.revolute("bearing", m.ground, shaft)
    add(m, "cam", shaft, nut, (0.15, 0.06))
    if redundant:
        m.prismatic("slide", m.ground, nut)
    else:
        link = body(m, "link", 5)
        m.spherical("ball", nut, link, at=(0.4, 0, 0), at_child=(0, 0, 0.6))
        m.universal("foot", m.ground, link, at=(0.5, 0.1, -0.6))
    return m


GUESS = {"bearing": 0.7, "cam": -0.5}


def close(ours: Any, expected: Any, tolerance: float = 1e-9) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance * max(np.abs(expected).max(), 1e-3))


def moved(s: wt.System, speed: float = 1.3) -> tuple[Array, Array]:
    """A state in which the loops are closed."""
    q = s.q0
    return q, s.consistent_velocities(q, {"bearing": speed}, hold=["bearing"])


def by_joint(s: wt.System, column: Array, names: tuple[str, ...]) -> Array:
    return np.concatenate([column[s.v_slice(name)][:1] for name in names])


# ------------------------------------------------------------------ trees


def test_a_tree_moves_like_its_twin():
    one, twin = chain(4, as_one).build(), chain(4, as_twin).build()
    rng = np.random.default_rng(1)
    q, v, tau = rng.uniform(-2, 2, 4), rng.normal(size=4), rng.normal(size=4)
    Q, V, T = np.zeros(twin.nq), np.zeros(twin.nv), np.zeros(twin.nv)
    for k, use in enumerate(one.description.joints):
        where = twin.q_slice(use.name)
        c = use.joint.constants()
        Q[where] = [q[k], *((c[0] * q[k] + c[1] * np.sin(q[k]),) if c else ())]
        V[where] = [v[k], *(((c[0] + c[1] * np.cos(q[k])) * v[k],) if c else ())]
        T[where.start] = tau[k]
    a = one.forward_dynamics(q, v, tau)
    A = twin.forward_dynamics(Q, V, T)
    close(a, by_joint(twin, A, one.joint_names))
    for formulation in ("articulated", "composite"):
        close(one.forward_dynamics(q, v, tau, formulation=formulation), a)
    close(one.inverse_dynamics(q, v, a), tau)
    close(one.energy(q, v).kinetic, v @ one.mass_matrix(q) @ v / 2)
    close(one.energy(q, v).kinetic, twin.energy(Q, V).kinetic)


def test_a_reversed_joint_is_the_same_joint():
    m, n = wt.Mechanism("down"), wt.Mechanism("up")
    m.joint("cam", m.ground, body(m, "nut"), CamScrew(0.2, 0.1), axis="x")
    n.joint("cam", body(n, "nut"), n.ground, CamScrew(0.2, 0.1), axis="x")
    # seen from the nut, the ground turns and advances as the nut does seen from the ground, the other way
    s, t = m.build(), n.build()
    q, v = np.array([0.4]), np.array([1.1])
    close(t.pose(q, "nut") @ s.pose(q, "nut"), np.eye(4))
    a = t.forward_dynamics(q, v, [0.3])
    close(t.inverse_dynamics(q, v, a), [0.3])
    step = 1e-6
    rate = (t.energy(q + step * v, v + step * a).total - t.energy(q - step * v, v - step * a).total) / (2 * step)
    close(rate, v[0] * 0.3, 1e-6)


@pytest.mark.rest
def test_rolled_form_carries_every_constant():
    s = chain(LARGE, as_one).build()
    rng = np.random.default_rng(2)
    q, v, tau = rng.uniform(-2, 2, LARGE), rng.normal(size=LARGE), rng.normal(size=LARGE)
    straight = np.array(s.function("forward_dynamics", formulation="articulated")(q, v, tau)).ravel()
    for formulation in ("articulated", "composite"):
        a = s.forward_dynamics(q, v, tau, formulation=formulation)
        close(a, straight)
        close(s.inverse_dynamics(q, v, a), tau, 1e-8)
    same = chain(LARGE, lambda m, name, parent, child, _, **where: as_one(m, name, parent, child, (0.2, 0.1), **where))
    assert np.abs(same.build().forward_dynamics(q, v, tau) - a).max() > 0.1 * np.abs(a).max()


def test_constants_may_be_parameters():
    m = wt.Mechanism("open")
    p = m.parameter("advance", 0.2)
    m.joint("cam", m.ground, body(m, "nut"), CamScrew(p, 0.5 * p))
    given = wt.Mechanism("given")
    given.joint("cam", given.ground, body(given, "nut"), CamScrew(0.3, 0.15))
    q, v = np.array([0.4]), np.array([1.1])
    close(m.build().forward_dynamics(q, v, parameters={"advance": 0.3}), given.build().forward_dynamics(q, v))


def test_a_constant_that_will_not_do_is_refused():
    m = wt.Mechanism("m")
    nut = m.body("nut")
    with pytest.raises(wt.ModelError, match=r'joint "cam": advance must not be zero: a cam that only lifts has dead'):
        m.joint("cam", m.ground, nut, CamScrew(0.0))
    with pytest.raises(wt.ModelError, match=r'joint "cam": lift must be a number, got'):
        m.joint("cam", m.ground, nut, CamScrew(1.0, "high"))  # type: ignore[arg-type]
    with pytest.raises(wt.ModelError, match=r"joint must be an instance of a type of joint"):
        m.joint("cam", m.ground, nut, CamScrew)  # type: ignore[arg-type]


# ------------------------------------------------------------------ loops


@pytest.mark.rest
@pytest.mark.parametrize(
    ("cut", "redundant"), [("cam", False), ("cam", True), ("bearing", True), *deep([("bearing", False)])]
)
def test_all_formulations_agree_wherever_the_loop_is_cut(cut, redundant):
    twin = loop(as_twin, redundant=redundant).build(guess={"bearing": 0.7}, hold=["bearing"])
    one = loop(as_one, redundant=redundant).build(guess=GUESS, hold=["bearing"], cut=[cut])
    Q, V = moved(twin)
    q, v = moved(one)
    names = one.joint_names
    close(by_joint(one, v, ("bearing", "cam")), by_joint(twin, V, ("bearing", "cam")))
    tau, T = np.zeros(one.nv), np.zeros(twin.nv)
    for k, name in enumerate(("bearing", "cam")):
        tau[one.v_slice(name).start] = T[twin.v_slice(name).start] = 0.5 - k
    expected = by_joint(twin, twin.forward_dynamics(Q, V, T, formulation="tree_augmented"), names)
    for formulation in EXACT:
        a = one.forward_dynamics(q, v, tau, formulation=formulation)
        close(by_joint(one, a, names), expected)
        wrench = one.reactions(q, v, tau, formulation=formulation)["cam"]
        assert np.isfinite(wrench.force).all()
    assert one.mobility.mobility == twin.mobility.mobility == 1
    assert len(one.mobility.redundant) == (4 if redundant else 0)


@pytest.mark.rest
@pytest.mark.parametrize("cut", ["cam", *deep(["slide"])])
def test_many_loops_in_rolled_form(cut):
    m = wt.Mechanism("many nuts")
    guess = {}
    for k in range(30):
        shaft, nut = body(m, f"shaft {k}", k), body(m, f"nut {k}", k + 1)
        m.revolute(f"bearing {k}", m.ground, shaft, at=(k, 0, 0))
        m.joint(f"cam {k}", shaft, nut, CamScrew(0.1 + 0.01 * k, 0.05 - 0.002 * k))
        m.prismatic(f"slide {k}", m.ground, nut, at=(k, 0, 0))
        guess |= {f"bearing {k}": 0.1 + 0.02 * k}
    s = m.build(guess=guess, hold=[*guess], cut=[f"{cut} {k}" for k in range(30)])
    q = s.q0
    v = s.consistent_velocities(q, dict.fromkeys(guess, 1.0), hold=[*guess])
    tau = np.random.default_rng(0).normal(size=s.nv)
    a = s.forward_dynamics(q, v, tau, formulation="coordinate_reduction")
    expected = np.array(s.function("forward_dynamics", formulation="tree_augmented")(q, v, tau)).ravel()
    close(a, expected)


# ------------------------------------------------------------------ derivatives


def test_derivatives_of_inverse_dynamics_against_differences():
    s = chain(4, as_one).build()
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-2, 2, 4), rng.normal(size=4), rng.normal(size=4)
    slopes, h = s.inverse_dynamics_derivatives(q, v, a), 1e-6
    for k, e in enumerate(np.eye(4)):
        dq = (s.inverse_dynamics(q + h * e, v, a) - s.inverse_dynamics(q - h * e, v, a)) / (2 * h)
        dv = (s.inverse_dynamics(q, v + h * e, a) - s.inverse_dynamics(q, v - h * e, a)) / (2 * h)
        close(slopes.q[:, k], dq, 1e-6)
        close(slopes.v[:, k], dv, 1e-6)


def test_derivatives_of_forward_dynamics_against_differences():
    s = chain(4, as_one).build()
    rng = np.random.default_rng(4)
    q, v, tau = rng.uniform(-2, 2, 4), rng.normal(size=4), rng.normal(size=4)
    slopes, h = s.forward_dynamics_derivatives(q, v, tau), 1e-6
    for k, e in enumerate(np.eye(4)):
        dq = (s.forward_dynamics(q + h * e, v, tau) - s.forward_dynamics(q - h * e, v, tau)) / (2 * h)
        close(slopes.q[:, k], dq, 1e-6)


def test_implicit_methods_solve_loops_that_are_cut_there():
    s = loop(as_one, redundant=False).build(guess=GUESS, hold=["bearing"], cut=["cam"])
    q, v = moved(s)
    run = s.simulate(0.1, q=q, v=v, method="trapezoidal", step=1e-3)
    exact = s.simulate(0.1, q=q, v=v, tolerance=1e-10)
    close(run.q[-1], exact.q[-1], 1e-5)


# ------------------------------------------------------------------ files, pickles, cache, runs


def test_a_file_holds_it():
    m = wt.Mechanism("file")
    p = m.parameter("p", 0.2)
    m.joint("cam", m.ground, body(m, "nut"), CamScrew(p, 0.1), axis="x", at=(0, 1, 0))
    text = wt.model.io.write_text(m)
    assert "cam_screw: [ground, nut]" in text and "lift: 0.1" in text
    again = wt.read(text).mechanism
    assert again.describe() == m.describe()
    assert isinstance(again.describe().joint("cam").joint, CamScrew)


def test_a_file_is_checked_by_the_declaration():
    text = "name: m\nbodies: {nut: {mass: 1}}\njoints:\n  cam: {cam_screw: [ground, nut]%s}\n"
    with pytest.raises(wt.FileError, match=r'4:\d+: joint "cam": the key "advance" is missing'):
        wt.read(text % "")
    with pytest.raises(wt.FileError, match=r'4:\d+: joint "cam": advance must not be zero: a cam that'):
        wt.read(text % ", advance: 0")
    with pytest.raises(wt.FileError, match=r'there is no key "lead"'):
        wt.read(text % ", advance: 1, lead: 2")
    assert wt.read(text % ", advance: 0.5").mechanism.describe().joint("cam").joint == CamScrew(0.5, 0.0)


def test_words_are_not_given_twice():
    with pytest.raises(wt.ModelError, match=r'the word "revolute" stands for another type'):

        @wt.register
        @dataclass(frozen=True)
        class Another(CamScrew):
            kind: ClassVar[str] = "revolute"


def test_pickles():
    m = loop(as_one, redundant=False)
    again = pickle.loads(pickle.dumps(m)).describe()
    assert again == m.describe()
    assert again.joint("cam").joint == CamScrew(0.15, 0.06)
    s = m.build(guess=GUESS, hold=["bearing"])
    t = pickle.loads(pickle.dumps(s))
    q, v = moved(s)
    assert np.array_equal(s.forward_dynamics(q, v), t.forward_dynamics(q, v))


def test_the_second_build_finds_compiled_code_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path))
    q, v = np.array([0.3, 0.2]), np.array([0.5, -0.4])

    def files() -> set[Path]:
        return {path for path in tmp_path.rglob("*") if path.is_file()}

    a = chain(2, as_one).build().forward_dynamics(q, v)
    first = files()
    assert first
    assert np.array_equal(chain(2, as_one).build().forward_dynamics(q, v), a)
    assert files() == first
    # a type that computes something else under the same name does not find it
    monkeypatch.setattr(CamScrew, "joint_bias", lambda self, x, v: ca.SX.zeros(6))
    assert not np.array_equal(chain(2, as_one).build().forward_dynamics(q, v), a)


@pytest.mark.parametrize("cut", ["cam", "bearing"])
def test_a_run_keeps_its_energy_and_its_loop(cut):
    s = loop(as_one, redundant=False).build(guess=GUESS, hold=["bearing"], cut=[cut])
    q, v = moved(s)
    run = s.simulate(0.5, q=q, v=v, tolerance=1e-9)
    start, end = s.energy(q, v).total, s.energy(run.q[-1], run.v[-1]).total
    close(end, start, 1e-6)
    assert np.abs(s.closure_residual(run.q[-1])).max() < 1e-8
    close(run.q[-1][s.q_slice("bearing")], loop_reference(0.5), 1e-6)


def loop_reference(duration: float) -> Array:
    """The bearing's angle at the end, by the twin."""
    twin = loop(as_twin, redundant=False).build(guess={"bearing": 0.7}, hold=["bearing"])
    q, v = moved(twin)
    run = twin.simulate(duration, q=q, v=v, tolerance=1e-10)
    return run.q[-1][twin.q_slice("bearing")]
