"""Elastic, homogeneous, isotropic materials."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import positive
from whippletree.flexible_bodies.flexible_tolerances import SOUND
from whippletree.foundation.user_frames import user_facing, warn
from whippletree.spatial.scalars import number

__all__ = ["Material", "aluminium", "carbon_fibre", "glass_fibre", "steel", "titanium"]


@user_facing
@dataclass(frozen=True)
class Material:
    """A material: density in kg/m^3, Young's modulus in N/m^2, and the Poisson ratio.

    >>> round(Material(density=1100, youngs_modulus=2.2e9, poisson_ratio=0.4).shear_modulus / 1e9, 3)
    0.786
    """

    density: float
    youngs_modulus: float
    poisson_ratio: float = 0.3

    def __post_init__(self) -> None:
        for name in ("density", "youngs_modulus"):
            object.__setattr__(self, name, positive(getattr(self, name), f"material: {name}"))
        ratio = number(self.poisson_ratio, "material: poisson_ratio")
        if not -1.0 < ratio < 0.5:
            raise ModelError(f"material: poisson_ratio must be between -1 and 0.5, got {ratio:g}")
        object.__setattr__(self, "poisson_ratio", ratio)
        sound, (slowest, fastest) = math.sqrt(self.youngs_modulus / self.density), SOUND
        if not slowest <= sound <= fastest:
            warn(
                f"material: Young's modulus {self.youngs_modulus:.4g} N/m^2 and density {self.density:.4g} kg/m^3 give "
                f"a speed of sound of {sound:.3g} m/s, which no material has: frequencies will be absurd if these are "
                "numbers in other units (1 GPa is 1e9 N/m^2, 1 g/cm^3 is 1000 kg/m^3)",
                UserWarning,
            )

    @property
    def shear_modulus(self) -> float:
        """The shear modulus, E / (2 (1 + nu))."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poisson_ratio))


steel = Material(7850.0, 2.1e11, 0.3)
"""Structural steel."""

aluminium = Material(2700.0, 7.0e10, 0.33)
"""Aluminium alloys."""

titanium = Material(4430.0, 1.14e11, 0.34)
"""Titanium alloy Ti-6Al-4V."""

carbon_fibre = Material(1600.0, 7.0e10, 0.1)
"""Carbon fibre fabric in epoxy, quasi-isotropic; single layups differ much."""

glass_fibre = Material(1900.0, 2.5e10, 0.2)
"""Glass fibre fabric in epoxy, quasi-isotropic."""
