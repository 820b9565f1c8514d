"""A mechanism as other formats can hold it: a tree and closures of its loops, plain numbers, few kinds of forces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.closures import Coupling
from whippletree.elements.forces import Friction, Load, TorsionSpring
from whippletree.elements.joints import Cylindrical, Fixed, Prismatic, Revolute, Screw
from whippletree.errors import FileError
from whippletree.files.file_limits import OPEN_LOOP, ROUNDING
from whippletree.files.neutral_model import Remarks
from whippletree.files.poses import from_turns
from whippletree.files.start_gaps import joint_motion
from whippletree.files.writable_laws import AffineLaw, PolynomialCoupling, affine_laws, polynomial_coupling
from whippletree.model.description import GROUND, Body, Description, ForceUse, Frame, JointUse
from whippletree.model.io.model_file import JointRange, Model, Motor
from whippletree.model.mechanism import Mechanism
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import shown

__all__ = ["LinearCoupling", "WritableJoint", "WritableModel"]


@dataclass
class WritableJoint:
    """A joint seen from the ground, with the forces that act on each of its freedoms alike, its range and its start."""

    use: JointUse
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    range: JointRange | None = None
    start: tuple[float, ...] = ()

    @property
    def armature(self) -> float:
        """The inertia of its own rates, the same for all of them."""
        return float(self.use.armature[0]) if self.use.armature else 0.0


@dataclass(frozen=True)
class LinearCoupling:
    """Coordinates of joints with one freedom, whose sum of ratio times coordinate is `offset`."""

    name: str
    ratios: Mapping[str, float]
    offset: float

    def solved_for(self, joint: str) -> tuple[str, float, float]:
        """Return leader, ratio and offset of a coordinate that follows another.

        >>> LinearCoupling("pair", {"A": 2.0, "B": -1.0}, 0.5).solved_for("A")
        ('B', 0.5, 0.25)
        """
        leader = next(name for name in self.ratios if name != joint)  # not empty: there are two joints
        own = self.ratios[joint]
        return leader, -self.ratios[leader] / own, self.offset / own


@dataclass
class WritableModel:
    """The input of writers of other formats; everything that they cannot hold is listed in `lacking`, by name.

    `tree` has the joints that reach every body from the ground, `closing` those left over. `weights` are the shares of
    bodies' weights that something holds. What a format leaves out though it moves nothing is in `remarks`.
    """

    description: Description
    format: str
    folder: Path
    tree: dict[str, WritableJoint] = field(default_factory=dict)
    closing: list[WritableJoint] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    couplings: list[LinearCoupling] = field(default_factory=list)
    polynomials: list[PolynomialCoupling] = field(default_factory=list)
    laws: list[AffineLaw] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    motors: dict[str, Motor] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)
    _named: Mapping[str, tuple[Shape, ...]] = field(default_factory=dict)

    @staticmethod
    def of(model: object, name: str, folder: Path) -> WritableModel:
        """Return a model or mechanism, its parameters at their values, to be written in a folder."""
        whole = model if isinstance(model, Model) else Model(model) if isinstance(model, Mechanism) else None
        if whole is None:
            raise FileError(f"give a mechanism, or what was read from a file; got {shown(model)}")
        described = whole.mechanism.describe()
        found = WritableModel(described.folded(), name, folder, _named=whole.shapes)
        found._grow()
        found._couple(described)
        found._load(described)
        for entry in found.joints():
            entry.range = whole.ranges.get(entry.use.name)
        found.motors = {name: one for name, one in whole.motors.items() if all(map(found.has_one_freedom, one.efforts))}
        found._start(whole.start)
        return found

    def lacks(self, what: str) -> None:
        """Say that the format cannot hold something; all of it is told at once, by `check_held`."""
        if what not in self.lacking:
            self.lacking.append(what)

    def leaves_out(self, what: str) -> None:
        """Say that the format has no place for something that moves nothing."""
        self.remarks.add("left out", what)

    def check_held(self, file: str) -> None:
        """Refuse to write if the format cannot hold all of the model; each lacking part is named."""
        if self.lacking:
            raise FileError(f"{file} is not written: {self.format} cannot hold {'; '.join(self.lacking)}", file=file)

    # ------------------------------------------------------------------ the tree

    def _grow(self) -> None:
        """Find the joints that reach every body from the ground, in the order in which they do, and those left over."""
        rigid, reached = {GROUND, *(body.name for body in self.description.bodies)}, {GROUND}
        waiting = [use for use in self.description.joints if {use.parent, use.child} <= rigid]
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
        self.closing = [WritableJoint(use) for use in waiting if {use.parent, use.child} <= reached]
        self.frames = [frame for frame in self.description.frames if frame.body in reached]
        for body in self.description.bodies:
            if body.name not in reached:
                self.lacks(f"body {quoted(body.name)}, which nothing connects with the ground")
        for use in self.description.joints:
            if use.prescribed:
                self.lacks(f"joint {quoted(use.name)}, whose motion is prescribed")

    def _turned(self, use: JointUse) -> JointUse:
        """Return a joint seen from its child: about the opposite axis its coordinates are the same."""
        if not isinstance(use.joint, Fixed | Revolute | Prismatic | Cylindrical | Screw):
            self.lacks(f"the {use.joint.kind} joint {quoted(use.name)}, whose child is nearer to the ground")
        over = Placement(from_turns("x", (np.pi,)))
        on_parent, on_child = use.on_child @ over, use.on_parent @ over
        return replace(use, parent=use.child, child=use.parent, on_parent=on_parent, on_child=on_child)

    def joints(self) -> list[WritableJoint]:
        """Return the joints of the tree, and those that close loops."""
        return [*self.tree.values(), *self.closing]

    def bodies(self) -> Iterator[Body]:
        """Yield the bodies in the order in which the tree reaches them."""
        by_name = {body.name: body for body in self.description.bodies}
        return (by_name[entry.use.child] for entry in self.tree.values())

    def entry_of(self, body: str) -> WritableJoint:
        """Return the joint by which the tree reaches a body."""
        return self._entries[body]

    @property
    def _entries(self) -> dict[str, WritableJoint]:
        return {entry.use.child: entry for entry in self.tree.values()}

    def has_one_freedom(self, joint: str) -> bool:
        """Tell whether a joint is one of the tree with one coordinate."""
        return joint in self.tree and self.tree[joint].use.joint.nv == 1

    # ------------------------------------------------------------------ couplings and forces

    def _couple(self, described: Description) -> None:
        for use, plain in zip(described.closures, self.description.closures, strict=True):
            closure, names = plain.closure, [joint for joint, _ in plain.coordinates]
            if any(index for _, index in plain.coordinates) or not all(map(self.has_one_freedom, names)):
                self.lacks(f"closure {quoted(use.name)}")
            elif isinstance(closure, Coupling):
                ratios: dict[str, float] = {}
                for name, ratio in zip(names, closure.ratios, strict=True):
                    ratios[name] = ratios.get(name, 0.0) + float(ratio)
                kept = {name: ratio for name, ratio in ratios.items() if ratio}
                self.couplings.append(LinearCoupling(use.name, kept, float(closure.offset)))
            elif (found := polynomial_coupling(plain)) is not None:
                self.polynomials.append(found)
            else:
                self.lacks(f"closure {quoted(use.name)}")

    def _load(self, described: Description) -> None:
        d = self.description
        for group, kind in ((d.states, "state"), (d.events, "event")):
            for one in group:
                self.lacks(f"{kind} {quoted(one.name)}")
        acting: dict[str, dict[int, WritableJoint]] = {}
        others = [use for use in d.forces if not self._on_joint(use, acting) and not self._holds_weight(use)]
        for entry in self.joints():
            self._same_on_all(entry, acting.get(entry.use.name, {}))
        left = {use.name for use in others}
        laws, none = affine_laws(
            [use for use in described.forces if use.name in left], described.parameters, self.has_one_freedom
        )
        self.laws = laws
        for use in none:
            self.lacks(f"force {quoted(use.name)}, a {type(use.force).__name__}")

    def _on_joint(self, use: ForceUse, acting: dict[str, dict[int, WritableJoint]]) -> bool:
        """Take up linear springs and dampers and dry friction of a joint, by its freedoms."""
        force = use.force
        joint, index = use.coordinates[0] if len(use.coordinates) == 1 else ("", 0)
        entry = next((one for one in self.joints() if one.use.name == joint), None)
        if entry is None or not isinstance(force, Friction | TorsionSpring):
            return False
        found = acting.setdefault(joint, {}).setdefault(index, WritableJoint(entry.use))
        if isinstance(force, Friction):
            if force.coulomb and force.speed != _SPEED:
                self.lacks(f"the speed {force.speed:g} at which friction {quoted(use.name)} sets in")
            found.damping += float(force.viscous)
            found.friction += float(force.coulomb)
            return True
        total = found.stiffness + float(force.stiffness)
        if total:
            found.rest = (found.stiffness * found.rest + float(force.stiffness) * float(force.rest)) / total
        found.stiffness, found.damping = total, found.damping + float(force.damping)
        return True

    def _same_on_all(self, entry: WritableJoint, acting: Mapping[int, WritableJoint]) -> None:
        """Give a joint the damping, friction and stiffness of its freedoms, which must be the same on each."""
        if not acting:
            return
        freedoms = [acting.get(k, WritableJoint(entry.use)) for k in range(entry.use.joint.nv)]
        numbers = {(one.damping, one.friction, one.stiffness, one.rest) for one in freedoms}
        if len(numbers) > 1 or len(acting) > len(freedoms):
            self.lacks(f"springs or friction of joint {quoted(entry.use.name)} that differ between its freedoms")
        # not empty: a joint has freedoms
        entry.damping, entry.friction, entry.stiffness, entry.rest = next(iter(numbers))

    def _holds_weight(self, use: ForceUse) -> bool:
        """Take up a constant force at the centre of mass against gravity, as a share of the body's weight."""
        if not isinstance(use.force, Load) or len(use.sides) != 1 or use.coordinates or use.states or use.reactions:
            return False
        wrench, (body, where) = ca.SX(use.traced().wrenches[0]), use.sides[0]
        if body not in self._entries or not wrench.is_constant():
            return False
        properties = self.description.body(body).properties
        weight = float(properties.mass) * np.array([float(g) for g in self.description.gravity])
        given, size = np.array(ca.DM(wrench)).ravel(), float(weight @ weight)
        off = np.abs(np.array(where.point, dtype=float) - np.array(properties.com, dtype=float)).max()
        share = -float(given[3:] @ weight) / size if size else 0.0
        if not share or np.abs(given - np.array([0, 0, 0, *(-share * weight)])).max() > ROUNDING * np.abs(given).max():
            return False
        if off > ROUNDING:
            return False
        self.weights[body] = self.weights.get(body, 0.0) + share
        return True

    def without(self, *features: str) -> None:
        """Say which features the format does not have at all; each element that has one is told by its name."""
        for feature in features:
            for what in self._with(feature):
                self.lacks(what)

    def _with(self, feature: str) -> Iterator[str]:
        if feature == "armature":
            yield from (f"the armature of joint {quoted(u.name)}" for u in self.description.joints if any(u.armature))
        elif feature == "springs":
            yield from (f"the spring at joint {quoted(one.use.name)}" for one in self.joints() if one.stiffness)
        elif feature == "laws":
            yield from (f"actuator {quoted(law.name)}, whose effort follows a law" for law in self.laws)
        elif feature == "polynomials":
            yield from (f"closure {quoted(one.name)}" for one in self.polynomials)
        elif feature == "weights":
            yield from (f"the share of its weight that is held of body {quoted(body)}" for body in self.weights)
        elif feature == "acting on closing joints":
            yield from (
                f"what acts on joint {quoted(one.use.name)}, which closes a loop"
                for one in self.closing
                if one.damping or one.friction or one.stiffness or any(one.use.armature)
            )

    def followers(self) -> dict[str, tuple[LinearCoupling, str, float, float]]:
        """Return the couplings as joints that follow others, each at most one: leader, ratio and offset by joint.

        What has more than two joints, or leaves no joint to follow, is lacking.
        """
        takes: dict[str, LinearCoupling] = {}

        def place(one: LinearCoupling, seen: set[str]) -> bool:
            """Give a coupling a joint that follows, moving others to their other joint if need be."""
            for joint in sorted(one.ratios, key=lambda name: one.ratios[name] != 1.0):
                if joint not in seen:
                    seen.add(joint)
                    if joint not in takes or place(takes[joint], seen):
                        takes[joint] = one
                        return True
            return False

        for one in self.couplings:
            if len(one.ratios) != 2 or not place(one, set()):
                self.lacks(f"closure {quoted(one.name)}")
        return {joint: (one, *one.solved_for(joint)) for joint, one in takes.items()}

    # ------------------------------------------------------------------ where it starts

    def _start(self, start: Mapping[str, Any]) -> None:
        """Keep where joints start, if the model says so in numbers."""
        guess = start.get("guess") or {}
        for entry in self.joints():
            given = guess.get(entry.use.name) if isinstance(guess, Mapping) else None
            if given is not None and not isinstance(given, Placement):  # that is the pose of a body
                entry.start = tuple(float(x) for x in np.atleast_1d(np.asarray(given, dtype=float)))
        for key in start:
            if key not in ("guess", "nearest"):
                self.leaves_out(f"{key} of the start")

    def poses(self, moved: Iterable[str] = ()) -> dict[str, Placement]:
        """Return the poses of all bodies at zero coordinates, but those joints where they start that are named."""
        there, found = {*moved}, {GROUND: Placement()}
        for entry in self.tree.values():
            use = entry.use
            motion = joint_motion(use.joint, entry.start) if use.name in there and entry.start else None
            found[use.child] = found[use.parent] @ use.on_parent @ (motion or Placement()) @ use.on_child.inverse()
        return found

    def is_closed(self, use: JointUse, poses: Mapping[str, Placement], within: float = OPEN_LOOP) -> bool:
        """Tell whether a joint that closes a loop is at zero coordinates where bodies have these poses."""
        one, other = poses[use.parent] @ use.on_parent, poses[use.child] @ use.on_child
        return bool(np.abs(one.matrix() - other.matrix()).max() <= within)

    # ------------------------------------------------------------------ looks

    def shapes(self, body: str) -> tuple[Shape, ...]:
        """Return the shapes of a body for pictures; meshes by paths from the folder of the file.

        A mesh of a package keeps its name.
        """
        own = self.description.body(body).properties.shapes
        named = self._named.get(body)
        if named is None:
            return tuple(replace(one, file=self._from_here(one.file)) if one.file else one for one in own)
        found = []
        for one in named:
            there = next((s.file for s in own if s.file and (s.size, s.placement) == (one.size, one.placement)), None)
            keep = not one.file or "://" in one.file
            found.append(one if keep else replace(one, file=self._from_here(there or one.file)))
        return tuple(found)

    def _from_here(self, file: str) -> str:
        if "://" in file or not Path(file).is_absolute():
            return file
        try:
            return Path(os.path.relpath(file, self.folder)).as_posix()
        except ValueError:  # on another drive
            return file

    def properties(self, body: Body, seat: Placement) -> MassProperties:
        """Return the mass properties of a body in a frame on it."""
        back = seat.inverse()
        return body.properties if seat == Placement() else body.properties.moved(at=back.point, rotation=back.rotation)


_SPEED = float(Friction().speed)
"""The speed at which dry friction of files sets in."""
