"""A mechanism as the next room receives it: frozen, validated, complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import casadi as ca

from whippletree.elements.bodies import BodyKind, MassProperties, OwnCoordinates, Shape
from whippletree.elements.closures import DeclaredClosure, Side
from whippletree.elements.declaration import Declared
from whippletree.elements.forces import ElementForces, ElementState, Force, Formula
from whippletree.elements.joints import Joint
from whippletree.errors import ModelError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.model import serialization
from whippletree.model.implementation import implementations
from whippletree.model.names import suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, Vector3, symbol

__all__ = [
    "GROUND",
    "Body",
    "ClosureUse",
    "Description",
    "EventUse",
    "ForceUse",
    "Frame",
    "JointUse",
    "Parameter",
    "StateUse",
]

GROUND = "ground"

Element = TypeVar("Element")
Acting: TypeAlias = "ClosureUse | ForceUse | StateUse | EventUse"
Used = TypeVar("Used", "ClosureUse", "ForceUse", "StateUse", "EventUse")


@user_facing
@dataclass(frozen=True)
class Parameter:
    """A named number that can be kept open: its symbol stands in the expressions that depend on it.

    >>> Parameter("payload", 2.5, ca.SX.sym("payload")).value
    2.5
    """

    name: str
    value: float
    symbol: ca.SX = field(compare=False)


@user_facing
@readable
@dataclass(frozen=True)
class Body:
    """A body. The ground is not among the bodies.

    A body with own coordinates has a `kind`, whose inertia comes on top of its `properties`.

    >>> Body("arm", MassProperties(2.0)).properties.mass
    2.0
    """

    name: str
    properties: MassProperties
    kind: BodyKind | None = None

    def mass_and_first_moment(self) -> tuple[ca.SX, ca.SX]:
        """Return mass, and mass times the centre (3), of properties and kind together, as it is at rest.

        >>> Body("arm", MassProperties(2.0, com=(0.5, 0.0, 0.0))).mass_and_first_moment()[1][0]
        SX(1)
        """
        m = ca.SX(self.properties.mass)
        h = m * ca.vertcat(*self.properties.com)
        if self.kind is None:
            return m, h
        own, first = self.kind.mass_and_first_moment()
        return m + own, h + first


@user_facing
@readable
@dataclass(frozen=True)
class JointUse:
    """A joint between two bodies, with the placement of its joint frame on each.

    At zero coordinates the two joint frames coincide. If the joint is prescribed, its acceleration is given
    and its driving force comes out. `armature` holds the inertias of its own rates, one for each freedom, or nothing.

    >>> from whippletree.elements.joints import Revolute
    >>> JointUse("A", Revolute(), "ground", "arm", Placement(), Placement(), False).child
    'arm'
    """

    name: str
    joint: Joint
    parent: str
    child: str
    on_parent: Placement
    on_child: Placement
    prescribed: bool
    armature: tuple[Scalar, ...] = ()


@user_facing
@readable
@dataclass(frozen=True)
class ClosureUse:
    """A closure with the places and coordinates that it constrains.

    `sides` are frames, each as a body's name and a placement on it; `coordinates` are joint coordinates, each as a
    joint's name and an index within the joint.

    >>> from whippletree.elements.closures import Coupling
    >>> ClosureUse("pair", Coupling((-2.0, 1.0), 0.0), (), (("A", 0), ("B", 0))).coordinates[1]
    ('B', 0)
    """

    name: str
    closure: DeclaredClosure
    sides: tuple[tuple[str, Placement], ...]
    coordinates: tuple[tuple[str, int], ...]


@user_facing
@readable
@dataclass(frozen=True)
class ForceUse:
    """A force element with the places, coordinates and states that it acts on or reads, states by name.

    `reactions` names the joints whose reactions it depends on.

    >>> from whippletree.elements.forces import TorsionSpring
    >>> ForceUse("return", TorsionSpring(2.0, 0.0, 0.1), (), (("A", 0),), ()).coordinates
    (('A', 0),)
    """

    name: str
    force: Force
    sides: tuple[tuple[str, Placement], ...]
    coordinates: tuple[tuple[str, int], ...]
    states: tuple[str, ...]
    reactions: tuple[str, ...] = ()

    @property
    def own_states(self) -> tuple[str, ...]:
        """The states that the element has itself."""
        return self.states[: len(self.force.state_labels)]

    def traced(self) -> ElementForces:
        """Return its forces, in symbols for all quantities that it reads."""
        sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(letter, 3) for letter in "pwu")) for _ in self.sides)
        n, m = len(self.coordinates), 6 * len(self.reactions)
        sizes = {"q": n, "v": n, "z": len(self.states), "t": 1, "r": m, "load": self.force.n_loads}
        return self.force.act(ElementState(sides, **{name: ca.SX.sym(name, size) for name, size in sizes.items()}))

    @cached_property
    def acts_on(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sides and the coordinates that it acts on, by number: not those that its formulas only read.

        >>> from whippletree.elements.forces import TorsionSpring
        >>> ForceUse("return", TorsionSpring(2.0, 0.0, 0.1), (), (("A", 0),), ()).acts_on
        ((), (0,))
        """
        done, n = self.traced(), len(self.coordinates)
        acting = tuple(k for k, wrench in enumerate(done.wrenches) if not ca.SX(wrench).is_zero())
        moving = tuple(k for k in range(n) if not ca.SX(done.efforts)[k].is_zero())
        if acting or moving:
            return acting, moving
        return tuple(range(len(self.sides))), tuple(range(n))  # a force that is zero by its formula


@user_facing
@readable
@dataclass(frozen=True)
class StateUse:
    """An auxiliary state: its value at the start, and the formula of its rate with the quantities that this reads."""

    name: str
    value: float
    rate: Formula
    sides: tuple[tuple[str, Placement], ...]
    coordinates: tuple[tuple[str, int], ...]
    states: tuple[str, ...]


@readable
@dataclass(frozen=True)
class EventUse:
    """A zero crossing to look for, and the values that are set when it is found.

    The first entry of `formula` is watched, the others are the new values of `sets`: each (kind, name, index), the kind
    being "velocity", "effort", "state" or "parameter". `direction` is 1 for rising, -1 for falling, 0 for both.
    """

    name: str
    formula: Formula
    sides: tuple[tuple[str, Placement], ...]
    coordinates: tuple[tuple[str, int], ...]
    states: tuple[str, ...]
    direction: int
    stop: bool
    sets: tuple[tuple[str, str, int], ...]

    @property
    def acts(self) -> bool:
        """Whether the run does not simply go on."""
        return self.stop or bool(self.sets)


@user_facing
@dataclass(frozen=True)
class Frame:
    """A named frame on a body or on the ground.

    >>> Frame("tip", "arm", Placement(point=(1, 0, 0))).body
    'arm'
    """

    name: str
    body: str
    placement: Placement


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class Description:
    """All there is to know about a mechanism; made by `Mechanism.describe`.

    Elements are in the order they were declared. Two descriptions are equal if their fingerprints and
    parameter values are.

    >>> from whippletree.model import Mechanism
    >>> d = Mechanism("empty").describe()
    >>> d.gravity, d.bodies
    ((0.0, 0.0, -9.81), ())
    """

    name: str
    gravity: Vector3
    bodies: tuple[Body, ...]
    joints: tuple[JointUse, ...]
    closures: tuple[ClosureUse, ...]
    frames: tuple[Frame, ...]
    parameters: tuple[Parameter, ...]
    forces: tuple[ForceUse, ...] = ()
    states: tuple[StateUse, ...] = ()
    events: tuple[EventUse, ...] = ()

    def body(self, name: str) -> Body:
        """Return the body of that name.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> arm = m.body("arm", mass=2.0)
        >>> m.describe().body("arm").properties.mass
        2.0
        """
        return _found(self._bodies, name, "body", self.name)

    def joint(self, name: str) -> JointUse:
        """Return the joint of that name; see `body`."""
        return _found(self._joints, name, "joint", self.name)

    def closure(self, name: str) -> ClosureUse:
        """Return the closure of that name; see `body`."""
        return _found(self._closures, name, "closure", self.name)

    def frame(self, name: str) -> Frame:
        """Return the frame of that name; see `body`."""
        return _found(self._frames, name, "frame", self.name)

    def force(self, name: str) -> ForceUse:
        """Return the force element of that name; see `body`."""
        return _found(self._forces, name, "force", self.name)

    def state(self, name: str) -> StateUse:
        """Return the auxiliary state of that name; see `body`."""
        return _found(self._states, name, "state", self.name)

    def event(self, name: str) -> EventUse:
        """Return the event of that name; see `body`."""
        return _found({use.name: use for use in self.events}, name, "event", self.name)

    @property
    def parameter_values(self) -> tuple[float, ...]:
        """The parameters' values as described, in order."""
        return tuple(parameter.value for parameter in self.parameters)

    @property
    def state_values(self) -> tuple[float, ...]:
        """The auxiliary states' values at the start, in order."""
        return tuple(use.value for use in self.states)

    @property
    def timed(self) -> bool:
        """Whether something depends on time."""
        return self.closures_timed or self.forces_timed

    @cached_property
    def closures_timed(self) -> bool:
        """Whether some closure depends on time."""
        return any(use.closure.timed for use in self.closures)

    @cached_property
    def closures_moving(self) -> bool:
        """Whether some closure may do work: it depends on time, or gives a velocity."""
        return any(use.closure.timed or not use.closure.holonomic for use in self.closures)

    @property
    def written_states(self) -> tuple[StateUse, ...]:
        """The auxiliary states that were declared with a written rate; those of force elements come after them."""
        return self.states[: len(self.states) - sum(len(use.own_states) for use in self.forces)]

    @property
    def powered(self) -> bool:
        """Whether something may put energy in or take it out besides efforts that are given."""
        return bool(self.forces) or self.closures_moving or any(use.prescribed for use in self.joints)

    @cached_property
    def states_store(self) -> bool:
        """Whether the energy may depend on auxiliary states: some force element has states of its own."""
        return any(use.own_states for use in self.forces)

    @cached_property
    def reaction_laws(self) -> tuple[ForceUse, ...]:
        """The force elements that depend on reactions."""
        return tuple(use for use in self.forces if use.force.n_loads)

    @cached_property
    def forces_timed(self) -> bool:
        """Whether some force element or the rate of some state depends on time."""
        return any(use.force.timed for use in self.forces) or any(use.rate.timed for use in self.states)

    @cached_property
    def events_timed(self) -> bool:
        """Whether some event depends on time."""
        return any(use.formula.timed for use in self.events)

    @cached_property
    def coordinate_owners(self) -> tuple[JointUse, ...]:
        """Everything that has coordinates, in the order of q and v: all joints, then the bodies with own coordinates.

        The own coordinates of a body are told like those of a joint.
        """
        here = Placement.identity()
        own = (
            JointUse(body.name, OwnCoordinates(body.kind), body.name, body.name, here, here, False)
            for body in self.bodies
            if body.kind is not None
        )
        return (*self.joints, *own)

    def body_of(self, place: str) -> str:
        """Return the body that a moving frame is on ("link.tip" is on "link"); that of a body is itself."""
        return self.moving_frames.get(place, place)

    @property
    def places(self) -> tuple[str, ...]:
        """All that has a pose of its own: the bodies, then the moving frames.

        >>> from whippletree.model import Mechanism
        >>> Mechanism("empty").describe().places
        ()
        """
        return (*(body.name for body in self.bodies), *self.moving_frames)

    @cached_property
    def moving_frames(self) -> dict[str, str]:
        """The body of each moving frame."""
        kinds = ((body.name, body.kind) for body in self.bodies if body.kind is not None)
        return {f"{name}.{frame}": name for name, kind in kinds for frame in kind.frames}

    def fingerprint(self) -> str:
        """Return a sha256 of everything described except the values of parameters.

        >>> from whippletree.model import Mechanism
        >>> Mechanism("a").describe().fingerprint() == Mechanism("b").describe().fingerprint()
        False
        """
        return self._fingerprint

    def folded(self) -> Description:
        """Return the same mechanism with every parameter replaced by its value.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> arm = m.body("arm", mass=2.0 * m.parameter("unit", 3.0))
        >>> m.describe().folded().body("arm").properties.mass
        6.0
        """
        given = (self._symbols, self.parameter_values)
        plain = self.with_numbers(serialization.evaluated(self.numbers(), *given), ())
        return plain.with_shapes(self._shapes, iter(serialization.evaluated(self.shape_numbers(), *given)))

    def with_numbers(self, numbers: Iterable[Scalar], parameters: tuple[Parameter, ...]) -> Description:
        """Return the same mechanism with other numbers, as many as `numbers` yields, and these parameters in them.

        What bodies look like is left behind.

        >>> from whippletree.model import Mechanism
        >>> Mechanism("m").describe().with_numbers([0.0, -1.62, 0.0], ()).gravity
        (0.0, -1.62, 0.0)
        """
        outline, given, count = self.outline(), tuple(numbers), sum(1 for _ in self.numbers())
        if len(given) != count:
            raise ModelError(f'mechanism "{self.name}" has {count} numbers, and {len(given)} are given')
        names = tuple(parameter.name for parameter in parameters)
        return _assembled((*outline[:5], names, *outline[6:]), parameters, iter(given))

    def with_shapes(self, shapes: tuple[tuple[Shape, ...], ...], numbers: Iterator[Scalar]) -> Description:
        """Return the same mechanism with shapes like these on its bodies, of these numbers.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> ball = m.body("ball")
        >>> numbers = iter(Shape("sphere", (0.5,)).numbers())
        >>> with_ball = m.describe().with_shapes(((Shape.blank("sphere"),),), numbers)
        >>> with_ball.body("ball").properties.shapes[0].size
        (0.5,)
        """
        if not any(shapes):
            return self
        bodies = []
        for body, like in zip(self.bodies, shapes, strict=True):
            own = tuple(one.with_numbers(serialization.take(numbers, len(one.numbers()))) for one in like)
            bodies.append(replace(body, properties=body.properties.drawn_as(own)))
        return replace(self, bodies=tuple(bodies))

    def numbers(self) -> Iterator[Scalar]:
        """Yield every number and expression of the description, in a fixed order.

        >>> from whippletree.model import Mechanism
        >>> list(Mechanism("empty").describe().numbers())
        [0.0, 0.0, -9.81]
        """
        yield from self.gravity
        for body in self.bodies:
            yield from body.properties.entries()
            if body.kind is not None:
                yield from body.kind.entries()
        for use in self.joints:
            yield from use.joint.constants()
            yield from use.armature
            yield from use.on_parent.entries()
            yield from use.on_child.entries()
        yield from _acting_numbers(self.closures)
        for frame in self.frames:
            yield from frame.placement.entries()
        yield from _acting_numbers((*self.forces, *self.states, *self.events))

    def shape_numbers(self) -> Iterator[Scalar]:
        """Yield the numbers of the shapes that bodies are drawn with; the fingerprint does not depend on them.

        >>> from whippletree.model import Mechanism
        >>> list(Mechanism("empty").describe().shape_numbers())
        []
        """
        return (number for shapes in self._shapes for shape in shapes for number in shape.numbers())

    def outline(self) -> serialization.Outline:
        """Return everything that is not a number: names, types and connections.

        >>> from whippletree.model import Mechanism
        >>> Mechanism("empty").describe().outline()
        ('empty', (), (), (), (), (), (), (), ())
        """
        return (
            self.name,
            tuple(_body_outline(body) for body in self.bodies),
            tuple(_use_outline(use) for use in self.joints),
            tuple(map(_acting_outline, self.closures)),
            tuple((frame.name, frame.body) for frame in self.frames),
            tuple(parameter.name for parameter in self.parameters),
            tuple(map(_acting_outline, self.forces)),
            tuple(map(_acting_outline, self.states)),
            tuple(map(_acting_outline, self.events)),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Description):
            return NotImplemented
        same_values = self.parameter_values == other.parameter_values
        return same_values and self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without symbols, which CasADi does not pickle: expressions travel as a function."""
        packed = serialization.packed(self.numbers(), self._symbols)
        kinds = tuple(tuple((one.kind, one.file, one.color, one.collides) for one in own) for own in self._shapes)
        drawn = (kinds, *serialization.packed(self.shape_numbers(), self._symbols))
        return _restored, (self.outline(), self.parameter_values, *packed, drawn)

    @property
    def _shapes(self) -> tuple[tuple[Shape, ...], ...]:
        return tuple(body.properties.shapes for body in self.bodies)

    @property
    def _symbols(self) -> list[ca.SX]:
        return [parameter.symbol for parameter in self.parameters]

    @cached_property
    def _fingerprint(self) -> str:
        elements: list[tuple[Joint | DeclaredClosure | Force | BodyKind, int, int, int]] = [
            *((body.kind, 0, 0, 0) for body in self.bodies if body.kind is not None),
            *((use.joint, 2, 0, 0) for use in self.joints),
            *((use.closure, len(use.sides), len(use.coordinates), 0) for use in self.closures),
            *((use.force, len(use.sides), len(use.coordinates), len(use.states)) for use in self.forces),
        ]
        return serialization.digest(self.outline(), self.numbers(), self._symbols, implementations(elements))

    @cached_property
    def _bodies(self) -> dict[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def _joints(self) -> dict[str, JointUse]:
        return {use.name: use for use in self.joints}

    @cached_property
    def _closures(self) -> dict[str, ClosureUse]:
        return {use.name: use for use in self.closures}

    @cached_property
    def _forces(self) -> dict[str, ForceUse]:
        return {use.name: use for use in self.forces}

    @cached_property
    def _states(self) -> dict[str, StateUse]:
        return {use.name: use for use in self.states}

    @cached_property
    def _frames(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}


def _found(elements: dict[str, Element], name: str, kind: str, mechanism: str) -> Element:
    """Look up a name; the error for an unknown one lists the known ones."""
    found = elements.get(name) if isinstance(name, str) else None
    if found is None:
        raise ModelError(f'mechanism "{mechanism}" has no {kind} {suggestion(name, elements)}')
    return found


def _restored(
    outline: serialization.Outline, values: tuple[float, ...], packed: bytes, expressions: str | None, drawn: Any
) -> Description:
    """Build a description again from its pickled form, with new symbols for its parameters."""
    parameters = tuple(Parameter(name, value, symbol(name)) for name, value in zip(outline[5], values, strict=True))
    symbols = [parameter.symbol for parameter in parameters]
    described = _assembled(outline, parameters, serialization.unpacked(packed, expressions, symbols))
    kinds, drawn_numbers, drawn_expressions = drawn
    shapes = tuple(tuple(Shape.blank(*one) for one in own) for own in kinds)
    return described.with_shapes(shapes, serialization.unpacked(drawn_numbers, drawn_expressions, symbols))


def _assembled(
    outline: serialization.Outline, parameters: tuple[Parameter, ...], numbers: Iterator[Scalar]
) -> Description:
    """Build a description from its outline and its numbers in order."""
    name, bodies, uses, closures, frames, _, forces, states, events = outline
    return Description(
        name,
        serialization.take_vector(numbers),
        tuple(_restored_body(body, numbers) for body in bodies),
        tuple(_restored_use(use, numbers) for use in uses),
        tuple(_restored_acting(ClosureUse, use, numbers) for use in closures),
        tuple(Frame(name, body, Placement.of_entries(serialization.take(numbers, 12))) for name, body in frames),
        parameters,
        tuple(_restored_acting(ForceUse, use, numbers) for use in forces),
        tuple(_restored_acting(StateUse, use, numbers) for use in states),
        tuple(_restored_acting(EventUse, use, numbers) for use in events),
    )


def _body_outline(body: Body) -> serialization.BodyOutline:
    if body.kind is None:
        return body.name, None, "", 0
    return body.name, type(body.kind), body.kind.text, len(body.kind.entries())


def _restored_body(body: serialization.BodyOutline, numbers: Iterator[Scalar]) -> Body:
    name, kind, text, count = body
    properties = MassProperties.of_entries(serialization.take(numbers, 13))
    return Body(name, properties, None if kind is None else kind.of(text, serialization.take(numbers, count)))


def _use_outline(use: JointUse) -> serialization.UseOutline:
    return use.name, type(use.joint), use.parent, use.child, use.prescribed, len(use.armature)


def _restored_use(use: serialization.UseOutline, numbers: Iterator[Scalar]) -> JointUse:
    name, joint_type, parent, child, prescribed, count = use
    joint = joint_type(*serialization.take(numbers, len(fields(joint_type))))  # type: ignore[arg-type]
    armature = tuple(serialization.take(numbers, count))
    on_parent = Placement.of_entries(serialization.take(numbers, 12))
    on_child = Placement.of_entries(serialization.take(numbers, 12))
    return JointUse(name, joint, parent, child, on_parent, on_child, prescribed, armature)


_ELEMENT: dict[type, str] = {ClosureUse: "closure", ForceUse: "force", StateUse: "rate", EventUse: "formula"}


def _element(use: Acting) -> Declared:
    element: Declared = getattr(use, _ELEMENT[type(use)])
    return element


def _acting_numbers(uses: Iterable[Acting]) -> Iterator[Scalar]:
    for use in uses:
        if isinstance(use, StateUse):
            yield use.value
        yield from _element(use).entries()
        for _, placement in use.sides:
            yield from placement.entries()


def _acting_outline(use: Acting) -> tuple[Any, ...]:
    """Return the outline of an element on sides: name, type, the element's text and count of numbers, and the rest."""
    element, bodies = _element(use), tuple(body for body, _ in use.sides)
    rest = [each.name for each in fields(use)]
    kind = () if isinstance(element, Formula) else (type(element),)
    more = (getattr(use, name) for name in rest[rest.index("sides") + 1 :])
    return use.name, *kind, element.text, len(element.entries()), bodies, *more


def _restored_acting(made: Callable[..., Used], outline: Sequence[Any], numbers: Iterator[Scalar]) -> Used:
    name, *rest = outline
    kind = Formula if isinstance(rest[0], str) else rest.pop(0)
    text, count, bodies, *more = rest
    value: list[Any] = [float(next(numbers))] if made is StateUse else []  # not empty: as many as the outline has
    element = kind.of(text, serialization.take(numbers, count))
    sides = tuple((body, Placement.of_entries(serialization.take(numbers, 12))) for body in bodies)
    return made(name, *value, element, sides, *more)
