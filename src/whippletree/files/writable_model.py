"""A mechanism as other formats can hold it: a tree and what closes its loops, plain numbers, few kinds of forces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from whippletree.elements.closures import Coupling
from whippletree.elements.forces import Friction, TorsionSpring
from whippletree.elements.joints import Fixed, Prismatic, Revolute
from whippletree.errors import FileError
from whippletree.files.file_limits import OPEN_LOOP
from whippletree.files.poses import from_turns
from whippletree.model.description import GROUND, Body, Description, JointUse
from whippletree.model.io.model_file import JointRange, Model
from whippletree.model.mechanism import Mechanism
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import shown

__all__ = ["Following", "WritableJoint", "WritableModel"]


@dataclass
class WritableJoint:
    """A joint of the tree, seen from the ground, with what acts on its coordinate."""

    use: JointUse
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    range: JointRange | None = None


@dataclass(frozen=True)
class Following:
    """A coordinate that is a ratio times another plus an offset."""

    name: str
    joint: str
    leader: str
    ratio: float
    offset: float


@dataclass
class WritableModel:
    """What writers of other formats start from; whatever they cannot hold is listed in `lacking`, each by its name."""

    description: Description
    format: str
    tree: dict[str, WritableJoint] = field(default_factory=dict)
    closing: list[JointUse] = field(default_factory=list)
    following: list[Following] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)

    @staticmethod
    def of(model: object, name: str) -> WritableModel:
        """Return a model or mechanism, its parameters at their values."""
        mechanism = model.mechanism if isinstance(model, Model) else model
        if not isinstance(mechanism, Mechanism):
            raise FileError(f"give a mechanism, or what was read from a file; got {shown(model)}")
        found = WritableModel(mechanism.describe().folded(), name)
        for use in found.description.joints:
            if use.armature and name != "MJCF":
                found.lacks(f"the armature of joint {quoted(use.name)}")
        found._grow()
        found._couple()
        found._load()
        for joint, bounds in (model.ranges if isinstance(model, Model) else {}).items():
            if joint in found.tree:
                found.tree[joint].range = bounds
        return found

    def lacks(self, what: str) -> None:
        """Say that the format cannot hold something; all of it is told at once, by `check_held`."""
        if what not in self.lacking:
            self.lacking.append(what)

    def check_held(self, file: str) -> None:
        """Refuse to write what the format cannot hold, each by its name."""
        if self.lacking:
            raise FileError(f"{file} is not written: {self.format} cannot hold {'; '.join(self.lacking)}", file=file)

    def _grow(self) -> None:
        """Find the joints that reach every body from the ground, in the order in which they do, and those left over."""
        waiting, reached = [*self.description.joints], {GROUND}
        for body in self.description.bodies:
            if body.kind is not None:
                self.lacks(f"body {quoted(body.name)}, which has own coordinates")
        while True:
            use = next((one for one in waiting if (one.parent in reached) != (one.child in reached)), None)
            if use is None:
                break
            waiting.remove(use)
            seen = use if use.parent in reached else self._turned(use)
            reached.add(seen.child)
            self.tree[use.name] = WritableJoint(seen)
        self.closing = [use for use in waiting if {use.parent, use.child} <= reached]
        for body in self.description.bodies:
            if body.name not in reached:
                self.lacks(f"body {quoted(body.name)}, which nothing connects with the ground")

    def _turned(self, use: JointUse) -> JointUse:
        """Return a joint seen from its child: about the opposite axis its coordinate is the same."""
        if not isinstance(use.joint, Fixed | Revolute | Prismatic):
            self.lacks(f"the {use.joint.kind} joint {quoted(use.name)}, whose child is nearer to the ground")
        over = Placement(from_turns("x", (np.pi,)))
        on_parent, on_child = use.on_child @ over, use.on_parent @ over
        return replace(use, parent=use.child, child=use.parent, on_parent=on_parent, on_child=on_child)

    def _couple(self) -> None:
        for use in self.description.closures:
            closure = use.closure
            if not isinstance(closure, Coupling) or len(use.coordinates) > 2 or any(i for _, i in use.coordinates):
                self.lacks(f"closure {quoted(use.name)}")
                continue
            names = [joint for joint, _ in use.coordinates]
            ratios, offset = [float(r) for r in closure.ratios], float(closure.offset)
            if len(names) != 2 or ratios[-1] == 0.0 or any(name not in self.tree for name in names):
                self.lacks(f"closure {quoted(use.name)}")
                continue
            # the joint with the ratio one follows the other, as `gear` and `mimic` have it
            k = 0 if ratios[0] == 1.0 else 1
            own, other = ratios[k], ratios[1 - k]
            follows = Following(use.name, names[k], names[1 - k], -other / own, offset / own)
            self.following.append(follows)

    def _load(self) -> None:
        d = self.description
        for group, kind in ((d.states, "state"), (d.events, "event")):
            for one in group:
                self.lacks(f"{kind} {quoted(one.name)}")
        for use in d.forces:
            joint = use.coordinates[0][0] if len(use.coordinates) == 1 else ""
            if joint not in self.tree or self.tree[joint].use.joint.nv != 1:
                self.lacks(f"force {quoted(use.name)}, a {type(use.force).__name__}")
                continue
            entry, force = self.tree[joint], use.force
            if isinstance(force, Friction):
                entry.damping += float(force.viscous)
                entry.friction += float(force.coulomb)
            elif isinstance(force, TorsionSpring) and not entry.stiffness:
                entry.stiffness, entry.rest = float(force.stiffness), float(force.rest)
                entry.damping += float(force.damping)
            else:
                self.lacks(f"force {quoted(use.name)}, a {type(force).__name__}")

    # ------------------------------------------------------------------ poses

    def bodies(self) -> Iterator[Body]:
        """Yield the bodies in the order in which the tree reaches them."""
        by_name = {body.name: body for body in self.description.bodies}
        return (by_name[entry.use.child] for entry in self.tree.values())

    def entry_of(self, body: str) -> WritableJoint:
        """Return the joint by which the tree reaches a body."""
        return next(entry for entry in self.tree.values() if entry.use.child == body)  # the tree reaches all bodies

    def poses(self) -> dict[str, Placement]:
        """Return the poses of all bodies at zero coordinates."""
        found = {GROUND: Placement()}
        for entry in self.tree.values():
            use = entry.use
            found[use.child] = found[use.parent] @ use.on_parent @ use.on_child.inverse()
        return found

    def check_closed(self) -> None:
        """Look for loops that are open at zero coordinates, or whose closing joint is not at zero there."""
        poses = self.poses()
        for use in self.closing:
            one, other = poses[use.parent] @ use.on_parent, poses[use.child] @ use.on_child
            off = np.abs(one.matrix() - other.matrix()).max()
            if off > OPEN_LOOP:
                self.lacks(f"the loop at {quoted(use.name)}, which is not closed at zero coordinates")
