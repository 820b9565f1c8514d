"""Stresses of beams against closed forms: bending, tension, torsion, shear, and rotation."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest

FLAT, ROUND, PIPE = wt.rectangle(width=0.02, height=0.04), wt.circle(radius=0.01), wt.tube(radius=0.01, wall=0.002)
STATIC = {"length": 1.0, "material": wt.steel, "modes": 0, "attachment": True, "stress": True}
NUMBERS = {"area": 1e-4, "second_moment_y": 1e-9, "second_moment_z": 1e-9, "torsion_constant": 1e-9}
AXES = {"x": np.eye(3), "z": np.eye(3)[:, [2, 0, 1]], "-y": np.array([[0, 0, -1.0], [-1, 0, 0], [0, 1, 0]])}


def at_rest(body: wt.FlexibleBody, force=(0.0, 0.0, 0.0), moment=(0.0, 0.0, 0.0)):
    """The stresses of a cantilever under a load on its tip."""
    m = wt.Mechanism("cantilever", gravity=(0, 0, 0))
    m.body("bar", body)
    m.fixed("clamp", m.ground, "bar.root")
    m.load("push", "bar.tip", force=force, moment=moment)
    s = m.build()
    rest = s.equilibrium()
    return wt.Trajectory(s, [0.0], rest.q[None], rest.v[None]).stress("bar")


def along(found, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (P, 3), and stress tensors (P, 3, 3), in the axes of the section."""
    xx, yy, zz, xy, yz, zx = found.values[0].T
    tensors = np.moveaxis(np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]), -1, 0)
    return found.positions @ axes, axes.T @ tensors @ axes


@pytest.mark.parametrize("axis", [*list(AXES)[:1], *rest(list(AXES)[1:])])
@pytest.mark.parametrize("section", [FLAT, ROUND, PIPE])
def test_bending_by_a_force_at_the_tip(section, axis: str) -> None:
    F, A, I_y, I_z = np.array([0.0, -3e-3, 2e-3]), section.area, section.second_moment_y, section.second_moment_z
    axes = AXES[axis]
    (x, y, z), S = (each.T for each in along(at_rest(wt.beam(section=section, axis=axis, **STATIC), axes @ F), axes))
    bending = -(1 - x) * (F[2] * z / I_y + F[1] * y / I_z)
    scale = np.abs(bending).max()
    assert np.abs(S[0, 0] - bending).max() < 1e-5 * scale
    assert np.abs(S[1:, 1:]).max() < 1e-10 * scale
    if section is FLAT:
        for i, across in ((1, z), (2, y)):
            middle = np.abs(across) > 1e-9
            middle &= np.abs((y, z)[i - 1]) < 1e-9
            np.testing.assert_allclose(S[0, i][middle], 1.5 * F[i] / A, rtol=1e-4)
            assert np.abs(S[0, i][~middle]).max() < 1e-4 * abs(F[i]) / A
    else:  # the stress across Q, where the fibres are farthest beside it
        inner = 0.0 if section is ROUND else 0.008
        factor = 4 / 3 * (0.01**2 + 0.01 * inner + inner**2) / (0.01**2 + inner**2)
        top = np.abs(y) < 1e-9
        np.testing.assert_allclose(S[0, 1][top], factor * F[1] / A, rtol=1e-4)
        assert np.abs(S[0, 1] * y + S[0, 2] * z).max() < 1e-9 * scale * 0.01  # nothing across the free surface


@pytest.mark.parametrize("section", [FLAT, ROUND, PIPE])
def test_tension(section) -> None:
    found = at_rest(wt.beam(section=section, **STATIC), (100.0, 0, 0))
    np.testing.assert_allclose(found.values[0, :, 0], 100.0 / section.area, rtol=1e-9)
    np.testing.assert_allclose(found.von_mises[0], 100.0 / section.area, rtol=1e-9)


@pytest.mark.parametrize("section", [ROUND, PIPE])
def test_torsion_of_round_sections(section) -> None:
    found = at_rest(wt.beam(section=section, **STATIC), moment=(2.0, 0, 0))
    np.testing.assert_allclose(found.von_mises[0], np.sqrt(3) * 2.0 * 0.01 / section.torsion_constant, rtol=1e-9)
    _, y, z = found.positions.T
    assert np.all(found.values[0, :, 5] * y - found.values[0, :, 3] * z > 0)  # the way the torque turns


@pytest.mark.parametrize(
    ("ratio", "largest", "short_side"),  # Timoshenko and Goodier's k_2; Roark's ratio of the two sides' middles
    [(1.0, 0.208, 1.0), (1.5, 0.231, 0.859), (2.0, 0.246, 0.795), (3.0, 0.267, 0.753), (10.0, 0.312, 0.743)],
)
@pytest.mark.parametrize("tall", [True, *rest([False])])
def test_torsion_of_rectangles(ratio: float, largest: float, short_side: float, tall: bool) -> None:
    a, b = 0.01, 0.01 * ratio
    section = wt.rectangle(width=a, height=b) if tall else wt.rectangle(width=b, height=a)
    found = at_rest(wt.beam(section=section, **STATIC), moment=(1.0, 0, 0))
    shear = np.hypot(found.values[0, :8, 3], found.values[0, :8, 5])
    assert np.abs(shear[:4]).max() < 1e-9 * shear.max()  # corners
    long, short = (shear[4:6], shear[6:8]) if tall else (shear[6:8], shear[4:6])
    np.testing.assert_allclose(long, 1.0 / (largest * b * a**2), rtol=3e-3)
    np.testing.assert_allclose(short / long, short_side, rtol=3e-3)


@pytest.mark.rest
def test_a_rotating_beam_is_stretched_by_its_own_mass() -> None:
    """rho w^2 (L^2 - x^2) / 2, with an error that falls with the square of the elements' length."""
    w, errors = 20.0, []
    for elements in (2, 4):
        rod = {"length": 1.0, "material": wt.steel, "section": FLAT}
        body = wt.beam(**rod, elements=elements, modes="nodal", stiffening=False, stress=True)
        m = wt.Mechanism("rotor", gravity=(0, 0, 0))
        m.revolute("hub", m.ground, m.body("rod", body), axis="z")
        s = m.build()
        steady = s.equilibrium(speeds={"hub": w})
        found = wt.Trajectory(s, [0.0], steady.q[None], steady.v[None]).stress("rod")
        x = found.positions[:, 0]
        wanted = wt.steel.density * w**2 * (1 - x**2) / 2
        inner = x < 1 - 1e-9  # at the free end it is that of the last element
        errors.append(np.abs(found.values[0, inner, 0] - wanted[inner]).max() / wanted.max())
    np.testing.assert_allclose(errors, [1 / 12, 1 / 48], rtol=0.01)  # a third of the square


def test_sections_by_numbers_have_the_fibres_that_are_given() -> None:
    corners = [(y, z) for y in (-0.01, 0.01) for z in (-0.02, 0.02)]
    names = ("area", "second_moment_y", "second_moment_z", "torsion_constant")
    numbers = {name: getattr(FLAT, name) for name in names}
    own = wt.section(**numbers, fibres=corners, torsion_modulus=4e-6)
    found = at_rest(wt.beam(section=own, **STATIC), (5.0, 1.0, 2.0))
    wanted = at_rest(wt.beam(section=FLAT, **STATIC), (5.0, 1.0, 2.0)).values.reshape(-1, 8, 6)[:, :4]
    np.testing.assert_allclose(found.values.reshape(-1, 4, 6)[..., 0], wanted[..., 0], rtol=1e-12)
    turned = at_rest(wt.beam(section=own, **STATIC), moment=(3.0, 0, 0))
    np.testing.assert_allclose(turned.von_mises, np.sqrt(3) * 3.0 / 4e-6, rtol=1e-9)


def test_tapered_beams_and_substructures_have_stresses() -> None:
    thick, thin = wt.rectangle(width=0.02, height=0.04), wt.rectangle(width=0.02, height=0.02)
    found = at_rest(wt.beam(section=[thick, thin], elements=20, **STATIC), (0, 0, 1.0))
    largest = 1.0 * 0.02 / thick.second_moment_y
    assert np.abs(found.values[0, :, 0]).max() == pytest.approx(largest, rel=0.01)
    m = wt.Mechanism("chain", gravity=(0, 0, 0))
    m.body("bar", wt.beam(section=ROUND, length=1.0, material=wt.steel, substructures=2, stress=True))
    m.fixed("clamp", m.ground, "bar")
    m.load("push", "bar.tip", force=(0, 0, 1.0))
    s = m.build()
    rest = s.equilibrium()
    run = wt.Trajectory(s, [0.0], rest.q[None], rest.v[None])
    for part, arm in (("bar.1", 1.0), ("bar.2", 0.5)):
        root = run.stress(part).values[0, :24, 0]
        assert root.max() == pytest.approx(arm * 0.01 / ROUND.second_moment_y, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"section": wt.section(area=1e-4, second_moment_y=1e-9, second_moment_z=1e-9, torsion_constant=1e-9)},
            "fibres=",
        ),
        ({"section": [FLAT, ROUND]}, "sections of one kind"),
        ({"stress": 3}, "stress="),
        ({"elements": 60}, "would take 52704 numbers, more than 20000"),
    ],
)
def test_beams_without_known_stresses_are_refused(change: dict, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whippletree.flexible_bodies.beams.MOST_STRESS_NUMBERS", 20_000)
    with pytest.raises(wt.WhippletreeError) as caught:
        wt.beam(**STATIC | {"section": ROUND} | change)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"fibres": [(0.1, 0.1)]},
        {"torsion_modulus": 1.0},
        {"fibres": [], "torsion_modulus": 1.0},
        {"fibres": [(1, 2, 3)], "torsion_modulus": 1.0},
        {"fibres": "corners", "torsion_modulus": 1.0},
        {"fibres": [(np.nan, 1.0)], "torsion_modulus": 1.0},
        {"fibres": [(0.1, 0.1)], "torsion_modulus": -1.0},
    ],
)
def test_wrong_fibres_are_refused(change: dict) -> None:
    with pytest.raises(wt.ModelError, match="section: "):
        wt.section(**NUMBERS, **change)
