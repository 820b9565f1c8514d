"""Elements of any type: the arguments of a call become a joint, a closure or a force of the mechanism.

The methods for single types (`element_methods.py`) are written from the types' declarations, and lead here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import casadi as ca
import numpy as np

from whippletree.elements.closures import DeclaredClosure
from whippletree.elements.declaration import ElementAround, FieldPart, PlacedElement, Several, parts
from whippletree.elements.forces import Force, Formula
from whippletree.elements.joints import Joint
from whippletree.elements.signatures import FAMILIES, kinds_of, own_parameters, placing, signature_of, word_of
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.catalogue import registered
from whippletree.model.description import GROUND, ClosureUse, ForceUse, JointUse, StateUse
from whippletree.model.design_position import design_distance, moving_frames
from whippletree.model.element_registry import (
    BodyLike,
    CoordinateLike,
    CoordinateUse,
    PlaceLike,
    Registry,
    SideLike,
    SideUse,
)
from whippletree.model.fields import checked
from whippletree.model.formulas import FormulaContext, Read, element_rates, read_formula
from whippletree.model.handles import ClosureHandle, ForceHandle, JointHandle
from whippletree.model.joint_frames import FRAMES, AlignedSides, PointLike, PoseLike, Sides
from whippletree.model.names import called, new_name
from whippletree.spatial.handed_out import handed_out
from whippletree.spatial.orientation import AxisLike
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, number, read_column, scalar, shown, vector
from whippletree.symbolic.arithmetic import copied

__all__ = ["AnyElement", "called_with"]

Acting = TypeVar("Acting", bound=PlacedElement)
Handle = TypeVar("Handle", JointHandle, ClosureHandle, ForceHandle)
_FAMILY: dict[type, str] = {JointHandle: "joints", ClosureHandle: "closures", ForceHandle: "forces"}


@user_facing
class AnyElement(Registry):
    """The calls of a mechanism for elements of any type, also of one that is not part of the package."""

    def joint(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        joint: Joint,
        *,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child move as a joint of any type says, also of one that is not part of the package.

        Arguments as for `revolute`, or `fixed` and `universal` where the type is placed by no axis or by two.

        >>> from whippletree.model import Mechanism
        >>> from whippletree.elements.joints import Screw
        >>> m = Mechanism("m")
        >>> m.joint("spindle", m.ground, m.body("nut"), Screw(lead=0.005), axis="x").name
        'spindle'
        """
        with called("joint", name):
            if not isinstance(joint, Joint) or joint.n_axes not in FRAMES:
                raise ModelError(f"joint must be an instance of a type of joint, got {shown(joint)}")
            where: dict[str, object] = {"at": at, "axis": axis, "at_child": at_child, "axis_child": axis_child}
            where |= {"pose": pose, "pose_child": pose_child}
            return self._join(name, joint, parent, child, prescribed=prescribed, armature=armature, **where)

    def constraint(
        self,
        name: str,
        closure: DeclaredClosure,
        *,
        on: Sequence[SideLike] | PlaceLike = (),
        coordinates: Sequence[CoordinateLike] | CoordinateLike = (),
    ) -> ClosureHandle:
        """Add a closure of any type, also of one that is not part of the package.

        It holds between the frames `on`, which are bodies or frames, or pairs of such and a point; and between joint
        `coordinates`, given as for `coupling`.

        >>> from whippletree.model import Mechanism
        >>> from whippletree.elements.closures import Distance
        >>> m = Mechanism("m")
        >>> m.constraint("tie", Distance(1.2), on=[(m.ground, (0, 0, 2)), m.body("ball")]).name
        'tie'
        """
        with called("closure", name):
            if not isinstance(closure, DeclaredClosure):
                raise ModelError(f"closure must be an instance of a type of closure, got {shown(closure)}")
            where = self._held(closure, on, coordinates)
            return self._close(name, self._read(closure, *where)[0], *where)

    def force(
        self,
        name: str,
        force: Force,
        *,
        on: Sequence[SideLike] | PlaceLike = (),
        coordinates: Sequence[CoordinateLike] | CoordinateLike = (),
        initial: Sequence[float] = (),
    ) -> ForceHandle:
        """Add a force element of any type, also of one that is not part of the package.

        It acts on the frames `on`, which are bodies or frames, or pairs of such and a point; and on joint
        `coordinates`, given as for `coupling`. States of its own are called "name.label"; `initial` has their values
        at the start, zeros unless given.

        >>> from whippletree.elements.forces import Spring
        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.force("strut", Spring(2e4, 0.4, 1e3), on=["ground", (m.body("wheel"), (0, 0, 0.1))]).name
        'strut'
        """
        with called("force", name):
            if not isinstance(force, Force):
                raise ModelError(f"force must be an instance of a type of force, got {shown(force)}")
            return self._act(name, force, *self._held(force, on, coordinates), initial=initial)

    if not TYPE_CHECKING:  # nobody knows these names but the program that registers a type

        def __getattr__(self, word: str) -> Callable[..., object]:
            """Return the method for a registered type, by its word."""
            for family in FAMILIES:
                if word in registered(family):
                    return self._method_for(family, registered(family)[word])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {word!r}")

    # ------------------------------------------------------------------ inside

    def _method_for(self, family: str, kind: Any) -> Callable[..., object]:
        signature = signature_of(kind)

        @user_facing
        def describe(*given: Any, **told: Any) -> object:
            bound = signature.bind(*given, **told)
            bound.apply_defaults()
            name, *on = bound.args
            return self._add(family, kind, name, tuple(on), bound.kwargs)

        describe.__name__, describe.__doc__ = word_of(kind), kind.__doc__
        describe.__signature__ = signature  # type: ignore[attr-defined]
        return describe

    def _described(self, handle: type[Handle], word: str, name: str, *on: Any, **told: Any) -> Handle:
        """Add an element of a type, as the arguments of its method say (`elements.signatures`)."""
        family = _FAMILY[handle]
        return cast(Handle, self._add(family, kinds_of(family).get(word) or registered(family)[word], name, on, told))

    def _add(self, family: str, kind: Any, name: str, on: tuple[Any, ...], told: Mapping[str, Any]) -> object:
        with called(FAMILIES[family], name):
            made = getattr(kind, "given", kind)(**{key: told[key] for key in own_parameters(kind)})
            where = {key: told[key] for key in placing(kind)}
            if family == "joints":
                return self._join(name, made, *on, **where)
            initial = where.pop("initial", ())
            held = self._acted_on(made, *on, **where)
            if family == "closures":
                return self._close(name, self._read(made, *held)[0], *held)
            return self._act(name, made, *held, initial=initial)

    def _join(
        self,
        name: str,
        joint: Joint,
        parent: BodyLike,
        child: BodyLike,
        *,
        prescribed: object,
        armature: object = 0.0,
        **where: Any,
    ) -> JointHandle:
        """Add a joint."""
        text = self._new_joint_name(name)
        joint = checked(joint, self._parameters)
        near, far, sides = self._at_moving_frames(
            *self._two_bodies(parent, child, "a joint"), FRAMES[joint.n_axes](**where)
        )
        frames = self._frames_of(sides)
        driven = _prescribed(prescribed, joint)
        self._joints[text] = JointUse(text, joint, near, far, *frames, driven, self._armature(armature, joint))
        return JointHandle(text, self._self)

    def _armature(self, given: object, joint: Joint) -> tuple[Scalar, ...]:
        """Return the inertias of a joint's own rates, one for each freedom; nothing if all of them are zero."""
        if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim):
            own = read_column(given, joint.nv, f"armature of a {joint.kind} joint")
        else:
            own = (scalar(given, "armature"),) * max(joint.nv, 1)
        for value in self._parameters.values_of(own, "armature"):
            if value < 0:
                raise ModelError(f"armature must not be negative, got {value:g}")
        if all(isinstance(each, float) and each == 0 for each in own):
            return ()
        if not joint.nv:
            raise ModelError(f"a {joint.kind} joint has no armature: it does not move")
        return own

    def _close(
        self, name: str, closure: DeclaredClosure, sides: tuple[SideUse, ...], coordinates: tuple[CoordinateUse, ...]
    ) -> ClosureHandle:
        """Add a closure whose numbers are read."""
        text = self._new_joint_name(name)
        self._closures[text] = ClosureUse(text, closure, sides, coordinates)
        return ClosureHandle(text, self._self)

    def _act(
        self,
        name: str,
        force: Force,
        sides: tuple[SideUse, ...],
        coordinates: tuple[CoordinateUse, ...],
        initial: Sequence[float] = (),
    ) -> ForceHandle:
        """Add a force element and its own states; sides that its formula reads come after those that it acts on."""
        own, read = self._read(force, sides, coordinates)
        text = new_name(name, self._forces, "forces")
        states = tuple(new_name(f"{text}.{label}", self._states, "states") for label in own.state_labels)
        values = read_column(initial or (0.0,) * len(states), len(states), "initial")
        reactions: tuple[str, ...] = (coordinates[0][0],) if own.whole_joint else ()
        if read is not None:
            sides = (*sides, *(self._placed(place) for place in read.places))
            coordinates, states = (*coordinates, *read.coordinates), (*states, *read.states)
            reactions = read.reactions
        use = ForceUse(text, own, sides, coordinates, states, reactions)
        rates = element_rates(use, self._parameters)
        for state, value, rate in zip(states, values, rates, strict=False):
            self._states[state] = StateUse(state, number(value, "initial"), rate, sides, coordinates, states)
        self._forces[text] = use
        return ForceHandle(text, self._self)

    # ------------------------------------------------------------------ places and coordinates

    def _acted_on(
        self, element: Any, *on: Any, index: Any = 0, coordinates: Any = (), **where: Any
    ) -> tuple[tuple[SideUse, ...], tuple[CoordinateUse, ...]]:
        """Return the sides and coordinates of a closure or a force, by the arguments of its method."""
        n, m = element.n_sides, element.n_coordinates
        if n > 2:
            return self._held(element, on[0], coordinates)
        if n == 1:
            sides: tuple[SideUse, ...] = (self._moving_side(on[0], where["at"], element.noun),)
        elif n == 2 and element.of_bodies:
            both = self._two_bodies(on[0], on[1], element.noun)
            near, far, aligned = self._at_moving_frames(*both, AlignedSides(**where))
            on_near, on_far = self._frames_of(aligned)
            sides = ((near, on_near), (far, on_far))
        elif n == 2:
            sides = self._two_sides(on[0], on[1], AlignedSides(**where), element.noun)
        elif isinstance(element, Force) and element.whole_joint:
            joint = self._joint_name(on[0])
            return (), tuple((joint, k) for k in range(self._joints[joint].joint.nv))
        elif m == 1:
            find = self._freedom if isinstance(element, Force) and element.on_rates else self._coordinate
            given = on[0] if type(on[0]) is tuple and len(on[0]) == 2 else (on[0], 0 if index is None else index)
            return (), (find(given),)
        else:
            return self._held(element, (), on[0])
        return sides, tuple(map(self._coordinate, coordinates))

    def _frames_of(self, sides: Sides) -> tuple[Placement, Placement]:
        """Return the placements of two sides, whose points hold no symbol but parameters."""
        frames = sides.frames()
        for placement, side in zip(frames, ("parent", "child"), strict=True):
            self._parameters.check(placement.point, f"the point on the {side}")
        return frames

    def _two_sides(self, parent: object, child: object, frames: AlignedSides, what: str) -> tuple[SideUse, SideUse]:
        """Return the frames on two places, which must be on different bodies."""
        near, far = self._placed(self._place_name(parent, "parent")), self._placed(self._place_name(child, "child"))
        if near[0] == far[0]:
            raise ModelError(f'parent and child are both "{near[0]}": {what} needs two different bodies')
        on_near, on_far = self._frames_of(frames)
        return (near[0], near[1] @ on_near), (far[0], far[1] @ on_far)

    def _moving_side(self, place: object, at: object, what: str) -> SideUse:
        """Return the frame at a point of a place that is not on the ground."""
        name = self._place_name(place, "place")
        body, placement = self._placed(name)
        if body == GROUND:
            raise ModelError(f'"{name}" is the ground, or on it, which {what} does not move: give a body')
        point = vector((0.0, 0.0, 0.0) if at is None else at, "at")
        self._parameters.check(point, "at")
        return body, placement @ Placement(point=point)

    # ------------------------------------------------------------------ fields

    def _read(
        self, element: Acting, sides: tuple[SideUse, ...], coordinates: tuple[CoordinateUse, ...]
    ) -> tuple[Acting, Read | None]:
        """Return an element whose numbers and formulas are read and fit together, and the symbols that it reads."""
        read = None
        for name, what in parts(element).items():
            given = getattr(element, name)
            if what.kind is Formula and not isinstance(given, Formula):
                read = self._written(name, given, what)
                element = replace(element, **{name: read.formula})  # type: ignore[type-var]
        own = checked(element, self._parameters)
        fitted = own.fitted(self._around(sides, coordinates))
        return (own if fitted is own else checked(fitted, self._parameters)), read

    def _around(self, sides: tuple[SideUse, ...], coordinates: tuple[CoordinateUse, ...]) -> ElementAround:
        def joint() -> tuple[str, str]:
            name = coordinates[0][0]
            return name, self._joints[name].joint.kind

        def distance() -> Scalar:
            joints = [*self._joints.values(), *moving_frames(self._bodies.values())]
            (near, on_near), (far, on_far) = sides
            return design_distance(joints, (near, far), (on_near, on_far), self._parameters.values_of)

        return ElementAround(self._parameters.values_of, joint, distance)

    def _written(self, name: str, given: object, what: FieldPart) -> Read:
        """Return the formula of a field, which may be several expressions together."""
        size, named = given if isinstance(given, Several) else (what.size, {name: given})
        own = self._symbols.elongation, self._symbols.elongation_rate
        flags = {"of_length": what.of == "length", "of_reactions": what.of == "reactions"}
        if what.of == "length":
            symbols = [handed_out(copied(one)) for one in own]
            named = {
                key: called_with(one, key, *symbols[: 2 if key == name else 1]) if callable(one) else one
                for key, one in named.items()
            }
        reads = [self._formula(one, size, key, **flags) for key, one in named.items()]
        if len(named) > 1:
            entries = [
                entry for key, one in named.items() for entry in (read_column(one, size, key) if size > 1 else [one])
            ]
            reads = [self._formula(entries, len(entries), " and ".join(named), **flags)]
        if what.of == "positions" and not reads[0].formula.positional:
            raise ModelError(f"{name} may depend on positions, coordinates, time and parameters, but on no velocity")
        return reads[0]

    def _formula(
        self, expression: object, count: int, what: str, *, of_length: bool = False, of_reactions: bool = False
    ) -> Read:
        context = FormulaContext(self._symbols, self._parameters, self._place_order, self._coordinate_order)
        return read_formula(expression, count, what, context, of_length=of_length, of_reactions=of_reactions)


def _prescribed(prescribed: object, joint: Joint) -> bool:
    if not isinstance(prescribed, bool | np.bool_):
        raise ModelError(f"prescribed must be True or False, got {shown(prescribed)}")
    if prescribed and joint.nv == 0:
        raise ModelError(f"a {joint.kind} joint cannot be prescribed: it does not move")
    return bool(prescribed)


def called_with(function: Callable[..., object], what: str, *symbols: ca.SX) -> object:
    """Return the value of a user's function of symbols.

    >>> called_with(lambda x: -x, "law", ca.SX.sym("x"))
    SX((-x))
    """
    try:
        return function(*symbols)
    except Exception as error:
        raise ModelError(
            f"{what} is a function, but calling it with {' and '.join(s.name() for s in symbols)} failed: {error}"
        ) from error
