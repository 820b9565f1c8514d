"""A spring with a damper between two points, both linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, Law, pure_force, refused, stretch
from whippletree.elements.forces.law_spring import LawSpring
from whippletree.errors import ModelError
from whippletree.spatial.scalars import Scalar

__all__ = ["Spring"]


@dataclass(frozen=True, eq=False)
class Spring(Force):
    """A spring and damper that pulls two points together with stiffness x + damping x'.

    x is length less `free_length`. With a `law` instead, the pull is whatever that says: an expression in `elongation`
    and `elongation_rate` and anything else that can be written, or a function of these two. `energy`, of the
    elongation, is what the law stores at rest: then that counts as energy of the mechanism; without it the law's work
    is input. Where the points coincide, the force has no direction and is none.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.spring("strut", m.ground, m.body("wheel"), stiffness=2e4, free_length=0.4, damping=1e3).name
    'strut'
    >>> m.spring("bump stop", m.ground, m.body("axle"), law=lambda x, rate: 1e6 * x**3 + 50 * rate).name
    'bump stop'
    """

    word: ClassVar[str] = "spring"
    n_sides: ClassVar[int] = 2
    drawn: ClassVar[str] = "spring"

    stiffness: Scalar = quantity(0.0, unit="N/m", sign="not negative")
    free_length: Scalar = quantity(0.0, unit="m", sign="not negative")
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")

    @classmethod
    def given(
        cls,
        *,
        stiffness: Scalar | None = None,
        free_length: Scalar | None = None,
        damping: Scalar | None = None,
        law: Law | None = None,
        energy: Law | None = None,
    ) -> Self | LawSpring:
        """Return the spring that a person describes so."""
        if law is not None:
            refused("law", stiffness=stiffness, damping=damping)
            return LawSpring.written(law, energy, 0.0 if free_length is None else free_length)
        refused("stiffness", "energy is that of a law", energy=energy)
        if stiffness is None and damping is None:
            raise ModelError("give stiffness and free_length, or damping, or a law")
        if stiffness is not None and free_length is None:
            raise ModelError("free_length is missing: give the length at which the spring does not pull")
        return cls(*(0.0 if value is None else value for value in (stiffness, free_length, damping)))

    def act(self, seen: ElementState) -> ElementForces:
        """Return the pair of forces; the spring's energy is stored, the damper's power dissipated."""
        x, rate, n = stretch(seen.sides, ca.SX(self.free_length))
        pull = pure_force((self.stiffness * x + self.damping * rate) * n)
        stored, dissipated = self.stiffness * x**2 / 2, self.damping * rate**2
        return ElementForces((pull, -pull), ca.SX(0, 1), ca.SX(stored), ca.SX(dissipated), ca.SX(0))
