"""The mechanism a person writes down."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.elements.bodies import BodyKind, MassProperties
from whippletree.elements.bodies.body_chains import PART_END, BodyChain
from whippletree.errors import ModelError
from whippletree.foundation.late_imports import Verb, imported
from whippletree.foundation.short_text import counted
from whippletree.foundation.user_frames import user_facing
from whippletree.model.body_kinds import checked_kind
from whippletree.model.closure_calls import ClosureCalls
from whippletree.model.description import Body, Description, ForceUse, Frame
from whippletree.model.drive_calls import DriveCalls
from whippletree.model.element_methods import ElementMethods
from whippletree.model.element_registry import BodyLike, JointLike, PlaceLike
from whippletree.model.event_calls import EventCalls
from whippletree.model.handles import BodyHandle, FrameHandle
from whippletree.model.names import called, new_name
from whippletree.model.state_calls import StateCalls
from whippletree.spatial.handed_out import handed_out
from whippletree.spatial.orientation import IDENTITY, rotation_matrix
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import (
    Scalar,
    Vector3,
    VectorLike,
    expressions,
    number,
    shown,
    vector,
)
from whippletree.symbolic.arithmetic import copied

if TYPE_CHECKING:
    import whippletree.viewer
    from whippletree.system import System

__all__ = ["Mechanism"]


@user_facing
class Mechanism(ElementMethods, ClosureCalls, DriveCalls, EventCalls, StateCalls):
    """A mechanism: bodies, the joints between them, closures, forces, frames and parameters, each with a name.

    Every call checks what it is given and leaves the mechanism as it was if something is wrong. Wherever a
    number goes, except in axes and rotations, an expression in parameters can go. Bodies and joints may form
    any graph; closures are what holds besides the joints: rods, gears, and what one writes down; forces are springs,
    friction, stops, contacts, actuators and loads.

    >>> m = Mechanism("pendulum")
    >>> length = m.parameter("length", 0.5)
    >>> bob = m.body("bob", mass=1.0, com=(0, 0, -length))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> m.describe().joint("hinge").child
    'bob'
    """

    def __init__(self, name: str, gravity: VectorLike = (0.0, 0.0, -9.81)) -> None:
        super().__init__(name)
        self.gravity = gravity
        self.built_with: dict[str, Any] = {}

    def __repr__(self) -> str:
        sizes = {"body": len(self._bodies), "joint": len(self._joints), "closure": len(self._closures)}
        sizes |= ({"force": len(self._forces)} if self._forces else {}) | {"frame": len(self._frames)}
        return f'<Mechanism "{self._name}": {", ".join(counted(size, noun) for noun, size in sizes.items())}>'

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as a description. Symbols handed out before are not those of the mechanism that comes back."""
        return Mechanism, (self._name,), self.describe()

    @staticmethod
    def of(description: Description) -> Mechanism:
        """Return a mechanism with this description, to which more can be added.

        >>> Mechanism.of(Mechanism("m").describe()).name
        'm'
        """
        mechanism = Mechanism(description.name)
        mechanism.__setstate__(description)
        return mechanism

    @property
    def ground(self) -> BodyHandle:
        """The ground, which does not move.

        >>> Mechanism("m").ground.name
        'ground'
        """
        return self._ground

    @property
    def gravity(self) -> Vector3:
        """The acceleration of free fall in the ground frame; set it again to put parameters in it.

        >>> m = Mechanism("on the moon")
        >>> m.gravity = (0, 0, -m.parameter("g", 1.62))
        """
        return self._gravity

    @gravity.setter
    def gravity(self, gravity: VectorLike) -> None:
        with called("mechanism", self._name):
            read = vector(gravity, "gravity")
            self._parameters.check(read, "gravity")
            self._gravity = read

    def parameter(self, name: str, value: float) -> ca.SX:
        """Declare a named parameter and return its symbol, to be used in expressions.

        >>> Mechanism("m").parameter("payload", 2.5)
        SX(payload)
        """
        with called("parameter", name):
            text = new_name(name, self._parameters.names, "parameters")
            return handed_out(copied(self._parameters.add(text, number(value, "value"))))

    def body(
        self,
        name: str,
        properties: MassProperties | BodyKind | BodyChain | None = None,
        *,
        mass: Scalar | None = None,
        com: VectorLike | None = None,
        inertia: object = None,
    ) -> BodyHandle:
        """Add a body with the properties of a shape, or with mass, com and inertia; with neither, massless.

        Instead of a shape it may be a `BodyKind`, a body with coordinates of its own. Its moving frames are places
        named after it ("link.tip"), which joints, forces and frames attach to like to a body.

        `com` is the centre of mass in the body's frame, `inertia` the 3 x 3 matrix about the centre of mass
        in the body's axes, or the three moments on its diagonal.

        >>> m = Mechanism("m")
        >>> m.body("flywheel", mass=2.0, inertia=(1, 1, 2)).name
        'flywheel'
        """
        if isinstance(properties, BodyChain):
            return self._add_chain(name, properties)
        with called("body", name):
            text = self._new_place_name(name)
            kind = checked_kind(properties, self._parameters) if isinstance(properties, BodyKind) else None
            if kind is not None and text in self._joints:
                raise ModelError("a body with own coordinates cannot have a joint's name: they are found by it")
            given = _properties(None if kind is not None else properties, mass, com, inertia)
            self._check_properties(given)
            self._bodies[text] = Body(text, given, kind)
            if kind is not None:
                self._add_own_coordinates(text, kind)
        return BodyHandle(text, self)

    def _add_chain(self, name: str, chain: BodyChain) -> BodyHandle:
        """Add the parts of a chain and the welds between them, and frames that have the names of the whole."""
        with called("body", name):
            text = self._new_place_name(name)
        parts = [f"{text}.{i + 1}" for i in range(len(chain.parts))]
        for part, kind in zip(parts, chain.parts, strict=True):
            self.body(part, kind)
        for before, after in pairwise(parts):
            self.fixed(f"{after} weld", f"{before}.{PART_END}", after)
        self.frame(text, on=parts[0])
        self._forwarded[text] = parts[0]
        for interface, (i, own) in chain.interfaces.items():
            self.frame(f"{text}.{interface}", on=f"{parts[i]}.{own}")
            for alias in (f"{text}.{interface}", f"{parts[0]}.{interface}"):
                self._forwarded[alias] = f"{parts[i]}.{own}"
        return BodyHandle(text, self)

    def frame(
        self, name: str, *, on: BodyLike, at: VectorLike = (0.0, 0.0, 0.0), rotation: object = None
    ) -> FrameHandle:
        """Add a named frame on a body or the ground; `rotation` has the frame's axes as columns.

        >>> m = Mechanism("m")
        >>> m.frame("tip", on=m.body("boom"), at=(3, 0, 0)).name
        'tip'
        """
        with called("frame", name):
            text = self._new_place_name(name)
            body = self._body_name(on, "on")
            R = IDENTITY if rotation is None else rotation_matrix(rotation)
            placement = Placement(R, vector(at, "at"))
            self._parameters.check(placement.point, "at")
            self._frames[text] = Frame(text, body, placement)
        return FrameHandle(text, self)

    def coordinate(self, joint: JointLike, index: int = 0) -> ca.SX:
        """Return the symbol of a joint coordinate, for expressions.

        >>> m = Mechanism("m")
        >>> m.coordinate(m.revolute("A", m.ground, m.body("crank")))
        SX(A)
        """
        with called("mechanism", self._name):
            return handed_out(copied(self._symbols.coordinate(*self._coordinate((joint, index))).q))

    def rate(self, joint: JointLike, index: int = 0) -> ca.SX:
        """Return the symbol of the rate of a joint coordinate; see `coordinate`."""
        with called("mechanism", self._name):
            return handed_out(copied(self._symbols.coordinate(*self._coordinate((joint, index))).v))

    def position(self, place: PlaceLike) -> ca.SX:
        """Return the origin of a body or frame in the ground frame (3), for expressions.

        >>> m = Mechanism("m")
        >>> m.position(m.frame("hook", on=m.body("boom"), at=(0, 0, 2)))
        SX([position of hook_0, position of hook_1, position of hook_2])
        """
        with called("mechanism", self._name):
            return handed_out(ca.SX(self._side(place).p))

    def rotation(self, place: PlaceLike) -> ca.SX:
        """Return the axes of a body or frame in the ground frame, as columns (3, 3); see `position`.

        >>> m = Mechanism("m")
        >>> m.rotation(m.body("arm")).shape
        (3, 3)
        """
        with called("mechanism", self._name):
            return handed_out(ca.SX(self._side(place).R))

    def velocity(self, place: PlaceLike) -> ca.SX:
        """Return the angular velocity of a body or frame and its origin's velocity, in ground axes (6).

        >>> m = Mechanism("m")
        >>> m.velocity(m.body("arm")).shape
        (6, 1)
        """
        with called("mechanism", self._name):
            side = self._side(place)
            return handed_out(ca.vertcat(side.w, side.u))

    @property
    def time(self) -> ca.SX:
        """The symbol of time, for expressions.

        >>> Mechanism("m").time
        SX(t)
        """
        return handed_out(copied(self._symbols.time))

    def describe(self) -> Description:
        """Return the mechanism as it is now, frozen.

        >>> Mechanism("m").describe().name
        'm'
        """
        return Description(
            self._name,
            self._gravity,
            tuple(self._bodies.values()),
            tuple(self._joints.values()),
            tuple(self._closures.values()),
            tuple(self._frames.values()),
            self._parameters.all(),
            tuple(sorted(self._forces.values(), key=self._is_described)),
            self._states_in_order(),
            tuple(self._events.values()),
        )

    def _is_described(self, use: ForceUse) -> bool:
        """Tell whether a force was described by itself; those that came with their bodies stand first."""
        body = self._bodies.get(use.name)
        return body is None or body.kind is None

    def build(
        self,
        *,
        fold: bool = False,
        guess: object = None,
        hold: object = None,
        cut: object = None,
        dependent: object = None,
        accuracy: float | None = None,
    ) -> System:
        """Plan the mechanism and return a system that computes.

        With `fold`, parameters become plain numbers at their values. `guess` says roughly where joints are when the
        loops are closed, `hold` which joints stay there; `cut` names joints at which loops must be cut, and
        `dependent` those whose motion shall follow from the others', as far as the loops allow it. `accuracy` tells how
        good the data of loops are, in radians and characteristic lengths (1e-6 unless given): equations that disagree
        by no more than that count as redundant, and runs hold them to it. See `System`. What positions depend on is
        kept in `built_with`, so that `show` shows the mechanism in the same one.
        """
        choices = {"guess": guess, "hold": hold, "cut": cut, "dependent": dependent, "accuracy": accuracy}
        given = {key: value for key, value in choices.items() if value is not None}
        system: System = imported("whippletree.system", "System")(self.describe(), fold=fold, **given)
        self.built_with = {key: given[key] for key in ("guess", "hold", "cut", "accuracy") if key in given}
        return system

    show = Verb(lambda: whippletree.viewer.show_mechanism)

    def _check_properties(self, properties: MassProperties) -> None:
        """Check properties that depend on parameters at the parameters' values."""
        entries = properties.entries()
        if not expressions(entries):
            return
        values = self._parameters.values_of(entries, "mass, com or inertia")
        try:
            given = MassProperties.of_entries(tuple(values))
            MassProperties(given.mass, given.com, given.inertia)
        except ModelError as error:
            raise ModelError(f"at the parameters' values, {error}") from None


def _properties(properties: object, mass: object, com: object, inertia: object) -> MassProperties:
    """Return the properties given in either way."""
    loose = {"mass": mass, "com": com, "inertia": inertia}
    given = {name: value for name, value in loose.items() if value is not None}
    if properties is not None:
        if not isinstance(properties, MassProperties):
            raise ModelError(f"properties must come from a shape or MassProperties, got {shown(properties)}")
        if given:
            raise ModelError(f"give either properties or {' and '.join(given)}")
        return properties
    if "com" in given and "mass" not in given:
        raise ModelError("com is given without mass: give both")
    return MassProperties(**given)  # type: ignore[arg-type]
