"""Flexible solids against beams. Skipped where the extra `fem` is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt

ENDS = {"root": "-x", "tip": "+x"}


def frequencies(body) -> np.ndarray:
    return np.sqrt(np.diag(body.arrays.array("stiffness"))) / (2 * np.pi)


@pytest.fixture
def fem() -> None:
    pytest.importorskip("skfem", reason='no solids tested: scikit-fem is not installed (the extra "fem")')


def test_a_solid_beam_has_the_frequencies_of_beam_theory(fem: None) -> None:
    body = wt.solid(
        {"box": (1.0, 0.02, 0.01), "elements": (20, 1, 1)}, wt.steel, interfaces=ENDS, reduction="eigenmodes", modes=3
    )
    beam = wt.beam(length=1.0, section=wt.rectangle(width=0.02, height=0.01), material=wt.steel, modes=3)
    assert np.abs(frequencies(body) / frequencies(beam) - 1).max() < 0.01


@pytest.mark.deep
def test_a_cylinder_has_the_frequencies_of_beam_theory(fem: None) -> None:
    body = wt.solid(
        {"cylinder": 0.02, "length": 1.0, "elements": (1, 10)},
        wt.steel,
        interfaces={"root": lambda x: x[:, 0] < 1e-9, "tip": "+x"},
        reduction="eigenmodes",
        modes=2,
    )
    beam = wt.beam(length=1.0, section=wt.circle(radius=0.02), material=wt.steel, modes=2)
    assert np.abs(frequencies(body) / frequencies(beam) - 1).max() < 0.01
    assert abs(body.arrays.array("mass")[0] / beam.arrays.array("mass")[0] - 1) < 0.005


@pytest.mark.rest
def test_stress_in_a_solid_beam(fem: None) -> None:
    """A cantilever under a force at its tip: M z / I along it, and a mean shear of F / A."""
    body = wt.solid({"box": (1.0, 0.05, 0.04), "elements": (12, 1, 1)}, wt.steel, interfaces=ENDS, modes=0, stress=True)
    m = wt.Mechanism("cantilever", gravity=(0, 0, 0))
    m.body("bar", body)
    m.fixed("clamp", m.ground, "bar.root")
    m.load("push", "bar.tip", force=(0, 0, -100.0))
    s = m.build()
    rest = s.equilibrium()
    found = wt.Trajectory(s, [0.0], rest.q[None], rest.v[None]).stress("bar")
    within = np.abs(found.positions[:, 0] - 0.5) < 0.3
    x, _, z = found.positions[within].T
    bending = 100.0 * (1 - x) * (z - 0.02) / (0.05 * 0.04**3 / 12)
    assert np.abs(found.values[0, within, 0] - bending).max() < 0.01 * bending.max()
    np.testing.assert_allclose(found.values[0, within, 5], -100.0 / (0.05 * 0.04), rtol=0.01)


@pytest.mark.parametrize(
    ("mesh", "interfaces", "message"),
    [
        (3, ENDS, "mesh must be a mesh in space"),
        ({"ball": 1}, ENDS, 'give {"box"'),
        ({"box": (1, 1), "elements": (1, 1)}, ENDS, "box must be 3 numbers"),
        ({"box": (1, 1, 1), "elements": 3}, ENDS, "elements must be 3 numbers"),
        ({"box": (1, 1, 1), "elements": (900, 900, 900)}, ENDS, "729000000 elements are more than 10000"),
        ({"box": (1, 1, 1), "elements": (1, 1, 1)}, {"root": lambda x: 3}, "must tell for each of the 27 nodes"),
        ({"box": (1, 1, -1), "elements": (1, 1, 1)}, ENDS, "box must be positive"),
        ("none.msh", ENDS, "cannot be read"),
        ({"box": (1, 1, 1), "elements": (1, 1, 1)}, {"root": "left"}, "must be a face"),
        ({"box": (1, 1, 1), "elements": (1, 1, 1)}, {"root": lambda x: x[:, 0] > 2}, "it has no nodes"),
        ({"box": (1, 1, 1), "elements": (1, 1, 1)}, None, "faces by name"),
    ],
)
def test_bad_solids_are_named(fem: None, mesh, interfaces, message: str) -> None:
    with pytest.raises(wt.ModelError) as caught:
        wt.solid(mesh, wt.steel, interfaces=interfaces)
    assert message in str(caught.value)


def test_a_mesh_file_that_its_library_ends_the_process_over_is_named(fem: None, tmp_path) -> None:
    path = tmp_path / "block.msh"
    path.write_text("$MeshFormat\nnonsense\n", encoding="utf-8")
    with pytest.raises(wt.ModelError, match=r"block\.msh cannot be read: .+"):
        wt.solid(path, wt.steel, interfaces=ENDS)


def test_material_is_asked_for_first() -> None:
    with pytest.raises(wt.ModelError, match="material must be a Material"):
        wt.solid({"box": (1, 1, 1), "elements": (1, 1, 1)}, "steel", interfaces=ENDS)


def test_a_mesh_library_that_exits_is_told_in_words(tmp_path) -> None:
    """The reader of mesh files ends the program at a name it does not know."""
    place = tmp_path / "block.nothing"
    place.write_text("no mesh", encoding="utf-8")
    with pytest.raises(wt.ModelError, match=r"block\.nothing cannot be read"):
        wt.solid(mesh=str(place), material=wt.steel, interfaces={}, modes=1)
