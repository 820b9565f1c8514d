"""A tower with three blades: its natural frequencies over the speed of the rotor, the Campbell diagram.

Tower and blades are beams; the blades flap, and stiffen as they spin. The linear model at a speed is periodic, since
blades and tower see each other turn. But three equal blades together are the same in every direction: in the
coordinates of the whole rotor,

    flap_k = a_0 + a_c cos(psi_k) + a_s sin(psi_k),   psi_k the azimuth of blade k

the equations are constant, and have eigenvalues (Coleman and Feingold 1958). With x = T(psi) z and psi' = Omega the
model x' = A x becomes z' = T^-1 (A T - Omega T') z, which can be taken at any azimuth: at two, the frequencies are the
same. A mode that whirls with the rotor and one that whirls against it part by twice the speed in the rotating frame.
With `--plot` the diagram is drawn.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
HEIGHT, BLADE, BLADES = 40.0, 20.0, 3
SPEEDS = (0.0, 1.0, 2.0, 3.0)


def describe() -> wt.Mechanism:
    """A tower along z that bends fore and aft (x) and sideways (y), and a rotor about x on its top."""
    m = wt.Mechanism("tower with blades", gravity=(0, 0, 0))
    shell = wt.tube(radius=1.2, wall=0.02)
    tower = m.body("tower", wt.beam(length=HEIGHT, section=shell, material=wt.steel, axis="z", modes=2, elements=4))
    nacelle = m.body("nacelle", wt.box((4.0, 2.0, 2.0), mass=20e3))
    hub = m.body("hub", wt.cylinder(radius=1.0, length=1.0, mass=3e3, axis="x"))
    m.fixed("foundation", m.ground, tower)
    m.fixed("yaw", "tower.tip", nacelle)
    m.revolute("rotor", nacelle, hub, at=(-3.0, 0, 0), axis="x", prescribed=True)
    laminate = wt.Material(density=1900.0, youngs_modulus=30e9)
    flat = [wt.rectangle(width=0.30 - 0.08 * k, height=1.0 - 0.25 * k) for k in range(3)]  # tapered, and soft along x
    for k in range(BLADES):
        psi = 2 * np.pi * k / BLADES
        along = (0.0, -np.sin(psi), np.cos(psi))  # turned about x from z
        blade = wt.beam(length=BLADE, section=flat, material=laminate, axis=along, across="x", modes=1, elements=4)
        m.fixed(f"root {k + 1}", hub, m.body(f"blade {k + 1}", blade))
    return m


def whole_rotor(system: wt.System, psi: float) -> list[Array]:
    """Return T from the rotor's coordinates to those of tower and blades, and its two derivatives by psi."""
    own = [system.v_slice(f"blade {k + 1}").start for k in range(BLADES)]
    angles = psi + 2 * np.pi * np.arange(BLADES) / BLADES
    one, cos, sin = np.ones(BLADES), np.cos(angles), np.sin(angles)
    found = [np.eye(system.nv), np.zeros((system.nv, system.nv)), np.zeros((system.nv, system.nv))]
    for T, columns in zip(found, ((one, cos, sin), (0 * one, -sin, cos), (0 * one, -cos, -sin)), strict=True):
        T[np.ix_(own, own)] = np.stack(columns, axis=1)
    return found


def frequencies(system: wt.System, speed: float, psi: float = 0.0) -> Array:
    """Return the natural frequencies at a speed in rad/s, in Hz, from the model at an azimuth of the rotor."""
    A = system.linearize(system.configuration({"rotor": psi}), system.velocities({"rotor": speed})).A
    free = np.delete(np.arange(system.nv), system.v_slice("rotor").start)
    T, slope, second = (each[np.ix_(free, free)] for each in whole_rotor(system, psi))
    zero = np.zeros_like(T)
    whole = np.block([[T, zero], [speed * slope, T]])  # positions T z, velocities T z' + Omega T' z
    rate = np.block([[speed * slope, zero], [speed**2 * second, speed * slope]])
    values = np.linalg.eigvals(np.linalg.solve(whole, A @ whole - rate))
    return np.asarray(np.sort(values.imag[values.imag > 1e-6])) / (2 * np.pi)


def main(plot: bool = False) -> dict[float, Array]:
    """Return the natural frequencies by speed."""
    system = describe().build()
    found = {speed: frequencies(system, speed) for speed in SPEEDS}
    print("speed [rad/s]   natural frequencies [Hz]")
    for speed, own in found.items():
        print(f"{speed:13.1f}   {'  '.join(f'{f:.4f}' for f in own)}")
    if plot:
        import matplotlib.pyplot as plt

        speeds = np.linspace(0.0, SPEEDS[-1], 25)
        plt.plot(speeds, [frequencies(system, speed) for speed in speeds])
        for order in (1, 3):  # what excites: the rotor's turns, and blades that pass the tower
            plt.plot(speeds, order * speeds / (2 * np.pi), "k:", linewidth=0.8)
        plt.xlabel("speed of the rotor [rad/s]")
        plt.ylabel("natural frequency [Hz]")
        plt.show()
    return found


if __name__ == "__main__":
    main(plot="--plot" in sys.argv)
