"""Events of a mechanism: the call that declares zero crossings of an expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from whippletree.elements.forces import ExpressionLike
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.any_element import AnyElement
from whippletree.model.description import EventUse, JointUse
from whippletree.model.element_registry import CoordinateLike
from whippletree.model.handles import JointHandle
from whippletree.model.names import called, new_name, suggestion
from whippletree.spatial.scalars import Scalar, shown

__all__ = ["EventCalls"]

DIRECTIONS = {"rising": 1, "falling": -1, "both": 0}
"""Which crossings count, by word."""


@user_facing
class EventCalls(AnyElement):
    """The call of a mechanism that is about events.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("flap", mass=1.0, com=(1, 0, 0)))
    >>> m.event("closed", m.coordinate("hinge"), direction="falling", stop=True)
    >>> m.describe().event("closed").stop
    True
    """

    def event(
        self,
        name: str,
        expression: ExpressionLike,
        *,
        direction: str = "both",
        stop: bool = False,
        velocities: Mapping[CoordinateLike, Scalar] | None = None,
        states: Mapping[str, ExpressionLike] | None = None,
        parameters: Mapping[str, ExpressionLike] | None = None,
        efforts: Mapping[CoordinateLike, Scalar] | None = None,
    ) -> None:
        """Watch for the times at which an expression passes through zero; simulations find and record them.

        `direction` says which crossings count: "rising", "falling" or "both". With `stop` the run ends there. The
        mappings say what is set anew at an event, all at once: velocities and efforts by joint (a list where a joint
        has several), states and parameters by name. Values are numbers, or expressions in what was before the event.
        Where there are loops, the other velocities follow.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("ball")
        >>> drop = m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
        >>> m.event("bounce", m.coordinate("height"), direction="falling", velocities={drop: -0.8 * m.rate("height")})
        """
        with called("event", name):
            text = new_name(name, self._events, "events")
            if not isinstance(direction, str) or direction not in DIRECTIONS:
                raise ModelError(f"direction must be one of {', '.join(DIRECTIONS)}, got {shown(direction)}")
            if not isinstance(stop, bool):
                raise ModelError(f"stop must be True or False, got {shown(stop)}")
            watched = self._formula(expression, 1, "expression")
            if not (watched.places or watched.coordinates or watched.states or watched.formula.timed):
                raise ModelError("expression depends on nothing that changes, so that it never passes through zero")
            sets = [
                *self._of_joints("velocity", velocities, "velocities"),
                *self._of_joints("effort", efforts, "efforts"),
                *self._named_values("state", states, "states", self._states),
                *self._named_values("parameter", parameters, "parameters", self._parameters.names),
            ]
            for (kind, about, _), value in sets:
                self._formula(value, 1, f'{kind} "{about}"')
            entries = [expression, *(value for _, value in sets)]
            read = self._formula(entries if sets else expression, len(entries), "expression")
            self._events[text] = EventUse(
                text,
                read.formula,
                tuple(self._placed(place) for place in read.places),
                read.coordinates,
                read.states,
                DIRECTIONS[direction],
                stop,
                tuple(key for key, _ in sets),
            )

    def _of_joints(self, kind: str, given: object, what: str) -> Iterable[tuple[tuple[str, str, int], Any]]:
        """Yield the values that an event sets of joints, freedom by freedom."""
        for key, value in _items(given, what, "joints"):
            name = self._joint_name(key)
            parts = _parts(value, self._joints[name], what)
            yield from (((kind, name, i), part) for i, part in enumerate(parts))

    def _named_values(
        self, kind: str, given: object, what: str, known: Iterable[str]
    ) -> Iterable[tuple[tuple[str, str, int], Any]]:
        """Yield the values that an event sets by name."""
        for key, value in _items(given, what, f"{kind}s"):
            if key not in known:
                raise ModelError(f"{what}: there is no {kind} {suggestion(key, known)}")
            yield (kind, str.__str__(key), 0), value


def _items(given: object, what: str, of: str) -> list[tuple[Any, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise ModelError(f"{what} must map {of} to values, got {shown(given)}")
    pairs = list(given.items())
    names = [key.name if isinstance(key, JointHandle) else key for key, _ in pairs]
    if any(name in names[:k] for k, name in enumerate(names)):
        raise ModelError(f"{what} names one of the {of} twice")
    if not all(isinstance(name, str) for name in names):
        raise ModelError(f"{what} must map {of} by name, got {shown(given)}")
    return pairs


def _parts(value: Any, use: JointUse, what: str) -> list[Any]:
    """Return the values for the freedoms of a joint."""
    count = use.joint.nv
    if count == 0:
        raise ModelError(f'{what}: joint "{use.name}" is {use.joint.kind} and does not move')
    if count == 1 and not isinstance(value, list | tuple):
        return [value]
    try:
        parts = [value[i] for i in range(len(value))]
    except (TypeError, IndexError):
        parts = [value[i] for i in range(value.numel())] if hasattr(value, "numel") else []
    if len(parts) != count:
        raise ModelError(f'{what}: joint "{use.name}" has {count} freedoms: give a list of {count} values')
    return parts
