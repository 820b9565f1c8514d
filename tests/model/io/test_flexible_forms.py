"""Flexible bodies in model files are those of the calls; what is wrong is told with its place."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt

HEAD = "name: m\nbodies:\n  link: "


def body(text: str, tmp_path):
    return wt.read(_file(text, tmp_path)).mechanism.describe().body("link").kind


def _file(text: str, tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(HEAD + text + "\n")
    return path


def test_beam(tmp_path) -> None:
    text = """{beam: {length: 2 * 0.5, section: {tube: {radius: 0.02, wall: 0.002}}, material: steel, elements: 6,
      modes: 3, interfaces: {mid: 0.5}, damping: 0.01, axis: z, attachment: tip, theory: timoshenko}}"""
    same = wt.beam(
        length=1.0,
        section=wt.tube(radius=0.02, wall=0.002),
        material=wt.steel,
        elements=6,
        modes=3,
        interfaces={"mid": 0.5},
        damping=0.01,
        axis="z",
        attachment="tip",
        theory="timoshenko",
    )
    assert body(text, tmp_path) == same


def test_tapered_and_curved_beam(tmp_path) -> None:
    text = """{beam: {stations: [[0, 0, 0], [1, 0, 0], [2, 0.5, 0]], section: [{circle: {radius: 0.02}},
      {rectangle: {width: 0.03, height: 0.02}}, {area: 1e-3, second_moment_y: 1e-8, second_moment_z: 1e-8,
      torsion_constant: 2e-8}],
      material: {density: 2000, youngs_modulus: 1e10}, modes: 2, damping: {mass: 1, stiffness: 1e-4}}}"""
    sections = [
        wt.circle(radius=0.02),
        wt.rectangle(width=0.03, height=0.02),
        wt.section(area=1e-3, second_moment_y=1e-8, second_moment_z=1e-8, torsion_constant=2e-8),
    ]
    same = wt.beam(
        stations=[[0, 0, 0], [1, 0, 0], [2, 0.5, 0]],
        section=sections,
        material=wt.Material(density=2000, youngs_modulus=1e10),
        modes=2,
        damping={"mass": 1, "stiffness": 1e-4},
    )
    assert body(text, tmp_path) == same


def test_substructures(tmp_path) -> None:
    path = _file("{beam: {length: 1, section: {circle: {radius: 0.01}}, material: steel, substructures: 2}}", tmp_path)
    found = wt.read(path).mechanism.describe()
    assert [each.name for each in found.bodies] == ["link.1", "link.2"]


def tetrapod() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Six nodes, a spring between every two of them."""
    nodes = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 1], [2, 0, 0], [2, 1, 0], [2, 0, 1.0]])
    K = np.zeros((18, 18))
    for i in range(6):
        for j in range(i):
            d = nodes[i] - nodes[j]
            k = 1e6 * np.outer(d, d) / (d @ d)
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                K[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * k
    return 5.0 * np.eye(18), K, nodes


FORM = """{flexible: {matrices: data/body.npz, modes: 2,
      interfaces: {left: [0, 1, 2], right: {nodes: [3, 4, 5], coupling: average}}}}"""


@pytest.mark.parametrize("full", [True, False])
def test_matrices_in_a_file_below_the_model(tmp_path, full: bool) -> None:
    M, K, nodes = tetrapod()
    (tmp_path / "data").mkdir()
    arrays = {"mass": M, "stiffness": K}
    if not full:
        arrays = {}
        for name, matrix in (("mass", M), ("stiffness", K)):
            i, j = np.nonzero(matrix)
            arrays |= {f"{name}_rows": i, f"{name}_columns": j, f"{name}_values": matrix[i, j]}
    np.savez(tmp_path / "data" / "body.npz", nodes=nodes, **arrays)
    same = wt.flexible(
        M, K, nodes, interfaces={"left": [0, 1, 2], "right": {"nodes": [3, 4, 5], "coupling": "average"}}, modes=2
    )
    assert body(FORM, tmp_path) == same


def test_standard_input_data(tmp_path) -> None:
    beam = wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2)
    wt.write_sid(beam, tmp_path / "beam.SID_FEM")
    assert body("{sid: beam.SID_FEM}", tmp_path) == wt.read_sid(tmp_path / "beam.SID_FEM")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{beam: {length: 1, material: steel}}", 'the key "section" is missing'),
        ("{beam: 3}", "beam must be a mapping"),
        ("{beam: {length: 1, section: {disc: {radius: 1}}, material: steel}}", "there is no key"),
        ("{beam: {length: 1, section: {circle: {radius: -1}}, material: steel}}", "radius must be positive"),
        ("{beam: {length: 1, section: {circle: {radius: 1}}, material: stell}}", 'there is no material "stell"'),
        ("{beam: {length: 1, section: {circle: {radius: 1}}, material: steel, modes: 900}}", "there are only 60"),
        ("{beam: {length: 1, section: {circle: {radius: 1}}, material: steel}, mass: 3}", 'does not go with "beam"'),
        ("{sid: none.SID_FEM}", 'there is no file "none.SID_FEM"'),
        ("{sid: ../none.SID_FEM}", "must be in the folder of the model"),
        ("{flexible: {interfaces: {left: [0]}}}", 'either "matrices", a file, or "abaqus"'),
        ("{flexible: {matrices: model.yaml, interfaces: {left: [0]}}}", "is no .npz file"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, text: str, message: str) -> None:
    with pytest.raises(wt.FileError) as caught:
        wt.read(_file(text, tmp_path))
    assert message in str(caught.value)
    assert "model.yaml:3" in str(caught.value)
    assert 'body "link"' in str(caught.value)


def test_pickled_arrays_are_refused(tmp_path) -> None:
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "body.npz", mass=np.array([{}], dtype=object), stiffness=np.eye(3), nodes=np.eye(3))
    with pytest.raises(wt.FileError, match=r"no \.npz file of plain arrays"):
        body(FORM, tmp_path)
