"""A robot with the files beside its own: a YAML file that names its loops, and the program xacro that wrote it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whippletree.elements.joints import Fixed, Joint, Spherical
from whippletree.errors import FileError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.file_limits import LARGEST_FILE
from whippletree.files.neutral_model import NeutralJoint, NeutralModel
from whippletree.files.urdf_reader import read_urdf
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.output_paths import checked_path
from whippletree.model.io.nodes import Leaf, ListNode, MapNode, Node, Source, read_tree, words_for
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import shown

__all__ = ["read_robot"]

_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")


def read_robot(root: XmlElement, around: Surroundings, *, xacro: bool, loops: FilePath | None) -> NeutralModel:
    """Read a URDF, expanded by xacro if that was asked for, with the loops that are named beside it."""
    model = read_urdf(_expanded(around) if xacro else root)
    if xacro:
        model.remarks.add("changed", "the file was expanded by xacro: lines are those of what came out")
    place = _loop_file(around, loops)
    if place is not None:
        if loops is None:
            model.remarks.add("guessed", f"loops are taken from {place.name}, which is beside the file")
        _add_named_loops(model, place)
    return model


def _loop_file(around: Surroundings, loops: FilePath | None) -> Path | None:
    """Return the file that names loops: the one given, or the one beside the robot that has its name."""
    if loops is not None:
        try:
            return checked_path(loops)
        except (TypeError, ValueError) as error:
            raise FileError(f"loops must be the path of a file, got {shown(loops)}: {error}") from None
    beside = None if around.place is None else around.place.with_suffix(".yaml")
    if beside is None or not beside.is_file():
        return None
    with beside.open("rb") as file:
        return beside if b"closed_loop" in file.read(100_000) else None


def _add_named_loops(model: NeutralModel, place: Path) -> None:
    """Close the loops that a file names: pairs of frames that coincide, those of links or of joints."""
    source = _source(place)
    tree = read_tree(source)
    if not isinstance(tree, MapNode) or "closed_loop" not in tree.items:
        raise source.error(None, "there is no closed_loop in it, which names the pairs of frames that coincide")
    pairs, given = tree.items["closed_loop"], tree.items.get("type")
    if not isinstance(pairs, ListNode):
        raise source.error(pairs.mark, f"closed_loop must be a list of pairs of frames, got {words_for(pairs)}")
    kinds = given.items if isinstance(given, ListNode) else [None] * len(pairs.items)
    if len(kinds) != len(pairs.items):
        raise source.error(pairs.mark, f"type must have an entry for each of the {len(pairs.items)} loops")
    for number, (pair, kind) in enumerate(zip(pairs.items, kinds, strict=True), 1):
        _close(model, source, f"closed loop {number}", pair, kind)
    _change_joints(model, source, tree)
    for key, node in tree.items.items():
        if key == "name_mot":
            names = [one.text for one in node.items if isinstance(one, Leaf)] if isinstance(node, ListNode) else []
            model.remarks.add("kept aside", f"the actuated joints are {', '.join(map(quoted, names)) or 'not named'}")
        elif key not in _KEYS:
            model.remarks.add("not understood", f"{key} in {place.name}", node.mark.line)


def _change_joints(model: NeutralModel, source: Source, tree: MapNode) -> None:
    """Make balls of the joints that the file names as such: URDF itself has no word for them."""
    names, kinds = (tree.items.get(key) for key in ("joint_name", "joint_type"))
    if names is None and kinds is None:
        return
    if not (isinstance(names, ListNode) and isinstance(kinds, ListNode) and len(names.items) == len(kinds.items)):
        mark = (names or kinds).mark  # type: ignore[union-attr]
        raise source.error(mark, "joint_name and joint_type must be lists of the same length")
    for name, kind in zip(names.items, kinds.items, strict=True):
        joint = model.joints.get(name.text) if isinstance(name, Leaf) else None
        if joint is None:
            words = suggestion(name.text, model.joints) if isinstance(name, Leaf) else words_for(name)
            raise source.error(name.mark, f"joint_name: there is no joint {words}")
        if not isinstance(kind, Leaf) or kind.text.lower() != "spherical":
            raise source.error(kind.mark, f"joint_type must be SPHERICAL, got {words_for(kind)}")
        model.joints[joint.name] = replace(joint, joint=Spherical(), range=None)
        model.remarks.add("changed", f"joint {quoted(joint.name)} is spherical, as {Path(source.name).name} says")


def _source(place: Path) -> Source:
    name = str(place)
    try:
        if place.stat().st_size > LARGEST_FILE:
            raise FileError(f"{name}: the file is too large: more than {LARGEST_FILE:,} bytes", file=name)
        data = place.read_bytes()
        return Source(name, data.decode())
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileError(f"{name}:{line}: the file is not text in UTF-8", file=name, line=line) from None
    except OSError as error:
        raise FileError(f"{name}: the file cannot be read: {error.strerror}", file=name) from None


def _close(model: NeutralModel, source: Source, label: str, pair: Node, kind: Node | None) -> None:
    """Add the joint that closes a loop: a point of two frames is one, or the whole frames are."""
    if not isinstance(pair, ListNode) or len(pair.items) != 2:
        raise source.error(pair.mark, f"closed_loop must be a list of pairs of frames, got {words_for(pair)} for one")
    parent, child = (_frame_link(model, source, frame) for frame in pair.items)
    word = kind.text.lower() if isinstance(kind, Leaf) else "" if kind else "6d"
    if word not in ("3d", "6d"):
        mark = kind.mark if kind else None
        raise source.error(mark, f"type must be 3d (a point) or 6d (a whole frame), got {kind and words_for(kind)}")
    joint: Joint = Spherical() if word == "3d" else Fixed()
    model.joints[label] = NeutralJoint(label, joint, parent, child, Placement(), Placement(), closes=True)


def _frame_link(model: NeutralModel, source: Source, frame: Node) -> str:
    """Return the link whose frame is meant: its own, or that of the joint that carries it."""
    if not isinstance(frame, Leaf):
        raise source.error(frame.mark, f"a frame must be the name of a link or a joint, got {words_for(frame)}")
    if frame.text in model.links:
        return frame.text
    if frame.text in model.joints:
        return model.joints[frame.text].child
    known = [*model.links, *model.joints]
    raise source.error(frame.mark, f"there is no link or joint {suggestion(frame.text, known)}")


def _expanded(around: Surroundings) -> XmlElement:
    """Return the XML that xacro makes of a file."""
    if around.place is None:
        raise FileError(f"{around.name}: xacro expands files: give the path of one")
    try:
        import xacro
    except ImportError:
        raise FileError(f'{around.name}: xacro is not installed: pip install "whippletree[xacro]"') from None
    try:
        text = xacro.process_file(str(around.place)).toxml()
    except Exception as error:  # whatever a program in a file may raise
        raise FileError(f"{around.name}: xacro failed: {' '.join(str(error).split())}", file=around.name) from None
    return parse_xml(text.encode(), around.name)
