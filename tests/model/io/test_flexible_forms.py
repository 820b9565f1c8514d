"""Flexible bodies in model files are those of the calls; what is wrong is told with its place."""

from __future__ import annotations

import re

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


def test_beam_with_stresses(tmp_path) -> None:
    text = """{beam: {length: 1, section: {area: 1e-3, second_moment_y: 1e-8, second_moment_z: 2e-8,
      torsion_constant: 2e-8, fibres: [[0.01, 0], [0, -0.02]], torsion_modulus: 1e-6},
      material: steel, modes: 2, stress: true}}"""
    numbers = {"area": 1e-3, "second_moment_y": 1e-8, "second_moment_z": 2e-8, "torsion_constant": 2e-8}
    own = wt.section(**numbers, fibres=[(0.01, 0.0), (0.0, -0.02)], torsion_modulus=1e-6)
    same = wt.beam(length=1.0, section=own, material=wt.steel, modes=2, stress=True)
    found = body(text, tmp_path)
    assert found == same
    np.testing.assert_array_equal(found.drawn.array("stress"), same.drawn.array("stress"))


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


def arm() -> wt.Mechanism:
    """A spring that is described before its flexible bodies, one of them in substructures, two of them the same."""
    m = wt.Mechanism("arm")
    hub = m.body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("turn", m.ground, hub)
    m.torsion_spring("return", "turn", stiffness=3.0)
    M, K, nodes = tetrapod()
    sets = {"left": [0, 1, 2], "right": [3, 4, 5]}
    bar = wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2, mass="lumped", elements=3)
    for name in ("upper", "lower bar"):
        m.revolute(f"{name} hinge", hub, m.body(name, bar), axis="y")
    long = m.body("long", wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, substructures=2))
    m.fixed("weld", "upper.tip", long)
    m.fixed("end", "long.tip", m.body("frame", wt.flexible(M, K, nodes, interfaces=sets, modes=0)))
    m.actuator("push", "turn", effort=2.0 * m.coordinate("upper", 1))
    return m


def test_what_is_written_is_read_back(tmp_path) -> None:
    m = arm()
    model = wt.Model(m, start={"guess": {"upper": [1e-3, 0.0]}})
    wt.write(model, tmp_path / "arm.yaml")
    again = wt.read(tmp_path / "arm.yaml")
    assert again.mechanism.describe() == m.describe()
    assert dict(again.start) == dict(model.start)
    files = sorted(path.name for path in tmp_path.iterdir())
    archives = [f"arm.{body}.{CONTENT}.npz" for body in ("frame", "long-1", "long-2", "upper")]
    assert [re.sub(r"\.[0-9a-f]{12}\.", f".{CONTENT}.", name) for name in files] == [*archives, "arm.yaml"]


def test_archives_of_earlier_versions_go_when_no_model_names_them(tmp_path) -> None:
    def written(radius: float) -> set[str]:
        m = wt.Mechanism("m")
        m.body("link", wt.beam(length=1.0, section=wt.circle(radius=radius), material=wt.steel, modes=2, elements=2))
        wt.write(m, tmp_path / "model.yaml")
        assert wt.read(tmp_path / "model.yaml").mechanism.describe() == m.describe()
        return {path.name for path in tmp_path.glob("*.npz")}

    first = written(0.01)
    assert written(0.01) == first and len(first) == 1
    second = written(0.02)
    assert len(second) == 1 and second != first
    (tmp_path / "copy.yaml").write_bytes((tmp_path / "model.yaml").read_bytes())
    assert second < written(0.03)  # a copy names it still


CONTENT = "0123456789ab"


def stored_body(tmp_path, **changes) -> None:
    m = wt.Mechanism("m")
    m.body("link", wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2, elements=2))
    wt.write(m, tmp_path / "model.yaml")
    (archive,) = tmp_path.glob("model.link.*.npz")
    with np.load(archive) as stored:
        arrays = {**stored, **changes}
    kept = {name: array for name, array in arrays.items() if array is not None}
    np.savez(archive, **kept)
    wt.read(tmp_path / "model.yaml")


BAD_ARRAYS = [
    ({"body/y1": None}, '.npz: the array "body/y1" is missing'),
    ({"body/y1": np.ones((3, 2))}, 'the array "body/y1" must have the shape (18, 2)'),
    ({"body/stiffness": np.diag([np.nan, 1.0])}, '"body/stiffness" has entries that are not finite'),
    ({"body/stiffness": np.diag([-1.0, 1.0])}, "stiffness is indefinite"),
    ({"body/stiffness": np.array([[1.0, 0.5], [0.0, 1.0]])}, "stiffness is not symmetric"),
    ({"body/mass": np.array([-1.0])}, "size and mass must be positive"),
    ({"body/else": np.ones(3)}, '"body/else" is not one of a flexible body'),
    ({"drawn/else": np.ones(3)}, "there are no stations of"),
    ({"drawn/positions": np.ones((3, 2))}, "stations: positions must have the shape (3, 3)"),
    ({"outline": np.zeros(2, dtype=np.uint8)}, 'the array "outline" is missing, or is not the text'),
    ({"outline": np.array([{}], dtype=object)}, "no .npz file of plain arrays"),
    ({"size": np.zeros(1)}, "size and mass must be positive"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_ARRAYS)
def test_stored_bodies_are_checked(tmp_path, changes: dict, message: str) -> None:
    with pytest.raises(wt.FileError) as caught:
        stored_body(tmp_path, **changes)
    assert message in str(caught.value)
    assert 'body "link"' in str(caught.value)


def test_archives_that_claim_more_than_they_hold_are_refused(tmp_path) -> None:
    import io
    import zipfile

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})
    (tmp_path / "data").mkdir()
    with zipfile.ZipFile(tmp_path / "data" / "body.npz", "w") as archive:
        archive.writestr("mass.npy", header.getvalue())
    with pytest.raises(wt.FileError, match="not as large as it says"):
        body(FORM, tmp_path)


def test_sparse_entries_beyond_the_nodes_are_refused(tmp_path) -> None:
    (tmp_path / "data").mkdir()
    far = {"rows": [0, 10**15], "columns": [0, 10**15], "values": [1.0, 1.0]}
    arrays = {f"{name}_{key}": np.array(value) for name in ("mass", "stiffness") for key, value in far.items()}
    np.savez(tmp_path / "data" / "body.npz", nodes=np.eye(3), **arrays)
    with pytest.raises(wt.FileError, match="there is an entry at 1000000000000000, but the nodes have 18"):
        body(FORM, tmp_path)


def test_solids(tmp_path) -> None:
    pytest.importorskip("skfem")
    text = """{solid: {box: [1, 0.1, 0.1], elements: [2, 1, 1], material: steel, modes: 1,
      interfaces: {root: -x, tip: +x}}}"""
    shape = {"box": (1, 0.1, 0.1), "elements": (2, 1, 1)}
    assert body(text, tmp_path) == wt.solid(shape, wt.steel, interfaces={"root": "-x", "tip": "+x"}, modes=1)
    with pytest.raises(wt.FileError, match=r"must be a mesh that ends in \.msh"):
        (tmp_path / "part.pkl").write_text("")
        body("{solid: {mesh: part.pkl, material: steel, interfaces: {root: -x}}}", tmp_path)


def test_text_alone_holds_a_flexible_body_too() -> None:
    from whippletree.model.io import write_text

    m = arm()
    text = write_text(m)
    assert wt.read(text).mechanism.describe() == m.describe()
    with pytest.raises(wt.FileError, match="archive must be the base64 text"):
        wt.read("name: m\nbodies: {link: {modal: {archive: '*'}}}\n")
    with pytest.raises(wt.FileError, match=r"archive is no \.npz file of plain arrays"):
        wt.read("name: m\nbodies: {link: {modal: {archive: abcd}}}\n")


def test_saved_runs_hold_their_flexible_bodies(tmp_path) -> None:
    from whippletree.results.example_runs import nodding

    nodding().save(tmp_path / "run.nc")
    again = wt.Trajectory.load(tmp_path / "run.nc")
    assert np.array_equal(again.deformation("head").largest, nodding().deformation("head").largest)
