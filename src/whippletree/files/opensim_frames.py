"""Frames of OpenSim models: bodies, the ground, and frames that are placed on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whippletree.files.neutral_model import WORLD, NeutralFrame, NeutralModel
from whippletree.files.opensim_joints import JointSides
from whippletree.files.opensim_looks import shapes_of
from whippletree.files.opensim_source import OpensimObjects
from whippletree.files.poses import from_turns
from whippletree.files.xml_source import XmlElement
from whippletree.model.names import suggestion
from whippletree.spatial.placement import Placement

__all__ = ["OpensimFrames"]

_DEEPEST = 50
"""Frames on frames on frames."""


class OpensimFrames:
    """Where frames are, by the paths and names that sockets have."""

    def __init__(
        self, objects: OpensimObjects, root: XmlElement, model: NeutralModel, joints: Sequence[XmlElement]
    ) -> None:
        self._objects, self._m = objects, model
        self._offsets: dict[str, tuple[XmlElement, str]] = {}
        for owner in (*joints, *objects.members(root, "ConstraintSet"), *objects.members(root, "ForceSet")):
            self._take(owner, owner.all("frames"))
        for owner in (*objects.members(root, "BodySet"), *root.all("Ground")):
            self._take(owner, owner.all("components"))
            for group in owner.all("components"):
                self._keep(owner, group.children)

    def _take(self, owner: XmlElement, groups: Iterable[XmlElement]) -> None:
        for group in groups:
            for frame in group.children:
                if frame.tag == "PhysicalOffsetFrame":
                    name, by = frame["name"], owner.get("name")
                    self._offsets.setdefault(name, (frame, by))
                    self._offsets[f"{by}/{name}"] = (frame, by)

    def _keep(self, owner: XmlElement, frames: Sequence[XmlElement]) -> None:
        """Keep a body's own frames as frames of the mechanism, and their geometry as shapes of the body."""
        for frame in frames:
            if frame.tag == "PhysicalOffsetFrame":
                link, pose = self._placed(frame, owner.get("name"), 0)
                self._m.frames.append(NeutralFrame(frame["name"], link, pose))
                if link != WORLD:
                    self._m.links[link].shapes += shapes_of(self._objects, frame, pose)

    def pose(self, element: XmlElement, place: str = "translation", turn: str = "orientation") -> Placement:
        """Return a point and angles about x, y and z one after another."""
        return Placement(from_turns("xyz", self._objects.point(element, turn)), self._objects.point(element, place))

    def place(self, element: XmlElement, *names: str) -> tuple[str, Placement]:
        """Return the link that a socket of an object leads to, and the frame on it."""
        found = self._objects.find(element, *names)
        if found is None or not found.text:
            raise element.error(f"<{element.tag}> has no <{names[0]}>")
        return self._at(found, found.text, element.get("name"), 0)

    def _at(self, element: XmlElement, path: str, owner: str, level: int) -> tuple[str, Placement]:
        if level > _DEEPEST:
            raise element.error("the frames of this model are placed on each other in a circle")
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        name = parts[-1] if parts else owner
        for key in ("/".join(parts[-2:]), f"{owner}/{name}"):
            if key in self._offsets and "/" in key:
                return self._placed(*self._offsets[key], level)
        if name == "ground":
            return WORLD, Placement()
        if name in self._m.links:
            return name, Placement()
        if name in self._offsets:
            return self._placed(*self._offsets[name], level)
        raise element.error(f"there is no body or frame {suggestion(name, [*self._m.links, *self._offsets])}")

    def _placed(self, frame: XmlElement, owner: str, level: int) -> tuple[str, Placement]:
        found = self._objects.find(frame, "socket_parent", "socket_parent_connectee_name")
        if found is None or not found.text:
            raise frame.error(f"frame {frame.get('name')!r} has no <socket_parent>")
        link, on = self._at(found, found.text, owner, level + 1)
        return link, on @ self.pose(frame)

    def sides(self, joint: XmlElement, body: str) -> JointSides:
        """Return the two sides of a joint: by sockets, or as a body of version 3 has them."""
        if body:
            parent, on = self.place(joint, "parent_body")
            sides = JointSides(
                parent,
                body,
                on @ self.pose(joint, "location_in_parent", "orientation_in_parent"),
                self.pose(joint, "location", "orientation"),
            )
        else:
            places = [
                self.place(joint, f"socket_{role}_frame", f"socket_{role}_frame_connectee_name")
                for role in ("parent", "child")
            ]
            (parent, on_parent), (child, on_child) = places
            sides = JointSides(parent, child, on_parent, on_child)
        if sides.parent == sides.child:
            raise joint.error("both sides of the joint are on the same body")
        return sides.turned() if self._objects.flag(joint, "reverse") else sides
