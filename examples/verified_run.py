"""A hammer tap and a speed bump: a run that is known to its digits.

A cart of 2 kg on a rail is tapped for 10 ms after 20 s, rolls on, and passes a bump that is 4 mm long some metres on.
Both are far shorter than the steps of a run of two minutes. They are written as conditions, so that steps end where the
formulas have their corners, and neither is stepped over.

A certificate is `ok` as far as it was checked, and says what it does not know. With `verify=True` the run is made again
by another method with another tolerance, which shows how many of its digits are right: that is what the run is worth.
"""

from __future__ import annotations

from typing import Any

import whippletree as wt

MASS, TAP, BUMP = 2.0, 300.0, 40.0


def describe() -> wt.Mechanism:
    """A cart on a rail with a tap in time and a bump in space."""
    m = wt.Mechanism("cart", gravity=(0, 0, -9.81))
    cart = m.body("cart", wt.point_mass(MASS))
    m.prismatic("rail", m.ground, cart, axis="x")
    m.actuator("tap", "rail", effort=TAP * wt.pulse(m.time, 20.0, 20.01))
    m.actuator("bump", "rail", effort=-BUMP * wt.pulse(m.coordinate("rail"), 3.0, 3.004))
    return m


def final_speed() -> float:
    """Return the speed at the end: of the tap's momentum, less the work of the bump."""
    speed = TAP * 0.01 / MASS
    return float((speed**2 - 2 * BUMP * 0.004 / MASS) ** 0.5)


def main() -> dict[str, Any]:
    """Run for two minutes, and compare with the closed form."""
    system = describe().build()
    run = system.simulate(120.0, every=1.0, verify=True)
    print(run.certificate)
    print(f"speed at the end {run.v[-1, 0]:.12f} m/s, by hand {final_speed():.12f} m/s")
    return {"run": run, "speed": final_speed()}


if __name__ == "__main__":
    main()
