"""A `NeutralModel` becomes a `Model`: names, inertias, the ground, joints, couplings and forces, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.joints import Fixed, Free
from whippletree.errors import FileError, ModelError
from whippletree.files.body_inertias import check_inertias
from whippletree.files.contact_elements import ContactElements, add_ground
from whippletree.files.drawn_in import some_of
from whippletree.files.file_limits import MOST_CONTACTS, STOP_STIFFNESS
from whippletree.files.legal_names import LegalNames
from whippletree.files.mesh_data import MESH_SUFFIXES
from whippletree.files.neutral_model import WORLD, LinkGraph, NeutralCoupling, NeutralJoint, NeutralLink, NeutralModel
from whippletree.files.poses import quaternion_of
from whippletree.files.start_gaps import guess_closing, report_gaps
from whippletree.model.io.model_file import Model, Motor
from whippletree.model.mechanism import Mechanism
from whippletree.spatial.placement import Placement

__all__ = ["NeutralTranslation", "translated"]


def translated(
    model: NeutralModel,
    *,
    base: str | None = None,
    stops: bool | float = False,
    contacts: bool | str = False,
    most_contacts: int = MOST_CONTACTS,
) -> Model:
    """Return the mechanism of a model, its start, and the report.

    `base` says what holds links that nothing connects with the ground: "fixed" or "free". `stops` makes stops of the
    joints' ranges, with that stiffness if it is a number. `contacts` makes contacts of what collides, `most_contacts`
    at most; if it is "ground", also with the plane z = 0.
    """
    _attach_bases(model, base)
    check_inertias(model)
    report_gaps(model)
    guess_closing(model)
    _add_contacts(model, contacts, most_contacts)
    return NeutralTranslation(model).model(stops)


def _add_contacts(model: NeutralModel, contacts: bool | str, most: int) -> None:
    """Make contacts of shapes that collide when all else is there, or remark these shapes."""
    if contacts:
        if contacts == "ground":
            add_ground(model)
        for kind, text in model.collisions.remarks:
            model.remarks.add(kind, text)
        model.later.append(ContactElements(model, most))
        return
    for shape in model.collisions.shapes:
        text = "shapes that collide: bodies pass through each other (contacts=True makes contacts of them)"
        model.remarks.add("not understood", text, shape.line)


def _attach_bases(model: NeutralModel, base: str | None) -> None:
    """Connect each part with the ground that is not connected with it: by its first link, in the file's order."""
    joints = LinkGraph(model.joints.values())
    reached = joints.reached(WORLD)
    below = {joint.child for joint in model.joints.values() if not joint.closes}
    for link in sorted(model.links.values(), key=lambda one: one.name in below):
        if link.name in reached:
            continue
        if base is None and not model.floating:
            model.remarks.add(
                "guessed",
                f'link "{link.name}", on which the others hang, is fixed to the ground: nothing in the file says what '
                'holds it (base="free" lets it float)',
                link.line,
            )
        name, start = f"{link.name} to ground", model.poses.get(link.name, Placement())
        floats = base == "free" or (base is None and model.floating)
        held = Placement() if floats else start
        model.joints[name] = NeutralJoint(
            name, Free() if floats else Fixed(), WORLD, link.name, held, Placement(), link.line
        )
        if floats and start != Placement():
            model.guess.setdefault(name, (*quaternion_of(start.rotation), *start.point))
        reached |= joints.reached(link.name)


class NeutralTranslation:
    """The calls on a `Mechanism` that a model stands for."""

    def __init__(self, model: NeutralModel) -> None:
        self._model, self._meshes = model, _found_meshes(model)
        self._legal = places = LegalNames(model.remarks, {"ground"})
        self._places = {WORLD: "ground"} | {name: places.legal(name, "link") for name in model.links}
        self._frames = [(places.legal(frame.name, "frame"), frame) for frame in model.frames]
        self._names = names = LegalNames(model.remarks)
        self._joints = {name: names.legal(name, "joint") for name in model.joints}
        self._couplings = [(names.legal(one.name, "coupling"), one) for one in model.couplings]
        self._forces, self._parameters = LegalNames(model.remarks), LegalNames(model.remarks)
        self._mechanism = Mechanism(LegalNames(model.remarks).legal(model.name or "model", "model"), model.gravity)

    def model(self, stops: bool | float) -> Model:
        """Return everything."""
        m = self._model
        for link in m.links.values():
            self._declare(link.line, self._link, link)
        for name, frame in self._frames:
            R, p = frame.placement.rotation, frame.placement.point
            self._mechanism.frame(name, on=self._places[frame.link], at=p, rotation=R)
        for joint in m.joints.values():
            self._declare(joint.line, self._joint, joint)
        for name, coupling in self._couplings:
            self._declare(coupling.line, self._coupling, name, coupling)
        for joint in m.joints.values():
            self._declare(joint.line, self._forces_of, joint, stops)
        for call in m.later:
            call(self)
        return Model(
            self._mechanism,
            self._start(),
            m.run,
            m.file,
            self._lines(),
            m.remarks.report(),
            {self._joints[joint.name]: joint.range for joint in m.joints.values() if joint.range is not None},
            {self._places[link.name]: tuple(link.shapes) for link in m.links.values() if link.shapes},
            {name: self._motor(motor) for name, motor in m.motors.items()},
            rounded=True,
        )

    def _motor(self, motor: Motor) -> Motor:
        return replace(motor, efforts={self._joints[joint]: effort for joint, effort in motor.efforts.items()})

    # ------------------------------------------------------------------ for calls that come last

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism so far."""
        return self._mechanism

    def joint_name(self, name: str) -> str:
        """Return the name in the mechanism of a joint of the file."""
        return self._joints[name]

    def place_name(self, name: str) -> str:
        """Return the name in the mechanism of a link of the file."""
        return self._places[name]

    def frame_name(self, name: str) -> str:
        """Return the name in the mechanism of a frame of the file."""
        # not empty: read before what names it
        return next(legal for legal, frame in self._frames if frame.name == name)

    def new_place(self, name: str) -> str:
        """Return a name for a frame that no other place has."""
        return self._legal.legal(name, "frame")

    def force_name(self, name: str) -> str:
        """Return a name for a force that no other has."""
        return self._forces.legal(name, "force")

    def closure_name(self, name: str) -> str:
        """Return a name for a closure that no joint and no other closure has."""
        return self._names.legal(name, "closure")

    def parameter_name(self, name: str) -> str:
        """Return a name for a parameter that no other has."""
        return self._parameters.legal(name, "parameter")

    # ------------------------------------------------------------------ elements

    def _declare(self, line: int | None, call: Callable[..., object], *arguments: object) -> None:
        """Make a call; an error begins with the file and the line."""
        try:
            call(*arguments)
        except ModelError as error:
            file = self._model.file
            place = file if line is None else f"{file}:{line}"
            raise FileError(f"{place}: {error}", file=file, line=line) from error

    def _link(self, link: NeutralLink) -> None:
        given = link.properties.drawn_as(tuple(_drawn(link.shapes, self._meshes)))
        self._mechanism.body(self._places[link.name], None if given == MassProperties() and not given.shapes else given)

    def _joint(self, use: NeutralJoint) -> None:
        parent, child = self._places[use.parent], self._places[use.child]
        name, sides = self._joints[use.name], (use.on_parent, use.on_child)
        self._mechanism.joint(name, parent, child, use.joint, pose=sides[0], pose_child=sides[1], armature=use.armature)

    def _coupling(self, name: str, coupling: NeutralCoupling) -> None:
        ratios, other = (
            {(self._joints[joint], index): ratio for (joint, index), ratio in one.items()}
            for one in (coupling.ratios, coupling.of)
        )
        constant, slope, *higher = (*coupling.powers, 0.0, 0.0)[: max(2, len(coupling.powers))]
        if not any(higher):
            for coordinate, ratio in other.items():
                ratios[coordinate] = ratios.get(coordinate, 0.0) - slope * ratio
            kept: dict[Any, Any] = {coordinate: ratio for coordinate, ratio in ratios.items() if ratio}
            self._mechanism.coupling(name, kept, offset=coupling.offset + constant)
            return
        first, second = (
            sum(ratio * self._mechanism.coordinate(*coordinate) for coordinate, ratio in one.items())
            for one in (ratios, other)
        )
        polynomial = sum(c * second**k for k, c in enumerate(coupling.powers) if c)
        self._mechanism.closure(name, ca.SX(first - coupling.offset - polynomial))

    def _forces_of(self, use: NeutralJoint, stops: bool | float) -> None:
        """Declare the forces on each freedom of a joint."""
        joint = self._joints[use.name]
        for index in range(use.joint.nv):
            label = joint if use.joint.nv == 1 else f"{joint}[{index}]"
            viscous = 0.0 if use.stiffness else use.damping
            if use.stiffness:
                name = self.force_name(f"spring of {label}")
                self._mechanism.torsion_spring(
                    name, joint, stiffness=use.stiffness, rest=use.rest, damping=use.damping, index=index
                )
            if viscous or use.friction:
                name = self.force_name(f"friction of {label}")
                self._mechanism.friction(name, joint, viscous=viscous, coulomb=use.friction, index=index)
        if stops is not False and use.range is not None and use.joint.nv == 1:
            self._stop(use, stops)

    def _stop(self, use: NeutralJoint, stops: bool | float) -> None:
        bounds = use.range
        if bounds is None or (bounds.lower is None and bounds.upper is None):
            return
        joint = self._joints[use.name]
        stiffness = STOP_STIFFNESS if stops is True else float(stops)
        if stops is True:
            self._model.remarks.add("guessed", f"stops of joints have the stiffness {stiffness:g} N m/rad or N/m")
        self._mechanism.limit(
            self.force_name(f"stop of {joint}"), joint, lower=bounds.lower, upper=bounds.upper, stiffness=stiffness
        )

    # ------------------------------------------------------------------ the rest of the model

    def _start(self) -> dict[str, object]:
        m = self._model
        start: dict[str, object] = {}
        if m.guess:
            start["guess"] = {self._joints[name]: value for name, value in m.guess.items()}
        if m.velocities:
            start["velocities"] = {self._joints[name]: value for name, value in m.velocities.items()}
            start |= {"nearest": True} if m.nearest else {}
        if m.dependent:
            start["dependent"] = [self._joints[name] for name in m.dependent]
        return start

    def _lines(self) -> dict[str, int]:
        m = self._model
        places = {self._places[link.name]: link.line for link in m.links.values()}
        joints = {self._joints[joint.name]: joint.line for joint in m.joints.values()}
        couplings = {name: coupling.line for name, coupling in self._couplings}
        return {name: line for name, line in {**places, **couplings, **joints}.items() if line is not None}


def _found_meshes(model: NeutralModel) -> dict[str, Path]:
    """Return the files of the meshes that a model names; missing files and kinds that are not drawn are remarked."""
    named = {one.file: link.line for link in reversed(model.links.values()) for one in link.shapes if one.file}
    if model.around is None:
        return {}
    places = {file: model.around.seek(file) for file in reversed(named)}
    missing = [file for file, place in places.items() if place is None]
    if missing:
        model.remarks.add("not understood", model.around.not_found(missing), named[missing[0]])
    found = {file: place for file, place in places.items() if place is not None}
    others = [file for file, place in found.items() if place.suffix.lower() not in MESH_SUFFIXES]
    if others:
        text = f"meshes that are not drawn ({some_of(others)}): {', '.join(MESH_SUFFIXES)} are"
        model.remarks.add("not understood", text, named[others[0]])
    return {file: place for file, place in found.items() if file not in others}


def _drawn(shapes: Iterable[Shape], meshes: Mapping[str, Path]) -> Iterator[Shape]:
    """Yield the shapes for pictures: shapes, and meshes whose files are there; others are kept as references only."""
    for shape in shapes:
        if shape.kind != "mesh":
            yield shape
        elif shape.file in meshes:
            yield replace(shape, file=str(meshes[shape.file]))
