"""Which modes a flexible body gets, as people say it: read once for beams, matrices and solids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import choice, count, positive
from whippletree.flexible_bodies.modal_reduction import ModeChoice
from whippletree.spatial.scalars import listed, shown

__all__ = ["REDUCTIONS", "ModeOptions", "read_mode_options"]

REDUCTIONS = ("eigenmodes", "craig-bampton")
DEFAULT_MODES = 6
"""Eigenmodes of a body unless a number is given."""


class ModeOptions(NamedTuple):
    """Which modes, in which reference frame; `nodal` keeps nodal displacements instead."""

    choice: ModeChoice
    reference: str
    nodal: bool = False


def read_mode_options(
    what: str,
    modes: object,
    highest_frequency: object,
    attachment: object,
    reduction: object,
    reference: str,
    interfaces: Iterable[str],
) -> ModeOptions:
    """Read the arguments about modes.

    >>> read_mode_options("beam", 4, None, "tip", "eigenmodes", "free", ["root", "tip"]).choice.static
    ('tip',)
    """
    names = tuple(interfaces)
    held = names if choice(reduction, REDUCTIONS, f"{what}: reduction") == "craig-bampton" else ()
    static = held or _named(what, attachment, names)
    if highest_frequency is not None:
        if modes is not None:
            raise ModelError(f"{what}: give either modes or highest_frequency")
        highest = positive(highest_frequency, f"{what}: highest_frequency")
        return ModeOptions(ModeChoice(None, highest, static, held), reference)
    if modes == "all":
        return ModeOptions(ModeChoice(None, None, static, ()), reference)
    if modes == "nodal":
        return ModeOptions(ModeChoice(None, None), reference, nodal=True)
    if isinstance(modes, str):
        raise ModelError(f'{what}: modes must be a whole number, "all" or "nodal", got {shown(modes)}')
    number = DEFAULT_MODES if modes is None else count(modes, f"{what}: modes", 0 if static else 1)
    return ModeOptions(ModeChoice(number, None, static, held), reference)


def _named(what: str, attachment: object, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the interfaces that get static modes."""
    if isinstance(attachment, bool):
        return names if attachment else ()
    given = [attachment] if isinstance(attachment, str) else listed(attachment)
    if given is None:
        raise ModelError(f"{what}: attachment must be True, or names of interfaces, got {shown(attachment)}")
    for name in given:
        if not isinstance(name, str) or name not in names:
            raise ModelError(f"{what}: attachment: there is no interface {shown(name)}; there are {', '.join(names)}")
    return tuple(given)
