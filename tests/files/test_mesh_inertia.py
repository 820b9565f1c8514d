"""Inertias from shapes and meshes: closed forms, MuJoCo, and what is told about meshes that enclose nothing."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.bodies import Shape
from whippletree.files.mesh_inertia import mesh_volume
from whippletree.files.neutral_model import Remarks
from whippletree.files.shape_inertias import shape_properties

CORNERS = np.array([*itertools.product((0.0, 1.0), repeat=3)])
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = np.array([[CORNERS[a], CORNERS[b], CORNERS[c]] for q in QUADS for a, b, c in (q[:3], (q[0], *q[2:]))])
SIZE, AT = np.array([0.3, 0.4, 0.5]), np.array([0.1, -0.2, 0.7])
BRICK = CUBE * SIZE + AT


def stl(triangles: np.ndarray, *, text: bool = False) -> bytes:
    if text:
        rows = ("".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in t.tolist()) for t in triangles)
        return ("solid\n" + "".join(f"facet normal 0 0 0\nouter loop\n{r}endloop\nendfacet\n" for r in rows)).encode()
    data = np.zeros(len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    data["corners"] = triangles
    return bytes(80) + np.uint32(len(triangles)).tobytes() + data.tobytes()


def obj() -> bytes:
    points = "".join("v {} {} {}\n".format(*p) for p in (CORNERS * SIZE + AT).tolist())
    return (points + "".join("f {} {} {} {}\n".format(*(k + 1 for k in q)) for q in QUADS)).encode()


def test_a_box() -> None:
    found = mesh_volume(BRICK).of_density(2000.0)
    other = wt.box(SIZE, density=2000.0, at=AT + SIZE / 2)
    assert found.mass == pytest.approx(other.mass, rel=1e-14)
    np.testing.assert_allclose(found.com, other.com, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.inertia, other.inertia, rtol=1e-13, atol=1e-13)


def test_a_tetrahedron_anywhere() -> None:
    """Its second moments about the centre are V / 20 times the sum of squares of its corners' vectors from there."""
    corners = np.random.default_rng(4).normal(size=(4, 3)) + 10.0
    faces = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    volume = np.linalg.det(corners[1:] - corners[0]) / 6
    found = mesh_volume(faces)
    assert found.turned == (volume < 0)
    assert found.volume == pytest.approx(abs(volume), rel=1e-12)
    middle = corners.mean(axis=0)
    np.testing.assert_allclose(found.centre, middle, rtol=1e-13)
    arms = corners - middle
    np.testing.assert_allclose(found.moments, abs(volume) / 20 * arms.T @ arms, rtol=1e-9)


def ball(halvings: int) -> np.ndarray:
    """An octahedron whose triangles are cut in four, again and again, with corners on the unit sphere."""
    e = np.eye(3)
    triangles = []
    for x, y, z in itertools.product((1, -1), repeat=3):
        one = [x * e[0], y * e[1], z * e[2]]
        triangles.append(one if x * y * z > 0 else one[::-1])
    found = np.array(triangles)
    for _ in range(halvings):
        a, b, c = np.moveaxis(found, 1, 0)
        ab, bc, ca = a + b, b + c, c + a
        found = np.concatenate([np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        found = found / np.linalg.norm(found, axis=2, keepdims=True)
    return found


def test_a_sphere_of_ever_smaller_triangles() -> None:
    exact = wt.sphere(1.0, density=1.0)
    errors = []
    for n in (3, 4, 5):
        found = mesh_volume(ball(n)).of_density(1.0)
        np.testing.assert_allclose(found.com, 0.0, atol=1e-14)
        errors.append([1 - found.mass / exact.mass, 1 - found.inertia[0][0] / exact.inertia[0][0]])
    assert errors[-1][0] < 2e-3
    np.testing.assert_allclose(np.array(errors[1:]) / errors[:-1], 0.25, rtol=0.05)  # of second order


def test_a_capsule_by_sums_over_points() -> None:
    found = shape_properties(Shape("capsule", (0.2, 0.5)), 1000.0, None, Remarks())
    z, dz = np.linspace(-0.45, 0.45, 200_001, retstep=True)
    r2 = 0.04 - np.maximum(np.abs(z) - 0.25, 0.0) ** 2
    area = np.pi * r2
    assert found.mass == pytest.approx(1000 * area.sum() * dz, rel=1e-8)
    assert found.inertia[2][2] == pytest.approx(1000 * (area * r2 / 2).sum() * dz, rel=1e-8)
    assert found.inertia[0][0] == pytest.approx(1000 * (area * (r2 / 4 + z * z)).sum() * dz, rel=1e-8)


def test_meshes_that_enclose_nothing_are_told_in_words() -> None:
    with pytest.raises(ValueError, match="it is open: 3 of its 18 edges have no triangle on their other side"):
        mesh_volume(BRICK[:-1])
    turned = BRICK.copy()
    turned[0] = turned[0, ::-1]
    with pytest.raises(ValueError, match="not oriented alike: across 3 of its 18 edges"):
        mesh_volume(turned)
    with pytest.raises(ValueError, match="encloses no volume"):
        mesh_volume(np.concatenate([BRICK[:1], BRICK[:1, ::-1]]))
    whole, inside_out = mesh_volume(BRICK), mesh_volume(BRICK[:, ::-1])
    assert not whole.turned
    assert inside_out.turned
    np.testing.assert_allclose(inside_out.moments, whole.moments, rtol=1e-13, atol=1e-17)
    rounded = BRICK + np.random.default_rng(1).normal(size=BRICK.shape) * 1e-9  # corners that are written differently
    assert mesh_volume(rounded).volume == pytest.approx(whole.volume, rel=1e-6)


# ---------------------------------------------------------------------- in files

SDF = """<sdf version="1.11"><model name="m">
<link name="stone"><inertial auto="true">{more}</inertial>
<collision name="c"><pose>0 0 1 0 0 1.5707963267948966</pose><density>500</density>
<geometry><mesh><uri>{uri}</uri><scale>2 1 1</scale></mesh></geometry></collision>
<collision name="d"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>
</link></model></sdf>"""


@pytest.mark.parametrize("name", ["a.stl", "b.STL", "c.obj"])
def test_inertia_of_sdf_from_its_collisions(name: str, tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    data = obj() if name.endswith("obj") else stl(BRICK, text=name == "a.stl")
    (tmp_path / "meshes" / name).write_bytes(data)
    path = tmp_path / "m.sdf"
    path.write_text(SDF.format(uri=f"model://m/meshes/{name}", more=""), encoding="utf-8")
    model = wt.read(path)
    found = model.mechanism.describe().body("stone").properties
    R = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    brick = wt.box(SIZE * [2, 1, 1], density=500.0, at=(AT + SIZE / 2) * [2, 1, 1]).moved(at=(0, 0, 1), rotation=R)
    other = brick + wt.sphere(0.1, density=1000.0)
    digits = 1e-6 if name == "b.STL" else 1e-13
    assert found.mass == pytest.approx(other.mass, rel=digits)
    np.testing.assert_allclose(found.com, other.com, rtol=digits, atol=digits)
    np.testing.assert_allclose(found.inertia, other.inertia, rtol=digits, atol=digits)
    mesh, _ = found.shapes
    assert (mesh.kind, mesh.file) == ("mesh", str(tmp_path / "meshes" / name))  # pictures find it
    assert model.shapes["stone"][0].file == f"model://m/meshes/{name}"
    path.write_text(SDF.format(uri=f"meshes/{name}", more="<mass>7</mass>"), encoding="utf-8")
    heavy = wt.read(path).mechanism.describe().body("stone").properties
    np.testing.assert_allclose(heavy.inertia, np.array(found.inertia) * 7 / found.mass, rtol=1e-12, atol=1e-14)


def test_a_missing_or_open_mesh_is_named_with_its_link(tmp_path: Path) -> None:
    path = tmp_path / "m.sdf"
    path.write_text(SDF.format(uri="a.stl", more=""), encoding="utf-8")
    with pytest.raises(
        wt.FileError, match=r'm.sdf:3: the inertia of link "stone" follows from the mesh a.stl, which is '
    ):
        wt.read(path)
    (tmp_path / "a.stl").write_bytes(stl(BRICK[1:]))
    with pytest.raises(wt.FileError, match=r'link "stone" follows from the mesh a.stl: it is open: 3 of its'):
        wt.read(path)
    (tmp_path / "a.stl").write_bytes(stl(BRICK[:, ::-1]))
    assert "the mesh a.stl is inside out" in str(wt.read(path).report)
    (tmp_path / "a.stl").write_bytes(b"solid nothing")
    with pytest.raises(wt.FileError, match=r"the mesh a.stl: it has no triangles"):
        wt.read(path)


def test_inertia_of_mjcf_from_a_mesh(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "brick.stl").write_bytes(stl(BRICK))
    path = tmp_path / "m.xml"
    path.write_text(
        """<mujoco><asset><mesh name="b" file="brick.stl"/></asset><worldbody><body name="stone" pos="0 0 1">
<freejoint/><geom type="mesh" mesh="b" density="800"/></body></worldbody></mujoco>""",
        encoding="utf-8",
    )
    model = wt.read(path)
    found = model.mechanism.describe().body("stone").properties
    other = wt.box(SIZE, density=800.0, at=AT + SIZE / 2)
    np.testing.assert_allclose(found.com, other.com, rtol=1e-6)
    np.testing.assert_allclose(found.inertia, other.inertia, rtol=1e-6, atol=1e-9)
    (mesh,) = model.shapes["stone"]
    assert (mesh.kind, Path(mesh.file).name) == ("mesh", "brick.stl")
    np.testing.assert_allclose(mesh.placement.point, 0.0, atol=1e-6)  # although MuJoCo moves meshes to their centres
    np.testing.assert_allclose(mesh.placement.rotation, np.eye(3), atol=1e-6)


def test_inertia_of_usd_from_colliders(tmp_path: Path) -> None:
    if importlib.util.find_spec("pxr") is None:
        pytest.skip("usd-core is not installed")
    points = ", ".join(str(tuple(float(x) for x in p)) for p in (CORNERS * SIZE + AT))
    faces = ", ".join(str(k) for q in QUADS for k in q)
    text = f"""#usda 1.0
( metersPerUnit = 0.1
  upAxis = "Z" )
def Xform "stone" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    float physics:density = 0.5
    double3 xformOp:translate = (1, 2, 3)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Mesh "brick" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {{
        point3f[] points = [{points}]
        int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
        int[] faceVertexIndices = [{faces}]
        float3 xformOp:scale = (2, 1, 1)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }}
    def Capsule "pin" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])
    {{
        double radius = 0.2
        double height = 0.5
        uniform token axis = "X"
        float physics:mass = 3
        double3 xformOp:translate = (0, 0, 1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }}
}}"""
    path = tmp_path / "m.usda"
    path.write_text(text, encoding="utf-8")
    model = wt.read(path)
    found = model.mechanism.describe().body("stone").properties
    factor = np.array([2.0, 1.0, 1.0]) * 0.1
    brick = wt.box(SIZE * factor, density=500.0, at=(AT + SIZE / 2) * factor)
    turned = [[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]]
    pin = shape_properties(Shape("capsule", (0.02, 0.05)), 1.0, None, Remarks())
    pin = wt.MassProperties.as_given(3.0, inertia=np.array(pin.inertia) * 3.0 / pin.mass)
    other = brick + pin.moved(at=(0, 0, 0.1), rotation=turned)
    assert found.mass == pytest.approx(other.mass, rel=1e-6)
    np.testing.assert_allclose(found.com, other.com, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.inertia, other.inertia, rtol=1e-6, atol=1e-9)
    assert [shape.kind for shape in model.shapes["stone"]] == ["capsule"]
    path.write_text(
        text.replace("[4, 4, 4, 4, 4, 4]", "[4, 4, 4, 4, 4]").replace(", 1, 5, 7, 3]", "]"), encoding="utf-8"
    )
    with pytest.raises(wt.FileError, match='the inertia of body "stone" follows from brick: it is open'):
        wt.read(path)
