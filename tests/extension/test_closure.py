"""A closure type from outside the package: a pin in a bowl that is kept from twisting.

The origin of the second side stays on the paraboloid z = curvature (x^2 + y^2) / 2 of the first, and the x axis of the
second side stays normal to the y axis of the first. The twin is the same, written as an expression.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import EXACT
from whippletree.elements.closures import DeclaredClosure, Rows, Side, d1, quantity
from whippletree.spatial import cross, skew
from whippletree.spatial.scalars import Scalar

Array = np.ndarray


@wt.register
@dataclass(frozen=True, eq=False)
class Bowl(DeclaredClosure):
    """Two rows: on the paraboloid, and not twisted."""

    word: ClassVar[str] = "bowl"
    n_sides: ClassVar[int] = 2

    curvature: Scalar = quantity(unit="1/m", sign="not zero", why="a flat bowl is a plane")

    @property
    def labels(self) -> tuple[str, ...]:
        """What each row transmits."""
        return ("force normal to the bowl", "moment against twisting")

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return both rows, exact at any state."""
        near, far = sides
        d, e, c, back = far.p - near.p, far.u - near.u, self.curvature, near.R.T
        p, u = back @ d, back @ (e - cross(near.w, d))
        normal = ca.vertcat(-c * p[0], -c * p[1], 1).T @ back
        phi = p[2] - c * (p[0] ** 2 + p[1] ** 2) / 2
        bias = normal @ (cross(near.w, cross(near.w, d)) - 2 * cross(near.w, e)) - c * (u[0] ** 2 + u[1] ** 2)
        on_near, on_far = ca.horzcat(normal @ skew(d), -normal), ca.horzcat(ca.SX.zeros(1, 3), normal)
        on_bowl = Rows(phi, (on_near, on_far), ca.SX(1, 0), ca.SX.zeros(1), bias)
        return Rows.stacked([on_bowl, d1((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), sides)])


def hold(m: wt.Mechanism, name: str, curvature: Any) -> None:
    m.constraint(name, Bowl(curvature), on=["dish", ("pin", (0, 0, -0.2))])


def hold_twin(m: wt.Mechanism, name: str, curvature: Any) -> None:
    m.frame(f"{name} tip", on="pin", at=(0, 0, -0.2))
    R = m.rotation("dish")
    p = R.T @ (m.position(f"{name} tip") - m.position("dish"))
    twist = ca.dot(R[:, 1], m.rotation(f"{name} tip")[:, 0])
    m.closure(name, ca.vertcat(p[2] - curvature * (p[0] ** 2 + p[1] ** 2) / 2, twist))


def described(put: Any = hold, times: int = 1) -> wt.Mechanism:
    """A dish that tilts on a spring, and a pin in it on an arm of three joints."""
    m = wt.Mechanism("pin in a bowl")
    m.body("dish", wt.cylinder(radius=0.5, length=0.1, mass=3.0, at=(0.1, 0, 0)))
    m.universal("tilt", m.ground, "dish")
    arm = m.body("arm", wt.box((0.1, 0.2, 0.6), mass=1.0, at=(0, 0.1, 0)))
    m.body("pin", wt.cylinder(radius=0.05, length=0.4, mass=0.5, at=(0.02, 0, 0)))
    m.prismatic("lift", m.ground, arm, at=(0.1, 0.2, 0.5))
    m.spherical("wrist", arm, "pin")
    for index in range(2):
        m.torsion_spring(f"spring {index}", "tilt", stiffness=40.0, index=index)
    for k in range(times):
        put(m, f"bowl {k}", 1.5)
    return m


HELD = {"tilt": [0.1, -0.2]}


def close(ours: Any, expected: Any, tolerance: float = 1e-9) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance * max(np.abs(expected).max(), 1e-3))


def state(s: wt.System) -> tuple[Array, Array, Array]:
    q = s.q0
    rng = np.random.default_rng(0)
    return q, s.kernels.closures.motion_basis(q) @ rng.normal(size=s.mobility.mobility), rng.normal(size=s.nv)


def test_rows_are_exact_away_from_the_closure():
    """phi' and phi'' of the declared rows against those that CasADi finds for the twin."""
    one, twin = described().describe(), described(hold_twin).describe()
    rng = np.random.default_rng(1)
    sides = tuple(
        Side(*(ca.SX.sym(x, *n) for x, n in (("R", (3, 3)), ("p", (3,)), ("w", (3,)), ("u", (3,))))) for _ in "12"
    )
    inputs = [part for side in sides for part in side]
    none = ca.SX(0, 1)
    given = []
    for _ in sides:
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        given += [turn * np.linalg.det(turn), *rng.normal(size=(3, 3))]
    found = []
    for d in (one, twin):
        rows = d.closures[0].closure.rows(sides, none, none, ca.SX(0))
        f = ca.Function("rows", inputs, [ca.densify(x) for x in (rows.phi, rows.bias, *rows.D)])
        found.append(f.call(given))
    for ours, theirs in zip(*found, strict=True):
        close(ours.full(), theirs.full())


def test_all_formulations_agree_with_the_twin():
    one, twin = (described(put).build(guess=HELD, hold=["tilt"]) for put in (hold, hold_twin))
    close(one.q0, twin.q0)
    q, v, tau = state(one)
    expected = twin.forward_dynamics(q, v, tau, formulation="tree_augmented")
    for formulation in EXACT:
        close(one.forward_dynamics(q, v, tau, formulation=formulation), expected)
    forces, theirs = one.closure_forces(q, v, tau), twin.closure_forces(q, v, tau)
    close(forces["bowl 0"], theirs["bowl 0"])


def test_the_report_of_mobility():
    s = described().build(guess=HELD, hold=["tilt"])
    assert s.mobility.mobility == s.nv - 2 and not s.mobility.redundant
    twice = described(times=2).build(guess=HELD, hold=["tilt"])
    assert twice.mobility.mobility == s.mobility.mobility and len(twice.mobility.redundant) == 2
    labels = {redundancy.direction for redundancy in twice.mobility.redundant}
    assert labels == set(Bowl(1.5).labels)
    q, v, tau = state(s)
    close(twice.forward_dynamics(q, v, tau), s.forward_dynamics(q, v, tau))


def test_a_file_holds_it():
    m = described()
    text = wt.model.io.write_text(m)
    assert "bowl: [dish, pin]" in text and "curvature: 1.5" in text and "at_child: [0.0, 0.0, -0.2]" in text
    assert wt.read(text).mechanism.describe() == m.describe()
    with pytest.raises(wt.FileError, match=r'closure "bowl 0": curvature must not be zero: a flat bowl is a plane'):
        wt.read(text.replace("curvature: 1.5", "curvature: 0.0"))


def test_a_type_that_was_not_registered_is_not_written():
    @dataclass(frozen=True, eq=False)
    class Unknown(Bowl):
        word: ClassVar[str] = "unknown"

    m = described()
    m.constraint("other", Unknown(1.0), on=["dish", "pin"])
    with pytest.raises(wt.FileError, match=r'closure "other" is Unknown, which a file cannot hold: whipple'):
        wt.model.io.write_text(m)


def test_pickles():
    m = described()
    assert pickle.loads(pickle.dumps(m)).describe() == m.describe()


def test_a_run_stays_in_the_bowl_and_keeps_its_energy():
    s, twin = (described(put).build(guess=HELD, hold=["tilt"]) for put in (hold, hold_twin))
    run, other = (system.simulate(0.5, tolerance=1e-9) for system in (s, twin))
    close(run.q[-1], other.q[-1], 1e-6)
    assert np.abs(s.closure_residual(run.q[-1])).max() < 1e-8
    close(run.energy().total, run.energy().total[0], 1e-6)
