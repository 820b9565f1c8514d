"""Links on which gravity does not act, or acts in part: a force at the centre of mass holds their weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.elements.bodies import MassProperties

if TYPE_CHECKING:
    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = ["Weightless"]


class Weightless:
    """A call on the mechanism, once it is there, that holds a share of a link's weight."""

    def __init__(self, link: str, properties: MassProperties, share: float = 1.0) -> None:
        self._link, self._properties, self._share = link, properties, share

    def __call__(self, translation: NeutralTranslation) -> None:
        """Add the force."""
        mechanism, mass = translation.mechanism, self._properties.mass
        force = tuple(-self._share * mass * g for g in mechanism.gravity)
        if any(force):
            place = translation.place_name(self._link)
            name = translation.force_name(f"no gravity on {place}")
            mechanism.load(name, place, force=force, at=self._properties.com)
