"""Adams data sets (.adm): parts with markers, joints between markers, and forces and constraints as functions.

A joint's frame on its child is the marker I, on its parent the marker J. Where parts start, and the coordinates of
joints there, follow from the parts' own positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from whippletree.errors import ModelError
from whippletree.files.adams_expressions import AdamsFunction
from whippletree.files.adams_statements import AdamsStatement, statements
from whippletree.files.file_limits import PARALLEL
from whippletree.files.neutral_model import (
    WORLD,
    NeutralCoupling,
    NeutralFrame,
    NeutralJoint,
    NeutralLink,
    NeutralModel,
)
from whippletree.files.poses import from_turns
from whippletree.files.start_gaps import coordinates_of
from whippletree.spatial.orientation import perpendicular_frame
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar

if TYPE_CHECKING:
    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = ["read_adams"]

_LENGTHS = {"METER": 1.0, "MILLIMETER": 1e-3, "CENTIMETER": 1e-2, "KILOMETER": 1e3, "INCH": 0.0254, "FOOT": 0.3048}
_MASSES = {"KILOGRAM": 1.0, "GRAM": 1e-3, "POUND_MASS": 0.45359237, "SLUG": 14.593902937206364, "TONNE": 1e3}
_FORCES = {"NEWTON": 1.0, "KILONEWTON": 1e3, "MILLINEWTON": 1e-3, "POUND_FORCE": 4.4482216152605, "DYNE": 1e-5}
_KINDS: dict[str, type[Joint]] = {
    "REVOLUTE": Revolute,
    "TRANSLATIONAL": Prismatic,
    "CYLINDRICAL": Cylindrical,
    "SPHERICAL": Spherical,
    "FIXED": Fixed,
    "PLANAR": Planar,
    "HOOKE": Universal,
    "UNIVERSAL": Universal,
    "SCREW": Screw,
}
_READ = {"PART", "MARKER", "JOINT", "GCON", "SFORCE", "ACCGRAV", "UNITS", "COUPLER", "MOTION", "SPRINGDAMPER"}
_ENDS = ("I", "J")
_SPEEDS = ("VX", "VY", "VZ", "WX", "WY", "WZ")
_ARGUMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "PART": (("MASS", "CM", "IM", "IP", "QG", "REULER", *_SPEEDS), ("GROUND",)),
    "MARKER": (("PART", "QP", "REULER"), ()),
    "JOINT": ((*_ENDS, "PITCH", "PD"), (*_KINDS, "RACKPIN")),
    "GCON": ((*_ENDS, "FUNCTION", "FU"), ()),
    "SFORCE": ((*_ENDS, "FUNCTION", "FU"), ("TRANSLATIONAL", "ROTATIONAL", "ACTIONONLY")),
    "ACCGRAV": (("IGRAV", "JGRAV", "KGRAV"), ()),
    "UNITS": (("LENGTH", "MASS", "FORCE", "TIME"), ()),
    "COUPLER": (("JOINTS", "SCALES"), ()),
    "MOTION": (("JOINT", "FUNCTION", "FU"), ("DISPLACEMENT", "ROTATION", "TRANSLATION")),
    "SPRINGDAMPER": ((*_ENDS, "K", "C", "KT", "CT", "LENGTH", "ANGLE"), ("ROTATION", "TRANSLATION")),
}
"""The keys and flags that are read of each statement; others are remarked."""

_HARMLESS = {
    "GRAPHICS",
    "REQUEST",
    "OUTPUT",
    "RESULTS",
    "VARIABLE",
    "INTEGRATOR",
    "DEBUG",
    "SENSOR",
    "ADAMS",
    "KINEMATICS",
    "EQUILIBRIUM",
    "LSOLVER",
    "PREFERENCES",
}


def read_adams(data: bytes, name: str) -> NeutralModel:
    """Read a data set."""
    title = data.partition(b"\n")[0].decode("latin-1").rpartition(":")[2].strip()
    return _AdamsReading(statements(data, name), NeutralModel(title or "model", name, floating=True)).model()


class _AdamsReading:
    """The statements, looked up by word and number: they may stand in any order."""

    def __init__(self, found: list[AdamsStatement], model: NeutralModel) -> None:
        self._m, self._all = model, found
        self._by: dict[tuple[str, int], AdamsStatement] = {}
        for one in found:
            if (one.word, one.number) in self._by and one.number:
                raise one.error("this number is given twice")
            self._by[one.word, one.number] = one
        self._length, self._mass, self._force = self._units()
        self._parts: dict[int, str] = {}
        self._frames: dict[int, NeutralFrame] = {}

    def model(self) -> NeutralModel:
        """Return the whole model."""
        for one in self._all:
            if one.word not in _READ:
                if one.word not in _HARMLESS:
                    raise one.error(f"{one.word} is not read: take it out, or say it by what is read")
                self._m.remarks.add("not understood", f"{one.word}/", one.line)
                continue
            for what in one.unread(*_ARGUMENTS[one.word]):
                self._m.remarks.add("not understood", f"{what[:60]} of {one.word}/", one.line)
        gravity = self._by.get(("ACCGRAV", 0))
        keys = ("IGRAV", "JGRAV", "KGRAV")
        self._m.gravity = tuple(  # type: ignore[assignment]
            0.0 if gravity is None else self._length * gravity.one(key, 0.0) for key in keys
        )
        for one in self._of("PART"):
            self._parts[one.number] = WORLD if "GROUND" in one.flags else f"part {one.number}"
        for one in self._of("MARKER"):
            self._marker(one)
        for one in self._of("PART"):
            self._part(one)
        for one in self._of("JOINT"):
            self._joint(one)
        for one in self._of("JOINT"):
            self._rack(one)
        for one in self._of("COUPLER"):
            self._coupler(one)
        for one in self._all:
            if one.word in ("GCON", "SFORCE", "MOTION", "SPRINGDAMPER"):
                self._m.later.append(self._late(one))
        return self._m

    def _of(self, word: str) -> list[AdamsStatement]:
        return [one for one in self._all if one.word == word]

    def _units(self) -> tuple[float, float, float]:
        """Return the units of length, mass and force in SI."""
        given = self._by.get(("UNITS", 0))
        if given is None:
            self._m.remarks.add("guessed", "units are metres, kilograms, newtons and seconds: the file does not say")
            return 1.0, 1.0, 1.0
        found = []
        for key, known, default in (
            ("LENGTH", _LENGTHS, "METER"),
            ("MASS", _MASSES, "KILOGRAM"),
            ("FORCE", _FORCES, "NEWTON"),
        ):
            word = given.values.get(key, default).strip().upper()
            if word not in known:
                raise given.error(f"{key} = {word[:40]} is not known: these are {', '.join(known)}")
            found.append(known[word])
        if given.values.get("TIME", "SECOND").strip().upper() != "SECOND":
            raise given.error("TIME must be SECOND")
        return found[0], found[1], found[2]

    # ------------------------------------------------------------------ parts

    def _marker(self, one: AdamsStatement) -> None:
        part = one.id("PART")
        if part not in self._parts:
            raise one.error(f"there is no PART/{part}")
        if one.values.keys() - {"PART", "QP", "REULER"} or one.flags:
            what = ", ".join([*(one.values.keys() - {"PART", "QP", "REULER"}), *one.flags])
            raise one.error(f"{what[:60]} is not read: give QP and REULER")
        self._frames[one.number] = NeutralFrame(f"marker {one.number}", self._parts[part], self._pose(one, "QP"))
        self._m.frames.append(self._frames[one.number])

    def _pose(self, one: AdamsStatement, key: str) -> Placement:
        """Return a point and Euler angles, of turns about z, x and z again."""
        point = [self._length * x for x in one.numbers(key, 3, (0.0, 0.0, 0.0))]
        return Placement(from_turns("zxz", one.numbers("REULER", 3, (0.0, 0.0, 0.0))), tuple(point))  # type: ignore[arg-type]

    def _part(self, one: AdamsStatement) -> None:
        name = self._parts[one.number]
        if name == WORLD:
            return
        link = NeutralLink(name, line=one.line)
        mass = self._mass * one.one("MASS", 0.0)
        if mass or "IP" in one.values:
            centre = self._marker_frame(one, "CM")
            about = self._marker_frame(one, "IM") if "IM" in one.values else centre
            if about.link != name or centre.link != name:
                raise one.error("CM and IM must be markers of this part")
            if about.placement.point != centre.placement.point:
                raise one.error("the inertia marker IM must be at the centre of mass CM")
            moments = [self._mass * self._length**2 * x for x in one.numbers("IP", None, (0.0, 0.0, 0.0))]
            if len(moments) not in (3, 6):
                raise one.error("IP must be three moments, or three moments and three products")
            xx, yy, zz, xy, xz, yz = (*moments, 0.0, 0.0, 0.0)[:6]
            try:
                whole = MassProperties.as_given(mass, inertia=((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
                pose = about.placement
                link.properties = whole.moved(at=centre.placement.point, rotation=pose.rotation)
            except ModelError as error:
                raise one.error(str(error)) from None
        for key in _SPEEDS:
            if one.values.get(key):
                self._m.remarks.add("not understood", f"{key} of a part: it starts at rest", one.line)
        self._m.links[name] = link
        self._m.poses[name] = self._pose(one, "QG")

    def _marker_frame(self, one: AdamsStatement, key: str) -> NeutralFrame:
        number = one.id(key)
        if number not in self._frames:
            raise one.error(f"there is no MARKER/{number}")
        return self._frames[number]

    # ------------------------------------------------------------------ joints

    def _joint(self, one: AdamsStatement) -> None:
        word = next((flag for flag in one.flags if flag in _KINDS), "")
        if not word:
            if "RACKPIN" not in one.flags:
                raise one.error(f"it must be one of {', '.join(_KINDS)} or RACKPIN, got {', '.join(one.flags)[:60]}")
            return
        i, j = self._marker_frame(one, "I"), self._marker_frame(one, "J")
        if i.link == j.link:
            raise one.error("both markers are on the same part")
        joint: Joint = Screw(self._length * one.one("PITCH")) if word == "SCREW" else _KINDS[word]()
        on_parent, on_child = j.placement, i.placement
        if word in ("HOOKE", "UNIVERSAL"):
            on_parent, on_child = self._cross(one, word, i, j)
        name = f"joint {one.number}"
        use = NeutralJoint(name, joint, j.link, i.link, on_parent, on_child, one.line)
        relative = (self._at(j.link) @ on_parent).inverse() @ (self._at(i.link) @ on_child)
        start = coordinates_of(joint, relative)
        if start and any(start):
            self._m.guess[name] = start[0] if len(start) == 1 else start
        self._m.joints[name] = use

    def _at(self, link: str) -> Placement:
        return self._m.poses.get(link, Placement())

    def _cross(self, one: AdamsStatement, word: str, i: NeutralFrame, j: NeutralFrame) -> tuple[Placement, Placement]:
        """Return the sides of a universal joint: its axes are y of J and x of I, or z of both for UNIVERSAL."""
        here, there = self._at(j.link) @ j.placement, self._at(i.link) @ i.placement
        column = (1, 0) if word == "HOOKE" else (2, 2)
        first, second = (np.array(frame.rotation)[:, k] for frame, k in zip((here, there), column, strict=True))
        if abs(float(first @ second)) > PARALLEL:
            raise one.error("the axes of the cross must be perpendicular where the parts start")
        R = perpendicular_frame(tuple(map(float, first)), tuple(map(float, second)), "the axes of the cross")  # type: ignore[arg-type]
        frames = [Placement(R, frame.point) for frame in (here, there)]
        return self._at(j.link).inverse() @ frames[0], self._at(i.link).inverse() @ frames[1]

    def _rack(self, one: AdamsStatement) -> None:
        """Couple the hinge of a pinion, the part of I, with the slide of a rack, the part of J."""
        if "RACKPIN" not in one.flags:
            return
        pinion, rack = self._marker_frame(one, "I"), self._marker_frame(one, "J")
        hinge, turn = self._moving(one, pinion, Revolute)
        slide, shift = self._moving(one, rack, Prismatic)
        radius = self._length * one.one("PD") / 2
        self._m.remarks.add(
            "guessed",
            "a rack moves along z of J by half of PD for each radian that the pinion turns about z of I",
            one.line,
        )
        start = {name: self._m.guess.get(name, 0.0) for name in (hinge, slide)}
        ratios = {(slide, 0): shift, (hinge, 0): -radius * turn}
        offset = shift * start[slide] - radius * turn * start[hinge]
        self._m.couplings.append(NeutralCoupling(f"joint {one.number}", ratios, offset, line=one.line))

    def _moving(self, one: AdamsStatement, marker: NeutralFrame, kind: type[Joint]) -> tuple[str, float]:
        """Return the joint of a part, and 1 if its coordinate grows as the part moves along a marker's z, else -1."""
        for joint in self._m.joints.values():
            if isinstance(joint.joint, kind) and marker.link in (joint.parent, joint.child):
                frame = self._at(joint.parent) @ joint.on_parent
                own = self._at(marker.link) @ marker.placement
                along = sum(frame.rotation[k][2] * own.rotation[k][2] for k in range(3))
                if abs(abs(along) - 1.0) > PARALLEL:
                    raise one.error(f"z of its marker must be along the axis of {joint.name}")
                return joint.name, math.copysign(1.0, along if joint.child == marker.link else -along)
        raise one.error(f"its {marker.link or 'ground'} has no {kind.__name__.lower()} joint")

    def _coupler(self, one: AdamsStatement) -> None:
        joints = [f"joint {int(number)}" for number in one.numbers("JOINTS", None)]
        for name in joints:
            if name not in self._m.joints or self._m.joints[name].joint.nv != 1:
                raise one.error(f"{name} is no joint with one coordinate")
        scales = one.numbers("SCALES", len(joints))
        units = [self._length if isinstance(self._m.joints[name].joint, Prismatic) else 1.0 for name in joints]
        ratios = {(name, 0): scale / unit for name, scale, unit in zip(joints, scales, units, strict=True)}
        self._m.couplings.append(NeutralCoupling(f"coupler {one.number}", ratios, line=one.line))

    # ------------------------------------------------------------------ functions

    def _late(self, one: AdamsStatement) -> Callable[[NeutralTranslation], None]:
        """Return the call that a statement with a function stands for, once all bodies are there."""
        calls = {"GCON": self._constraint, "SFORCE": self._sforce, "MOTION": self._motion, "SPRINGDAMPER": self._spring}

        def call(translation: NeutralTranslation) -> None:
            try:
                calls[one.word](one, translation)
            except ModelError as error:
                raise one.error(str(error)) from None

        return call

    def _function(self, one: AdamsStatement, translation: NeutralTranslation) -> Scalar:
        text = one.values.get("FUNCTION", one.values.get("FU", ""))
        if not text:
            raise one.error("FUNCTION is missing")
        return AdamsFunction(one, text, translation.mechanism, self._named(one, translation), self._length).value()

    def _named(self, one: AdamsStatement, translation: NeutralTranslation) -> Callable[[int], str]:
        def frame(number: int) -> str:
            if number not in self._frames:
                raise one.error(f"there is no MARKER/{number}")
            found: str = translation.frame_name(f"marker {number}")
            return found

        return frame

    def _constraint(self, one: AdamsStatement, translation: NeutralTranslation) -> None:
        translation.mechanism.closure(f"gcon {one.number}", ca.SX(self._function(one, translation)))

    def _motion(self, one: AdamsStatement, translation: NeutralTranslation) -> None:
        name = f"joint {one.id('JOINT')}"
        if name not in self._m.joints or self._m.joints[name].joint.nv != 1 or "VELOCITY" in one.flags:
            raise one.error("it must be the displacement of a joint with one coordinate")
        unit = self._length if isinstance(self._m.joints[name].joint, Prismatic) else 1.0
        law = ca.SX(self._function(one, translation)) * unit
        translation.mechanism.drive(f"motion {one.number}", translation.joint_name(name), position=law)

    def _sforce(self, one: AdamsStatement, translation: NeutralTranslation) -> None:
        size = ca.SX(self._function(one, translation)) * self._force
        if "ROTATIONAL" in one.flags:
            size = size * self._length
        elif "TRANSLATIONAL" not in one.flags:
            raise one.error("it must be TRANSLATIONAL or ROTATIONAL")
        self._between(one, translation, size, rotational="ROTATIONAL" in one.flags)

    def _between(self, one: AdamsStatement, translation: NeutralTranslation, size: Any, *, rotational: bool) -> None:
        """Let two markers push each other apart by a force along their line, or turn by a moment about z of J."""
        m = translation.mechanism
        i, j = self._marker_frame(one, "I"), self._marker_frame(one, "J")
        names = [translation.frame_name(frame.name) for frame in (i, j)]
        if rotational:
            way, key = m.rotation(names[1])[:, 2], "moment"
        else:
            line = m.position(names[0]) - m.position(names[1])
            way, key = line / ca.norm_2(line), "force"
        for frame, name, sign in ((i, names[0], 1.0), (j, names[1], -1.0)):
            if frame.link != WORLD and not (sign < 0 and "ACTIONONLY" in one.flags):
                label = translation.force_name(f"{one.word.lower()} {one.number} on {name}")
                m.load(label, name, **{key: sign * size * way})

    def _spring(self, one: AdamsStatement, translation: NeutralTranslation) -> None:
        m = translation.mechanism
        i, j = (translation.frame_name(self._marker_frame(one, key).name) for key in ("I", "J"))
        unit = self._force / self._length
        label = translation.force_name(f"springdamper {one.number}")
        if "ROTATION" in one.flags:
            moment = self._force * self._length
            text = f"-{one.one('KT', 0.0)!r}*(AZ({one.id('I')},{one.id('J')})-{one.one('ANGLE', 0.0)!r})"
            text += f"-{one.one('CT', 0.0)!r}*WZ({one.id('I')},{one.id('J')},{one.id('J')})"
            law = AdamsFunction(one, text, m, self._named(one, translation), self._length).value()
            self._between(one, translation, moment * law, rotational=True)
            return
        m.spring(
            label,
            j,
            i,
            stiffness=unit * one.one("K", 0.0),
            free_length=self._length * one.one("LENGTH", 0.0),
            damping=unit * one.one("C", 0.0),
        )
