"""MJCF as MuJoCo reads it: the files that it names are checked first, then MuJoCo's own reader makes arrays of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from whippletree.errors import FileError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.file_limits import MOST_COPIES
from whippletree.files.neutral_model import Remarks
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.model.names import quoted

MujocoObject: TypeAlias = Any
"""A specification of MuJoCo's, or a part of one: its library says no types."""

__all__ = ["PLAIN", "compiled"]

PLAIN = (0.5, 0.5, 0.5, 1.0)
"""The colour of geoms to which a file gives none."""

_COPYING = ("replicate", "composite", "flexcomp")
_REFUSED = ("flexcomp", "flex", "composite", "plugin")
_ASIDE = ("extension", "sensor", "skin")
"""Elements that move nothing: programs that others could call, sensors, and looks."""


def compiled(root: XmlElement, around: Surroundings, data: bytes, remarks: Remarks) -> MujocoObject:
    """Return MuJoCo's `MjModel` of a file; every complaint of MuJoCo is an error with its line."""
    try:
        import mujoco
    except ImportError:
        raise FileError(
            f'{around.name}: MJCF is read by MuJoCo: pip install "whippletree[mjcf]"', file=around.name
        ) from None
    _check(root, around)
    with _heard(mujoco, remarks):
        return _compiled(mujoco, around, data, remarks)


@contextmanager
def _heard(mujoco: ModuleType, remarks: Remarks) -> Iterator[None]:
    """Within it, warnings of MuJoCo are remarks; otherwise it would write them to a file in the current folder."""

    def hear(text: object) -> None:
        remarks.add("changed", f"MuJoCo warns: {' '.join(str(text).split())}")

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(hear)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            yield
        for one in heard:
            hear(one.message)
    finally:
        mujoco.set_mju_user_warning(before)


def _compiled(mujoco: ModuleType, around: Surroundings, data: bytes, remarks: Remarks) -> MujocoObject:
    try:
        spec = (
            mujoco.MjSpec.from_string(data.decode("utf-8-sig")) if around.place is None else _from_file(mujoco, around)
        )
    except UnicodeDecodeError:
        raise FileError(f"{around.name}:1: the file is not text in UTF-8", file=around.name, line=1) from None
    except Exception as error:  # MuJoCo raises ValueError, and what its bindings raise
        raise _said(error, around.name) from None
    _strip(spec, around, remarks)
    try:
        return spec.compile()
    except Exception as error:
        raise _said(error, around.name) from None


def _from_file(mujoco: ModuleType, around: Surroundings) -> MujocoObject:
    return mujoco.MjSpec.from_file(str(around.place))


def _said(error: Exception, name: str) -> FileError:
    """Return MuJoCo's complaint as one of ours."""
    text = " ".join(str(error).split()) or type(error).__name__
    found = re.search(r"\bline[ =]+(\d+)", text)
    line = int(found[1]) if found else None
    return FileError(f"{name}{f':{line}' if line else ''}: MuJoCo does not read it: {text}", file=name, line=line)


def _check(root: XmlElement, around: Surroundings, level: int = 0) -> None:
    """Refuse forbidden files, unbounded growth, and deformable bodies."""
    copies = 1
    aside = {id(one) for outer in root.below() if outer.tag in _ASIDE for one in outer.below()}
    for element in root.below():
        if element.tag in _REFUSED and id(element) not in aside:
            raise element.error(f"<{element.tag}> is no rigid body: such elements are not read")
        if element.tag in _COPYING:
            counts = element.numbers(element.get("count", "1"), None, "count")
            for count in counts:
                copies *= max(1, int(min(count, MOST_COPIES + 1)))
            if copies > MOST_COPIES:
                raise element.error(f"more than {MOST_COPIES} copies are asked for")
        for key in ("file", "meshdir", "texturedir", "assetdir"):
            if element.get(key) and element.tag != "include":
                _check_place(element, key, around)
        if element.tag == "include" and element.get("file"):
            place = around.find(element["file"], element, near=Path(element.file).resolve().parent if level else None)
            if level > 20:
                raise element.error("files include each other more than 20 levels deep")
            _check(parse_xml(around.read(place, element), str(place)), around, level + 1)


def _check_place(element: XmlElement, key: str, around: Surroundings) -> None:
    """Refuse a file or folder outside of the model's own."""
    given = Path(element[key])
    folders = around.folders
    if not folders:
        raise element.error(f"{element[key]!r}: a text is in no folder: it cannot draw in files")
    home = folders[0]
    try:
        place = (home / given).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise element.error(f"{element[key]!r} is no path: {error}") from None
    if place.exists() and not any(place.is_relative_to(folder) for folder in folders):
        raise element.error(f"{element[key]!r} is outside of the model's folder: name its folder with search=")


def _strip(spec: MujocoObject, around: Surroundings, remarks: Remarks) -> None:
    """Take out elements for the eye only, and meshes whose files are missing where no inertia needs them."""
    colors = {one.name: _color(spec, one) for one in spec.materials}
    for geom in spec.geoms:
        own = tuple(geom.rgba) != PLAIN  # which goes before the material's
        geom.rgba = geom.rgba if own else colors.get(geom.material, PLAIN)
    for group in (spec.geoms, spec.sites, spec.tendons):
        for one in group:
            one.material = ""
    for group in (spec.textures, spec.materials, spec.cameras, spec.lights):
        for one in [*group]:
            spec.delete(one)
    for what, group in (("sensor", spec.sensors), ("skin", spec.skins)):
        if [*group]:
            remarks.add("not understood", f"<{what}>")
        for one in [*group]:
            spec.delete(one)
    for mesh in spec.meshes:
        place = around.seek(mesh.file) if mesh.file and _is_missing(mesh, spec, around) else None
        if place is not None:
            mesh.file = str(place)
    missing = {mesh.name or Path(mesh.file).stem: mesh.file for mesh in spec.meshes if _is_missing(mesh, spec, around)}
    if not missing:
        return
    for body in spec.bodies:
        for geom in [*body.geoms]:
            if geom.meshname in missing:
                _drop(spec, body, geom, missing[geom.meshname], around)
    remarks.add("not understood", around.not_found([*missing.values()]))
    for mesh in [*spec.meshes]:
        if (mesh.name or Path(mesh.file).stem) in missing:
            spec.delete(mesh)


def _color(spec: MujocoObject, material: MujocoObject) -> tuple[float, ...]:
    """Return the colour of a material; that of a texture is the first of its two, plain if it is in a file."""
    textures = [spec.texture(name) for name in material.textures if name]
    if not textures or textures[0] is None:
        return tuple(map(float, material.rgba))
    in_a_file = textures[0].builtin.name.endswith("NONE")
    return PLAIN if in_a_file else (*map(float, textures[0].rgb1), 1.0)


def _is_missing(mesh: MujocoObject, spec: MujocoObject, around: Surroundings) -> bool:
    if not mesh.file or around.place is None:
        return False
    folder = around.place.parent / (spec.meshdir or "")
    return not (folder / mesh.file).is_file()


def _drop(spec: MujocoObject, body: MujocoObject, geom: MujocoObject, file: str, around: Surroundings) -> None:
    """Take out a geom whose mesh is missing, if its body's inertia does not follow from it."""
    moves = body.name != "world"
    if moves and not body.explicitinertial and (geom.mass != 0.0 and geom.density != 0.0):
        raise FileError(
            f"{around.name}: the inertia of body {quoted(body.name)} follows from the mesh {file}, which is missing: "
            "put it there, or give the body an <inertial>",
            file=around.name,
        )
    spec.delete(geom)
