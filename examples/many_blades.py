"""The Campbell diagram of 200 blades: natural frequencies over the rotor's speed, for blades that are not all alike.

Each blade flaps and leads on two hinges with springs, away from the axis; stiffness and mass differ between blades.
The cases have two dimensions, blades and speeds, and every case is linearised. Frequencies follow

    flap^2 = k / I + W^2 (1 + m e r / I),     lag^2 = k' / I + W^2 m e r / I

with the hinges e from the axis and the centre of mass r from the hinges. A file name as argument draws the diagram.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import xarray as xr

import whippletree as wt

OFFSET, LENGTH = 0.4, 5.0  # m
MASS, FLAP, LAG = 60.0, 4e3, 3e4  # kg, N m/rad


def describe() -> wt.Mechanism:
    """One blade on its hub, which turns about z."""
    m = wt.Mechanism("blade", gravity=(0, 0, 0))
    mass, flap, lag = m.parameter("mass", MASS), m.parameter("flap", FLAP), m.parameter("lag", LAG)
    hub = m.body("hub", wt.cylinder(radius=0.3, length=0.3, mass=100.0, axis="z"))
    root = m.body("root")
    blade = m.body("blade", wt.rod(length=LENGTH, mass=mass, axis="x"))
    m.revolute("rotor", m.ground, hub, axis="z", prescribed=True)
    m.revolute("lag hinge", hub, root, at=(OFFSET, 0, 0), axis="z")
    m.revolute("flap hinge", root, blade, axis="-y")
    m.torsion_spring("flap spring", "flap hinge", stiffness=flap)
    m.torsion_spring("lag spring", "lag hinge", stiffness=lag)
    return m


def main(picture: str = "", blades: int = 200) -> dict[str, Any]:
    """Return the frequencies of all blades at all speeds."""
    system, speeds = describe().build(), np.linspace(0.0, 30.0, 16)
    alike = wt.cases.latin_hypercube(
        blades,
        seed=1,
        mass=wt.cases.standard_deviation(MASS, 1.0),
        flap=wt.cases.standard_deviation(FLAP, 200.0),
        lag=wt.cases.standard_deviation(LAG, 1500.0),
    ).rename(case="blade")
    turning = np.stack([system.velocities({"rotor": speed}) for speed in speeds])
    cases = alike.assign(v=(("speed", "velocity"), turning)).assign_coords(speed=speeds)
    study = wt.Study(system, cases, linear_at_speed)
    data = study.run()
    frequencies = data["frequency"].transpose("speed", "blade", "mode").values
    print(study.status())
    print("speed [rad/s]   first frequency [Hz]      second")
    for speed, own in zip(speeds[::5], frequencies[::5], strict=True):
        bands = (f"{low:.3f} to {high:.3f}" for low, high in zip(own.min(0), own.max(0), strict=True))
        print(f"{speed:13.1f}   {'   '.join(bands)}")
    if picture:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        for mode, colour in ((0, "C0"), (1, "C1")):
            low, middle, high = np.quantile(frequencies[:, :, mode], (0.0, 0.5, 1.0), axis=1)
            axes.fill_between(speeds, low, high, alpha=0.3, color=colour)
            axes.plot(speeds, middle, color=colour, label=f"mode {mode + 1}, {blades} blades")
        for order in (1, 2, 3):
            axes.plot(speeds, order * speeds / (2 * np.pi), "k:", linewidth=0.8)
        axes.set(xlabel="speed of the rotor [rad/s]", ylabel="natural frequency [Hz]", ylim=(0, 8))
        axes.legend()
        figure.savefig(picture, dpi=150)
    return {"study": study, "data": data, "speeds": speeds, "frequencies": frequencies}


def linear_at_speed(system: wt.System, case: Any) -> dict[str, Any]:
    """Return the two natural frequencies of a blade at a speed, in Hz."""
    model = system.linearize(system.q0, case["v"], parameters=case.parameters)
    values = np.linalg.eigvals(model.A)
    return {"frequency": xr.DataArray(np.sort(values.imag[values.imag > 1e-6])[:2] / (2 * np.pi), dims="mode")}


if __name__ == "__main__":
    main(*sys.argv[1:2])
