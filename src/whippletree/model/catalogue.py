"""The element types that files know besides the built-in ones, each by its word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import TypeVar

from whippletree.elements.closures import DeclaredClosure
from whippletree.elements.forces import Force
from whippletree.elements.joints import Joint
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown

__all__ = ["register", "registered"]

Kind = TypeVar("Kind", bound=type)

_FAMILIES: dict[str, tuple[type, str]] = {
    "joints": (Joint, "kind"),
    "closures": (DeclaredClosure, "word"),
    "forces": (Force, "word"),
}
_TYPES: dict[str, dict[str, type]] = {section: {} for section in _FAMILIES}


@user_facing
def register(kind: Kind) -> Kind:
    """Make a type of joint, closure or force known to files, by its word; use it as a decorator.

    The word is the `kind` of a joint and the `word` of a closure or a force. A file may then hold the element as it
    holds a built-in one: the word with the bodies or joints it is on, and a key for each of its fields. Registering a
    type again, under the same name from the same module, puts it in the place of the former.

    >>> from dataclasses import dataclass
    >>> from whippletree.elements.forces import Force, on_coordinate, quantity
    >>> @register
    ... @dataclass(frozen=True, eq=False)
    ... class Windage(Force):
    ...     word = "windage"
    ...     n_coordinates = 1
    ...     drag: float = quantity(sign="not negative")
    ...     def act(self, seen):
    ...         return on_coordinate(-self.drag * seen.v**3, dissipated=self.drag * seen.v**4)
    >>> import whippletree as wt
    >>> model = wt.read('''
    ... name: fan
    ... bodies: {rotor: {rod: {length: 1, mass: 2}}}
    ... joints: {shaft: {revolute: [ground, rotor]}}
    ... forces: {air: {windage: shaft, drag: 0.1}}
    ... ''')
    >>> model.mechanism.describe().force("air").force.drag
    0.1
    """
    for section, (family, attribute) in _FAMILIES.items():
        if isinstance(kind, type) and issubclass(kind, family):
            word = getattr(kind, attribute, "")
            _check(kind, section, attribute, word)
            _TYPES[section][word] = kind
            return kind
    raise ModelError(f"only types of joints, closures and forces can be registered, got {shown(kind)}")


def registered(section: str) -> Mapping[str, object]:
    """Return the registered types of a section of a file, by word.

    >>> "revolute" in registered("joints")
    False
    """
    return _TYPES[section]


def _check(kind: type, section: str, attribute: str, word: object) -> None:
    from whippletree.model.io.forms import BUILT_IN  # which is only needed where files are read

    what = f"{kind.__name__} cannot be registered"
    if not is_dataclass(kind):
        raise ModelError(f"{what}: it must be a dataclass")
    if not isinstance(word, str) or not word.isidentifier():
        raise ModelError(f"{what}: its `{attribute}` must be one word, got {shown(word)}")
    other = _TYPES[section].get(word)
    same = other is not None and (other.__module__, other.__qualname__) == (kind.__module__, kind.__qualname__)
    if word in BUILT_IN[section] or (other is not None and not same):
        raise ModelError(f'{what}: the word "{word}" stands for another type of {section} already')
