"""What is written: pages, glTF, PNG and GIF; each is read by means of its own."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
from base64 import b64decode, b64encode
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import whippletree as wt
from whippletree.cli import main
from whippletree.system.example_systems import four_bar
from whippletree.viewer.picture_files import png
from whippletree.viewer.rasterizer import View2D
from whippletree.viewer.scene_data import unpack
from whippletree.viewer.scenes import still_scene

PAGE = Path(wt.__file__).parent / "viewer" / "page"
EVIL = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><b>',
    "a & b",
    "{{script}}",
    "'; --",
    "]]>",
]


class Parsed(HTMLParser):
    """The elements of a page with their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(("", {}, []))  # what follows belongs to none

    def handle_data(self, data: str) -> None:
        if self.elements:
            self.elements[-1][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(texts)) for name, attributes, texts in self.elements if name == tag]


def evil() -> wt.Mechanism:
    m = wt.Mechanism(EVIL[0])
    at = m.ground
    for k, name in enumerate(EVIL):
        body = m.body(name + " body", wt.rod(length=1.0, mass=1.0))
        m.revolute(name + " joint", at, body, at=(float(k > 0), 0, 0), axis="y")
        m.frame(name + " frame", on=body)
        at = body
    return m


@pytest.fixture(scope="module")
def run() -> wt.Trajectory:
    return four_bar().simulate(1.0, every=0.05)


# ---------------------------------------------------------------------- the page


def test_names_of_strangers_never_become_script(tmp_path: Path) -> None:
    path = tmp_path / "evil.html"
    evil().show(path)
    text = path.read_text(encoding="utf-8")
    parsed = Parsed(text)
    kinds = [attributes.get("type") for attributes, _ in parsed.all("script")]
    assert kinds == ["application/json", "text/plain", None]
    assert not parsed.all("img")
    assert not parsed.all("b")
    scene = json.loads(parsed.all("script")[0][1])
    assert scene["title"] == EVIL[0]
    assert [joint[0] for joint in scene["joints"]] == [name + " joint" for name in EVIL]
    assert parsed.all("title")[0][1] == EVIL[0]
    assert parsed.all("script")[2][1] == (PAGE / "viewer.bundle.js").read_text(encoding="utf-8")
    # and the frame in a notebook holds the whole page as one attribute
    frame, _ = Parsed(evil().build().show(None, tmp_path / "b.html")._repr_html_()).elements
    assert frame[0] == "iframe"
    assert frame[1]["srcdoc"] == (tmp_path / "b.html").read_text(encoding="utf-8")
    assert frame[1]["sandbox"] == "allow-scripts"


def test_a_page_asks_for_nothing_and_runs_only_its_own_script(run: wt.Trajectory, tmp_path: Path) -> None:
    run.animate(tmp_path / "run.html")
    parsed = Parsed((tmp_path / "run.html").read_text(encoding="utf-8"))
    for _, attributes, _ in parsed.elements:
        assert not {"src", "href", "srcset", "action", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    policies = [a["content"] for a, _ in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in str(policies[0]).split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'none'"
    for name, text in (("script-src", parsed.all("script")[2][1]), ("style-src", parsed.all("style")[0][1])):
        assert rules[name] == f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_everything_on_a_page_has_a_label(run: wt.Trajectory, tmp_path: Path) -> None:
    run.animate(tmp_path / "run.html")
    parsed = Parsed((tmp_path / "run.html").read_text(encoding="utf-8"))
    for tag in ("button", "select"):
        assert all(attributes.get("aria-label") for attributes, _ in parsed.all(tag))
    (summary,) = [text for attributes, text in parsed.all("p") if attributes.get("id") == "summary"]
    assert "3 bodies: crank, coupler, rocker." in summary
    assert "4 joints: A (revolute)" in summary


def test_the_numbers_of_a_page_are_those_of_the_run(run: wt.Trajectory, tmp_path: Path) -> None:
    run.animate(tmp_path / "run.html", forces=True)
    (scene, _), (numbers, _), _ = [(text, a) for a, text in Parsed((tmp_path / "run.html").read_text()).all("script")]
    head = json.loads(scene)
    arrays = unpack(b64decode(numbers), [row[1:] for row in head["arrays"]])
    found = dict(zip([row[0] for row in head["arrays"]], arrays, strict=True))
    assert np.array_equal(found["t0"][0], run.t.astype(np.float32))
    coupler = found["poses0"].reshape(3, 7, -1)[head["places"].index("coupler")]
    assert pytest.approx(run.position("coupler"), abs=2e-6) == coupler[:3].T
    assert np.array_equal(found["arrow1"].T, run.reactions()["B"].force.astype(np.float32))
    assert np.array_equal(found["curve0"][0], run["A"].astype(np.float32))


def test_the_script_was_built_from_its_sources() -> None:
    build = (PAGE / "build.mjs").read_text(encoding="utf-8")
    names = re.findall(r'"([\w.-]+)"', build.split("SOURCES = ")[1].split(";")[0])
    assert {path.name for path in PAGE.glob("*.js")} == {*names, "viewer.bundle.js"} - {"package-lock.json"}
    found = hashlib.sha256(b"".join((PAGE / name).read_bytes() for name in names)).hexdigest()
    bundle = (PAGE / "viewer.bundle.js").read_text(encoding="utf-8")
    assert bundle.startswith(f"/* whippletree viewer, sources {found} */"), "make viewer builds it"
    assert "Three.js Authors" in bundle
    assert "SPDX-License-Identifier: MIT" in bundle
    assert "</script" not in bundle


def test_ten_seconds_of_a_humanoid_fit(tmp_path: Path) -> None:
    from whippletree.analysis.models import human_body

    s = human_body().build()
    t = np.linspace(0.0, 10.0, 1001)
    rng = np.random.default_rng(0)
    slow = np.sin(np.outer(t, rng.uniform(1, 9, s.nv)) + rng.uniform(0, 6, s.nv)) * 0.4
    q = s.integrate(np.tile(s.q0, (len(t), 1)), slow)
    walk = wt.Trajectory(s, t, q, np.zeros((len(t), s.nv)))
    path = tmp_path / "humanoid.html"
    walk.animate(path, frames=1001)
    assert len(s.description.bodies) >= 20
    assert path.stat().st_size < 1_500_000


# ---------------------------------------------------------------------- glTF


def read_glb(data: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The JSON and the accessors' arrays of a binary glTF file, by the specification's words."""
    magic, version, length = struct.unpack_from("<4sII", data)
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    assert size % 4 == 0
    head = json.loads(data[20 : 20 + size])
    bin_size, kind = struct.unpack_from("<I4s", data, 20 + size)
    block = data[28 + size :]
    assert kind == b"BIN\0"
    assert bin_size == len(block)
    assert 0 <= bin_size - head["buffers"][0]["byteLength"] < 4
    arrays = []
    widths = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
    for accessor in head["accessors"]:
        view = head["bufferViews"][accessor["bufferView"]]
        kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
        assert view["byteOffset"] % 4 == 0
        assert view["byteLength"] == 4 * accessor["count"] * widths[accessor["type"]]
        part = block[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        array = np.frombuffer(part, kind).reshape(accessor["count"], -1)
        for key, bound in (("min", array.min(axis=0)), ("max", array.max(axis=0))):
            assert key not in accessor or accessor[key] == pytest.approx(bound.tolist())
        arrays.append(array)
    return head, arrays


def test_a_gltf_file_holds_bodies_and_their_motion(run: wt.Trajectory, tmp_path: Path) -> None:
    run.animate(tmp_path / "run.glb")
    head, arrays = read_glb((tmp_path / "run.glb").read_bytes())
    assert head["asset"]["version"] == "2.0"
    names = [node["name"] for node in head["nodes"]]
    assert names == ["four-bar", "ground", "crank", "coupler", "rocker"]
    for mesh in head["meshes"]:
        for primitive in mesh["primitives"]:
            points, normals = (arrays[primitive["attributes"][key]] for key in ("POSITION", "NORMAL"))
            assert arrays[primitive["indices"]].max() < len(points)
            assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(normals)), abs=1e-5)
            assert "min" in head["accessors"][primitive["attributes"]["POSITION"]]
            assert primitive["material"] < len(head["materials"])
    (animation,) = head["animations"]
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        name, values = names[channel["target"]["node"]], arrays[sampler["output"]]
        assert arrays[sampler["input"]][:, 0] == pytest.approx(run.t)
        if channel["target"]["path"] == "translation":
            assert values == pytest.approx(run.position(name), abs=1e-6)
        else:
            assert np.linalg.norm(values, axis=1) == pytest.approx(np.ones(len(values)), abs=1e-6)
    # the root turns z up into y up
    x, y, z, w = head["nodes"][0]["rotation"]
    up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    assert up == pytest.approx([0, 1, 0], abs=1e-12)


def test_solids_face_outward() -> None:
    """By the divergence theorem, triangles whose normals point outward enclose the volume of the solid."""
    from whippletree.viewer.scene import Solid
    from whippletree.viewer.triangles import solid_mesh

    r, L = 0.5, 2.0
    volumes = {
        ("box", (1.0, 2.0, 3.0)): 6.0,
        ("sphere", (r,)): 4 / 3 * np.pi * r**3,
        ("cylinder", (r, L)): np.pi * r**2 * L,
        ("cone", (r, L)): np.pi * r**2 * L / 3,
        ("capsule", (r, L)): np.pi * r**2 * L + 4 / 3 * np.pi * r**3,
    }
    for (kind, size), volume in volumes.items():
        mesh = solid_mesh(Solid(0, kind, size, np.eye(4)))
        a, b, c = mesh.points[mesh.triangles].transpose(1, 0, 2)
        assert np.einsum("nc,nc->n", a, np.cross(b, c)).sum() / 6 == pytest.approx(volume, rel=0.03), kind
        facing = np.cross(b - a, c - a)
        lit = np.einsum("nc,nc->n", facing, mesh.normals[mesh.triangles].sum(axis=1))
        assert (lit[np.linalg.norm(facing, axis=1) > 1e-12] > 0).all(), kind


# ---------------------------------------------------------------------- PNG and GIF


def test_a_picture_shows_bodies_where_they_are() -> None:
    s = four_bar()
    scene, size = still_scene(s, s.q0), (450, 300)
    pixels = np.asarray(Image.open(io.BytesIO(png(scene, size=size))).convert("RGB")).astype(int)
    assert pixels.shape == (300, 450, 3)
    from whippletree.viewer.picture_files import _view

    view = _view(scene, size, 0)
    hues = {"crank": 2, "coupler": 0, "rocker": 1}  # blue, orange, green
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5)):
        middle = (s.pose(s.q0, name) @ [length / 2, 0, 0, 1])[:3]
        ((x, y),), _ = view.project(middle[None])
        seen = pixels[int(y), int(x)]
        assert int(np.argmax(seen)) == hues[name], (name, seen)
        assert np.ptp(seen) > 40
    corner = pixels[3, 3]
    assert corner.min() > 235
    assert 0.02 < (np.abs(pixels - corner).max(axis=2) > 60).mean() < 0.5


def test_what_is_nearer_hides_what_is_behind() -> None:
    m = wt.Mechanism("two plates", gravity=(0, 0, 0))
    m.fixed("near", m.ground, m.body("near plate", wt.box((1, 0.01, 1), mass=1.0)), at=(0, -1, 0))
    m.fixed("far", m.ground, m.body("far plate", wt.box((2, 0.01, 2), mass=1.0)), at=(0, 1, 0))
    scene = still_scene(m.build(), np.zeros(0))
    from dataclasses import replace

    from whippletree.viewer.picture_files import frame_mesh
    from whippletree.viewer.rasterizer import rasterize
    from whippletree.viewer.scene import Camera

    bodies = replace(scene, solids=tuple(one for one in scene.solids if one.role == "body"))
    mesh, colors = frame_mesh(bodies, 0)
    pixels = {}
    for side in (-6.0, 6.0):
        view = View2D.of(Camera((0, side, 0), (0, 0, 0), (0, 0, 1)), 60, 60)
        pixels[side] = rasterize(mesh, colors, view, np.ones((60, 60, 3))).astype(int)
    assert np.argmax(pixels[-6.0][30, 30]) == 2  # the near plate is blue
    assert np.argmax(pixels[6.0][30, 30]) == 0  # from behind, the orange one hides it
    assert pixels[-6.0][1, 1].tolist() == [255, 255, 255]


def test_a_gif_moves_as_long_as_the_run(run: wt.Trajectory, tmp_path: Path) -> None:
    run[::4].animate(tmp_path / "run.gif", speed=0.5)
    with Image.open(tmp_path / "run.gif") as gif:
        assert gif.n_frames == 6
        frames, total = [], 0
        for k in range(gif.n_frames):
            gif.seek(k)
            frames.append(np.asarray(gif.convert("RGB")).astype(int))
            total += gif.info["duration"]
    assert total == pytest.approx(1000 * 1.0 / 0.5 * 6 / 5, rel=0.02)
    assert all((np.abs(a - frames[0]).max(axis=2) > 60).sum() > 100 for a in frames[1:4])


# ---------------------------------------------------------------------- where it is shown


def test_show_opens_a_browser_unless_a_notebook_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    view = four_bar().show()
    assert opened[0].startswith("file://")
    assert Path(opened[0].removeprefix("file://")).read_text(encoding="utf-8") == view.html()
    monkeypatch.setitem(__import__("sys").modules, "ipykernel", object())
    assert "<iframe" in four_bar().show()._repr_html_()
    assert len(opened) == 1


MODEL = """
name: pendulum
bodies: {rod: {rod: {length: 1, mass: 1, axis: x}}}
joints: {A: {revolute: [ground, rod], axis: y}}
run: {duration: 0.5, every: 0.1}
"""


def test_the_command_line_writes_models_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, saved = tmp_path / "m.yaml", tmp_path / "run.nc"
    model.write_text(MODEL, encoding="utf-8")
    assert main(["run", str(model), "-o", str(saved)]) == 0
    for file, output in ((model, "m.html"), (model, "m.png"), (saved, "run.html"), (saved, "run.glb")):
        capsys.readouterr()
        assert main(["view", str(file), "--output", str(tmp_path / output)]) == 0
        assert capsys.readouterr().out.strip() == str(tmp_path / output)
        assert (tmp_path / output).stat().st_size > 1000
    head, _ = read_glb((tmp_path / "run.glb").read_bytes())
    assert "animations" in head
    # the rod is still a rod: the run keeps its shape
    scene = json.loads(Parsed((tmp_path / "run.html").read_text()).all("script")[0][1])
    assert scene["solids"][0][0] == "capsule"
    assert main(["view", str(model), "-o", str(model)]) == 2
    assert main(["view", str(saved), "--model", str(model), "-o", str(tmp_path / "again.html")]) == 0
    assert main(["view", str(tmp_path / "nowhere.yaml"), "-o", str(tmp_path / "x.html")]) == 2


@pytest.mark.parametrize("name", ["gripper.urdf", "linkage.sdf", "rocker.xml", "pendulum.adm", "leg_3.osim"])
def test_the_command_line_shows_files_of_other_programs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, output = Path(__file__).parents[1] / "files" / "models" / name, tmp_path / "m.html"
    assert main(["view", str(model), "-o", str(output), "--base", "fixed"]) == 0
    out, said = capsys.readouterr()
    assert out.strip() == str(output)
    assert all(line in said for line in str(wt.read(model, base="fixed").report).splitlines())
    scene = json.loads(Parsed(output.read_text(encoding="utf-8")).all("script")[0][1])
    assert scene["joints"]


def test_the_command_line_finds_packages_shows_what_collides_and_follows(tmp_path: Path) -> None:
    folder, output = Path(__file__).parents[1] / "files" / "models" / "meshes", tmp_path / "m.html"
    plain = ["view", str(folder / "hand.urdf"), "-o", str(output), "--base", "fixed"]
    found = ["--packages", f"hand={folder.parent}", "--packages", f"tool={folder.parent}"]
    roles = []
    for more in ([], found, [*found, "--collisions"]):
        assert main([*plain, *more, "--follow", "palm"]) == 0
        scene = json.loads(Parsed(output.read_text(encoding="utf-8")).all("script")[0][1])
        assert scene["follow"] == [scene["places"].index("palm"), [0.0, 0.0, 0.0]]
        roles.append(Counter((row[0], row[4]) for row in scene["solids"]))
    assert not any(kind == "mesh" for kind, _ in roles[0])
    assert roles[1] == {("mesh", "body"): 4}  # two surfaces each
    assert roles[2] == {("mesh", "body"): 4, ("box", "collision"): 1}
    assert main([*plain, "--follow", "nobody"]) == 2
    assert main([*plain, "--packages", f"hand={folder}", "--packages", str(folder)]) == 2
