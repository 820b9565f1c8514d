"""The names and units of the numbers of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from whippletree.errors import ModelError
from whippletree.foundation.short_text import readable
from whippletree.model.argument_types import JointLike
from whippletree.model.names import suggestion
from whippletree.system import System

__all__ = ["Label", "Labels", "effort_unit", "rate_unit", "unit_of"]

_UNITS = (
    ("quaternion", ""),
    ("angular velocity", "rad/s"),
    ("velocity", "m/s"),
    ("angle", "rad"),
    ("displacement", "m"),
    ("position", "m"),
    ("rate of modal coordinate", "1/s"),
    ("modal coordinate", ""),
)


def unit_of(label: str) -> str:
    """Return the unit of a joint's coordinate or velocity, by its label.

    >>> unit_of("angle about the child's axis"), unit_of("velocity along x"), unit_of("quaternion w")
    ('rad', 'm/s', '')
    """
    for word, unit in _UNITS:
        if word in label:
            return unit
    known = ", ".join(f'"{word}"' for word, _ in _UNITS)
    raise ModelError(f'the unit of "{label}" is not known: a joint\'s labels must say what is measured: one of {known}')


def rate_unit(unit: str) -> str:
    """Return the unit of the rate of a velocity.

    >>> rate_unit("rad/s")
    'rad/s^2'
    """
    return f"{unit}^2"


def effort_unit(unit: str) -> str:
    """Return the unit of the effort that works on a velocity.

    >>> effort_unit("rad/s"), effort_unit("m/s")
    ('N m', 'N')
    """
    return "N m" if unit.startswith("rad") else "N"


class Label(NamedTuple):
    """A number of a run: its owner, its name, and its unit (empty if it has none).

    >>> Label("A", "angle", "rad").column
    'A.angle [rad]'
    """

    owner: str
    what: str
    unit: str

    @property
    def text(self) -> str:
        """The name without the unit."""
        return f"{self.owner}.{self.what}" if self.owner and self.what else self.owner or self.what

    @property
    def column(self) -> str:
        """The name with the unit, as it heads a column."""
        return f"{self.text} [{self.unit}]" if self.unit else self.text


@readable
@dataclass(frozen=True)
class Labels:
    """The names of all numbers in the states of a run, with the mechanism's name and fingerprint.

    >>> from whippletree.system.example_systems import four_bar
    >>> [label.column for label in Labels.of(four_bar()).coordinates][:2]
    ['A.angle [rad]', 'B.angle [rad]']
    """

    mechanism: str
    fingerprint: str
    joints: tuple[str, ...]
    coordinates: tuple[Label, ...]
    velocities: tuple[Label, ...]
    states: tuple[str, ...]

    @classmethod
    def of(cls, system: System) -> Labels:
        """Return the labels of a system's states."""
        found = _MADE.get(system)
        if found is None:
            uses = system.description.coordinate_owners
            found = _MADE[system] = cls(
                system.description.name,
                system.description.fingerprint(),
                (*system.joint_names, *system.plan.own_slices),
                tuple(Label(use.name, what, unit_of(what)) for use in uses for what in use.joint.position_labels),
                tuple(Label(use.name, what, unit_of(what)) for use in uses for what in use.joint.velocity_labels),
                system.kernels.elements.names,
            )
        return found

    def joint(self, joint: JointLike) -> str:
        """Return the name of a joint, given by name or handle, checked.

        >>> from whippletree.system.example_systems import four_bar
        >>> Labels.of(four_bar()).joint("A")
        'A'
        """
        name = getattr(joint, "name", joint)
        if not isinstance(name, str) or name not in self.joints:
            raise ModelError(f"there is no joint {suggestion(name, self.joints)}")
        return name

    def state(self, name: str) -> int:
        """Return the place of an element's state, by name."""
        if not isinstance(name, str) or name not in self.states:
            raise ModelError(f"there is no state {suggestion(name, self.states)}")
        return self.states.index(name)

    def q_slice(self, joint: str) -> slice:
        """Return where a joint's coordinates are in `q`."""
        return _own(self.coordinates, joint)

    def v_slice(self, joint: str) -> slice:
        """Return where a joint's velocities are in `v`."""
        return _own(self.velocities, joint)


_MADE: WeakKeyDictionary[System, Labels] = WeakKeyDictionary()
"""The labels of systems, which every trajectory has."""


def _own(labels: tuple[Label, ...], joint: str) -> slice:
    """Return where the labels of a joint are."""
    places = [i for i, label in enumerate(labels) if label.owner == joint]
    return slice(places[0], places[-1] + 1) if places else slice(0, 0)
