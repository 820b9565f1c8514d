"""Auxiliary states, and the symbols that only expressions of forces hold: reactions, and a spring's elongation."""

from __future__ import annotations

import casadi as ca

from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.any_element import AnyElement, called_with
from whippletree.model.description import StateUse
from whippletree.model.element_registry import JointLike
from whippletree.model.formulas import Read
from whippletree.model.names import called, new_name, suggestion
from whippletree.model.symbols import ReactionSymbols
from whippletree.spatial.handed_out import handed_out
from whippletree.spatial.scalars import number
from whippletree.symbolic.arithmetic import copied

__all__ = ["StateCalls"]


@user_facing
class StateCalls(AnyElement):
    """The calls of a mechanism for auxiliary states, and the symbols of reactions and elongations.

    >>> from whippletree.model import Mechanism
    >>> Mechanism("m").state("z", 1.0)
    SX(z)
    """

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
        """Return the symbols of the wrench from a joint to its child: mx, my, mz, fx, fy, fz, for expressions.

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
            rate = called_with(rate, "rate", handed_out(copied(self._symbols.state(state))))
        return self._formula(rate, 1, "rate")
