"""What acts in a mechanism: the calls that declare springs, friction, stops, contacts, actuators, loads and states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import casadi as ca
import numpy as np

from whippletree.elements.forces import (
    RUBBING,
    Actuator,
    BearingFriction,
    Bushing,
    Force,
    Formula,
    Friction,
    LawSpring,
    Limit,
    Load,
    Spring,
    TorsionSpring,
)
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.description import GROUND, ForceUse, StateUse
from whippletree.model.element_registry import CoordinateLike, JointLike, PlaceLike, Registry, SideLike, SideUse
from whippletree.model.fields import checked
from whippletree.model.formulas import FormulaContext, Read, element_rates, read_formula
from whippletree.model.handles import ForceHandle
from whippletree.model.joint_frames import AlignedSides, PoseLike
from whippletree.model.model_tolerances import ENERGY_SLOPE, SYMMETRIC
from whippletree.model.names import called, new_name, suggestion
from whippletree.model.symbols import ReactionSymbols
from whippletree.spatial.handed_out import handed_out
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import (
    Scalar,
    VectorLike,
    expressions,
    number,
    read_column,
    read_matrix_or_diagonal,
    shown,
    vector,
)
from whippletree.symbolic.arithmetic import copied

__all__ = ["ForceCalls"]

ExpressionLike: TypeAlias = ca.SX | float
Law: TypeAlias = ca.SX | Callable[[ca.SX, ca.SX], object]


@user_facing
class ForceCalls(Registry):
    """The calls of a mechanism that are about forces.

    Places are bodies or frames, points are in their coordinates. An expression is written in what `coordinate`, `rate`,
    `position`, `rotation`, `velocity`, `time`, `state` and `parameter` return; a number is one as well.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> wheel = m.body("wheel", mass=20.0)
    >>> travel = m.prismatic("travel", m.ground, wheel)
    >>> m.spring("strut", m.ground, wheel, at=(0, 0, 0.5), stiffness=2e4, free_length=0.4, damping=1e3).name
    'strut'
    """

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
            own = checked(force, self._parameters)
            sides, where = self._held(own, on, coordinates)
            return self._act(name, own, sides, where, initial=initial)

    # ------------------------------------------------------------------ between bodies

    def spring(
        self,
        name: str,
        parent: PlaceLike,
        child: PlaceLike,
        *,
        stiffness: Scalar | None = None,
        free_length: Scalar | None = None,
        damping: Scalar | None = None,
        law: Law | None = None,
        energy: Law | None = None,
        at: VectorLike | None = None,
        at_child: VectorLike | None = None,
    ) -> ForceHandle:
        """Pull two points together with stiffness x + damping x', where x is length less `free_length`.

        With a `law` instead, the pull is whatever that says: an expression in `elongation` and `elongation_rate`
        and anything else that can be written, or a function of these two. `energy`, of the elongation, is what the
        law stores at rest: then that counts as energy of the mechanism; without it the law's work is input.
        Where the points coincide, the force has no direction and is none.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.spring("bump stop", m.ground, m.body("axle"), law=lambda x, rate: 1e6 * x**3 + 50 * rate).name
        'bump stop'
        """
        with called("force", name):
            sides = self._two_sides(parent, child, AlignedSides(at=at, at_child=at_child), "a spring")
            if law is not None:
                _refused("law", stiffness=stiffness, damping=damping)
                read = self._law(law, energy)
                free = LawSpring(read.formula, 0.0 if free_length is None else free_length)
                return self._act(name, checked(free, self._parameters), sides, (), read)
            _refused("stiffness", "energy is that of a law", energy=energy)
            if stiffness is None and damping is None:
                raise ModelError("give stiffness and free_length, or damping, or a law")
            if stiffness is not None and free_length is None:
                raise ModelError("free_length is missing: give the length at which the spring does not pull")
            given = (0.0 if value is None else value for value in (stiffness, free_length, damping))
            return self._act(name, checked(Spring(*given), self._parameters), sides, ())

    def bushing(
        self,
        name: str,
        parent: PlaceLike,
        child: PlaceLike,
        *,
        stiffness: object,
        damping: object = None,
        at: VectorLike | None = None,
        at_child: VectorLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
    ) -> ForceHandle:
        """Hold a frame on the child to a frame on the parent elastically, in all six directions.

        `stiffness` and `damping` are six numbers, three for rotations about x, y, z of the frame on the parent and
        three for displacements along them, or symmetric 6 x 6 matrices. The frames, given as for the joint `fixed`,
        coincide where nothing is deformed.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> rubber = (50, 50, 20, 1e6, 1e6, 2e5)
        >>> m.bushing("mount", m.ground, m.body("engine"), at=(0, 0, 1), stiffness=rubber).name
        'mount'
        """
        with called("force", name):
            frames = AlignedSides(at, None, at_child, None, pose, pose_child)
            sides = self._two_sides(parent, child, frames, "a bushing")
            K = self._six_by_six(stiffness, "stiffness")
            C = self._six_by_six((0.0,) * 6 if damping is None else damping, "damping")
            return self._act(name, Bushing(K, C), sides, ())

    # ------------------------------------------------------------------ in joints

    def torsion_spring(
        self,
        name: str,
        joint: JointLike,
        *,
        stiffness: Scalar,
        rest: Scalar = 0.0,
        damping: Scalar = 0.0,
        index: int = 0,
    ) -> ForceHandle:
        """Act on a joint coordinate, an angle or a displacement, with -stiffness (q - rest) - damping q'.

        `index` says which coordinate, for joints that have several.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
        >>> m.torsion_spring("return", hinge, stiffness=2.0, rest=0.1).name
        'return'
        """
        with called("force", name):
            coordinate = self._coordinate((joint, index))
            spring = checked(TorsionSpring(stiffness, rest, damping), self._parameters)
            return self._act(name, spring, (), (coordinate,))

    def friction(
        self,
        name: str,
        joint: JointLike,
        *,
        coulomb: Scalar | None = None,
        viscous: Scalar | None = None,
        speed: Scalar = 0.01,
        index: int | None = None,
        coefficient: Scalar | None = None,
        radius: Scalar | None = None,
        length: Scalar | None = None,
        thrust_radius: Scalar | None = None,
        preload: Scalar | None = None,
    ) -> ForceHandle:
        """Act against the rate of a joint coordinate with coulomb tanh(rate / speed) + viscous rate.

        Below `speed` dry friction is like a stiff damper: the joint creeps where it ought to stick.

        With a `coefficient` instead, friction follows from what the joint transmits: coefficient times the load of its
        bearing. That is the force across a prismatic, revolute or cylindrical joint, or the force in a spherical one;
        joints that turn have the `radius` of their bearing. With a `length` the bearing is two short ones at that
        distance, which carry the moment across the joint too; a revolute joint with a `thrust_radius` rubs under the
        force along its axis, and a prismatic one with a `radius` under the moment about it. `preload` is a load that
        is always there. Accelerations, reactions and friction are found together; see docs/theory/friction.md.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
        >>> m.friction("bearing", hinge, coulomb=0.3, viscous=0.01).name
        'bearing'
        >>> m.friction("loaded bearing", hinge, coefficient=0.1, radius=0.02).name
        'loaded bearing'
        """
        of_bearing = {"radius": radius, "length": length, "thrust_radius": thrust_radius, "preload": preload}
        with called("force", name):
            if coefficient is not None:
                _refused("coefficient", "make two elements", coulomb=coulomb, viscous=viscous)
                _refused("coefficient", "the bearing has all freedoms of the joint", index=index)
                given = {key: value for key, value in of_bearing.items() if value is not None}
                return self._bearing_friction(name, joint, coefficient=coefficient, speed=speed, **given)
            for key, value in of_bearing.items():
                if value is not None:
                    raise ModelError(f"{key} is that of a bearing: give the coefficient of friction too")
            freedom = self._freedom(joint, 0 if index is None else index)
            dry, wet = (0.0 if value is None else value for value in (coulomb, viscous))
            force = checked(Friction(dry, wet, speed), self._parameters)
            dry, wet = force.coulomb, force.viscous
            if not expressions((dry, wet)) and dry == wet == 0.0:
                raise ModelError("give coulomb, viscous, or both, or the coefficient of a bearing")
            return self._act(name, force, (), (freedom,))

    def _bearing_friction(self, name: str, joint: JointLike, **given: Scalar) -> ForceHandle:
        """Add friction that follows from what a joint transmits."""
        where = self._joint_name(joint)
        kind = self._joints[where].joint.kind
        if kind not in RUBBING:
            raise ModelError(
                f'joint "{where}" is {kind}: friction by a coefficient is in {", ".join(RUBBING)} joints; write '
                "another law as the effort of an actuator, in what .reaction returns"
            )
        if kind != "prismatic" and "radius" not in given:
            raise ModelError(f'joint "{where}" is {kind}: give the radius of its bearing')
        only = {"length": ("spherical",), "thrust_radius": ("prismatic", "cylindrical", "spherical")}
        for key, without in only.items():
            if key in given and kind in without:
                raise ModelError(f'joint "{where}" is {kind}: its bearing has no {key}')
        force = checked(BearingFriction(kind, **given), self._parameters)
        freedoms = tuple((where, k) for k in range(RUBBING[kind]))
        return self._act(name, force, (), freedoms, reactions=(where,))

    def limit(
        self,
        name: str,
        joint: JointLike,
        *,
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        stiffness: Scalar,
        damping: Scalar = 0.0,
        width: Scalar = 1e-3,
        index: int = 0,
    ) -> ForceHandle:
        """Keep a joint coordinate above `lower` and below `upper` by stops, either of which may be left out.

        A stop takes hold smoothly over `width`, and is a spring with a damper beyond; it never pulls.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
        >>> m.limit("stop", hinge, lower=-0.5, upper=1.2, stiffness=1e4, damping=20).name
        'stop'
        """
        with called("force", name):
            coordinate = self._coordinate((joint, index))
            if lower is None and upper is None:
                raise ModelError("give lower, upper, or both")
            stops = checked(Limit(lower, upper, stiffness, damping, width), self._parameters)
            if stops.lower is not None and stops.upper is not None:
                a, b = self._parameters.values_of([stops.lower, stops.upper], "a limit")
                if a >= b:
                    raise ModelError(f"lower must be less than upper, got {a:g} and {b:g}")
            return self._act(name, stops, (), (coordinate,))

    def actuator(self, name: str, joint: JointLike, *, effort: ExpressionLike, index: int = 0) -> ForceHandle:
        """Act on a joint coordinate with an effort, which is a number or an expression: a motor, a controller.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("arm"))
        >>> m.actuator("servo", hinge, effort=20 * (ca.sin(m.time) - m.coordinate("hinge")) - 2 * m.rate("hinge")).name
        'servo'
        """
        with called("force", name):
            freedom = self._freedom(joint, index)
            read = self._formula(effort, 1, "effort", of_reactions=True)
            return self._act(name, Actuator(read.formula), (), (freedom,), read)

    # ------------------------------------------------------------------ on one body

    def load(
        self,
        name: str,
        place: PlaceLike,
        *,
        force: object = None,
        moment: object = None,
        wrench: object = None,
        at: VectorLike | None = None,
        frame: str = "ground",
    ) -> ForceHandle:
        """Act on a body or frame with a force and a moment, or a wrench [moment; force], at the point `at`.

        These are numbers or expressions, in the axes of the ground, or with `frame="body"` of the place itself.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.load("thrust", m.body("rocket"), force=(0, 0, 100 * ca.exp(-m.time)), frame="body").name
        'thrust'
        """
        with called("force", name):
            if not isinstance(frame, str) or frame not in ("ground", "body"):
                raise ModelError(f'frame must be "ground" or "body", got {shown(frame)}')
            side = self._moving_side(place, at, "a load")
            if wrench is not None:
                _refused("wrench", "it holds both", force=force, moment=moment)
                read = self._formula(wrench, 6, "wrench", of_reactions=True)
            else:
                if force is None and moment is None:
                    raise ModelError("give force, moment, or wrench = [moment; force]")
                parts = [
                    (0.0,) * 3 if part is None else self._entries(part, 3, what)
                    for part, what in ((moment, "moment"), (force, "force"))
                ]
                read = self._formula((*parts[0], *parts[1]), 6, "force or moment", of_reactions=True)
            return self._act(name, Load(read.formula, frame == "body"), (side,), (), read)

    # ------------------------------------------------------------------ states

    def state(self, name: str, value: float = 0.0, *, rate: object = None) -> ca.SX:
        """Declare an auxiliary state and return its symbol; at the start it has this value.

        `rate` is an expression, or a function from the state's symbol to one. Without a rate the state keeps its
        value, until `state_rate` gives it one, or it is set from outside between steps.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("arm"))
        >>> torque = m.state("torque", 0.0, rate=lambda z: (ca.sin(m.time) - z) / 0.05)
        >>> m.actuator("motor", hinge, effort=torque).name
        'motor'
        """
        with called("state", name):
            text = new_name(name, self._states, "states")
            use = self._state_use(text, number(value, "value"), self._rate(text, 0.0 if rate is None else rate))
            self._states[text] = use
            return handed_out(copied(self._symbols.state(text)))

    def state_rate(self, name: str, rate: object) -> None:
        """Say how fast a state changes, given as for `state`; states can so depend on each other.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> x, y = m.state("x", 1.0), m.state("y")
        >>> m.state_rate("x", y)
        >>> m.state_rate("y", -x)
        """
        with called("state", name):
            text = self._state_name(name)
            if any(text in use.own_states for use in self._forces.values()):
                raise ModelError("the state belongs to a force element, which says itself how fast it changes")
            self._states[text] = self._state_use(text, self._states[text].value, self._rate(text, rate))

    def state_symbol(self, name: str) -> ca.SX:
        """Return the symbol of a state that was declared before.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> z = m.state("z", 1.0)
        >>> m.state_symbol("z")
        SX(z)
        """
        with called("mechanism", self._name):
            return handed_out(copied(self._symbols.state(self._state_name(name))))

    def reaction(self, joint: JointLike) -> ReactionSymbols:
        """Return the symbols of what a joint transmits to its child: mx, my, mz, fx, fy, fz, for expressions.

        They are in the axes of the joint's frame on the parent, whose z axis is the joint's, at the joint point on the
        child, and stand in the effort of an actuator or in a load. `.moment` and `.force` are columns of three.
        Components that redundancy leaves open are refused when the mechanism is built.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> slide = m.prismatic("slide", m.ground, m.body("block"), axis="x")
        >>> pressed = ca.sqrt(1.0 + m.reaction(slide).fx ** 2 + m.reaction(slide).fy ** 2)
        >>> m.actuator("rubbing", slide, effort=-0.2 * pressed * ca.tanh(m.rate(slide) / 0.01)).name
        'rubbing'
        """
        with called("mechanism", self._name):
            return ReactionSymbols(*map(handed_out, ca.vertsplit(self._symbols.reaction(self._joint_name(joint)))))

    @property
    def elongation(self) -> ca.SX:
        """The symbol of a spring's elongation, for its law.

        >>> from whippletree.model import Mechanism
        >>> Mechanism("m").elongation
        SX(elongation)
        """
        return handed_out(copied(self._symbols.elongation))

    @property
    def elongation_rate(self) -> ca.SX:
        """The symbol of how fast a spring gets longer, for its law; see `elongation`."""
        return handed_out(copied(self._symbols.elongation_rate))

    # ------------------------------------------------------------------ inside

    def _act(
        self,
        name: str,
        force: Force,
        sides: tuple[SideUse, ...],
        coordinates: tuple[tuple[str, int], ...],
        read: Read | None = None,
        initial: Sequence[float] = (),
        reactions: tuple[str, ...] = (),
    ) -> ForceHandle:
        """Add a force element and its own states; what its formula reads comes after what it acts on."""
        text = new_name(name, self._forces, "forces")
        states = tuple(new_name(f"{text}.{label}", self._states, "states") for label in force.state_labels)
        values = read_column(initial or (0.0,) * len(states), len(states), "initial")
        if read is not None:
            sides = (*sides, *(self._placed(place) for place in read.places))
            coordinates, states = (*coordinates, *read.coordinates), (*states, *read.states)
            reactions = read.reactions
        use = ForceUse(text, force, sides, coordinates, states, reactions)
        rates = element_rates(use, self._parameters)
        for state, value, rate in zip(states, values, rates, strict=False):
            self._states[state] = StateUse(state, number(value, "initial"), rate, sides, coordinates, states)
        self._forces[text] = use
        return ForceHandle(text, self._self)

    def _states_in_order(self) -> tuple[StateUse, ...]:
        """Return the states that were declared, then those that force elements have themselves."""
        owned = dict.fromkeys(name for use in self._forces.values() for name in use.own_states)
        return tuple(self._states[name] for name in (*(s for s in self._states if s not in owned), *owned))

    def _state_use(self, name: str, value: float, read: Read) -> StateUse:
        sides = tuple(self._placed(place) for place in read.places)
        return StateUse(name, value, read.formula, sides, read.coordinates, read.states)

    def _state_name(self, name: object) -> str:
        if isinstance(name, str) and name in self._states:
            return str.__str__(name)
        raise ModelError(f"there is no state {suggestion(name, self._states)}")

    def _rate(self, state: str, rate: object) -> Read:
        """Return the formula of a state's rate."""
        if callable(rate):
            rate = _called_with(rate, "rate", handed_out(copied(self._symbols.state(state))))
        return self._formula(rate, 1, "rate")

    def _law(self, law: object, energy: object) -> Read:
        """Return the formula of a force law, with its energy as a second entry if that is given."""
        own = self.elongation, self.elongation_rate
        if callable(law):
            law = _called_with(law, "law", *own)
        if callable(energy):
            energy = _called_with(energy, "energy", own[0])
        read = self._formula(law, 1, "law", of_length=True)
        if energy is None:
            return read
        stored = self._formula(energy, 1, "energy", of_length=True)
        if not read.formula.own or not stored.formula.own:
            raise ModelError("energy goes with a law that depends on elongation, its rate and parameters alone")
        both = self._formula((law, energy), 2, "law and energy", of_length=True)
        self._check_energy(both.formula)
        return both

    def _check_energy(self, law: Formula) -> None:
        """Check at some elongations that the law at rest is the derivative of its energy."""
        x = ca.SX.sym("x")
        values = self._parameters.values_of(law.arguments, "a parameter")
        none = ca.SX(0, 1)
        column = law.function(ca.SX(9, 0), *[ca.SX(3, 0)] * 3, none, none, none, ca.vertcat(x, 0), ca.SX(0), values)
        both = ca.Function("both", [x], [column[0], ca.gradient(column[1], x)])
        sizes = np.geomspace(1e-3, 1.0, 7)
        for point in (*sizes, *-sizes):
            force, slope = (float(part) for part in both(point))
            if np.isfinite([force, slope]).all() and abs(force - slope) > ENERGY_SLOPE * (abs(force) + abs(slope)):
                raise ModelError(
                    f"energy does not belong to the law: at the elongation {point:g} and at rest the law gives "
                    f"{force:g}, but the derivative of the energy is {slope:g}"
                )

    def _formula(
        self, expression: object, count: int, what: str, *, of_length: bool = False, of_reactions: bool = False
    ) -> Read:
        context = FormulaContext(self._symbols, self._parameters, self._place_order, self._coordinate_order)
        return read_formula(expression, count, what, context, of_length=of_length, of_reactions=of_reactions)

    def _entries(self, value: object, count: int, what: str) -> Sequence[Scalar]:
        """Return a column that may hold any of the mechanism's symbols."""
        if issubclass(type(value), ca.MX):
            self._formula(value, count, what)
        return read_column(value, count, what)

    def _two_sides(self, parent: object, child: object, frames: AlignedSides, what: str) -> tuple[SideUse, SideUse]:
        """Return the frames on two places, which must be on different bodies."""
        near, far = self._placed(self._place_name(parent, "parent")), self._placed(self._place_name(child, "child"))
        if near[0] == far[0]:
            raise ModelError(f'parent and child are both "{near[0]}": {what} needs two different bodies')
        on_near, on_far = frames.frames()
        self._check_points((on_near, on_far))
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

    def _six_by_six(self, value: object, what: str) -> tuple[Scalar, ...]:
        """Return the 36 entries of a symmetric matrix, given as such or by its diagonal."""
        rows = read_matrix_or_diagonal(value, 6, what)
        entries = tuple(entry for row in rows for entry in row)
        matrix = np.array(self._parameters.values_of(entries, what)).reshape(6, 6)
        size = np.abs(matrix).max()
        if np.abs(matrix - matrix.T).max() > SYMMETRIC * size:
            raise ModelError(f"{what} must be a symmetric matrix")
        if np.linalg.eigvalsh(matrix / (size or 1.0))[0] < -SYMMETRIC:
            raise ModelError(f"{what} must not be negative in any direction")
        return entries


def _refused(given: str, why: str = "", **others: object) -> None:
    """Refuse arguments that do not go with another."""
    for name, value in others.items():
        if value is not None:
            raise ModelError(f"give either {given} or {name}" + (f": {why}" if why else ""))


def _called_with(function: Callable[..., object], what: str, *symbols: ca.SX) -> object:
    """Return what a function of symbols returns."""
    try:
        return function(*symbols)
    except Exception as error:
        raise ModelError(
            f"{what} is a function, but calling it with {' and '.join(s.name() for s in symbols)} failed: {error}"
        ) from error
