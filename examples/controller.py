"""A cart that balances a pole, with a controller in plain Python that is called a hundred times a second.

The controller is any function of time, coordinates, velocities and elements' states; its efforts are held between
calls. Here it is linear feedback whose gains come from the linearised model, by the discrete Riccati equation for the
motion from one sample to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
PERIOD = 0.01


def describe() -> wt.Mechanism:
    """A cart on a rail along x, and a pole that stands on it at zero."""
    m = wt.Mechanism("cart and pole")
    cart = m.body("cart", mass=1.0)
    m.prismatic("rail", m.ground, cart, axis="x")
    m.revolute("pivot", cart, m.body("pole", wt.rod(length=1.0, mass=0.3, axis="z")), axis="y")
    return m


def gains(system: wt.System) -> Array:
    """Return the gains on [rail, pivot, their rates] of the best sampled feedback near the upright pole."""
    h = 1e-6

    def rates(x: Array, effort: float) -> Array:
        return np.concatenate([x[2:], system.forward_dynamics(x[:2], x[2:], [effort, 0.0])])

    rest = np.zeros(4)
    A = np.column_stack([(rates(h * e, 0.0) - rates(-h * e, 0.0)) / (2 * h) for e in np.eye(4)])
    B = (rates(rest, h) - rates(rest, -h)) / (2 * h)
    # the motion over a period with the effort held, by the series of the exponential
    step = np.block([[A, B[:, None]], [np.zeros((1, 5))]]) * PERIOD
    whole, term = np.eye(5), np.eye(5)
    for n in range(1, 12):
        term = term @ step / n
        whole += term
    F, G = whole[:4, :4], whole[:4, 4:]
    P = np.eye(4)
    for _ in range(4000):
        K = np.linalg.solve(np.eye(1) + G.T @ P @ G, G.T @ P @ F)
        P = np.diag([10.0, 10.0, 1.0, 1.0]) + F.T @ P @ (F - G @ K)
    return np.asarray(K[0])


def main() -> dict[str, Any]:
    """Let the pole lean by 20 degrees, and see it come upright."""
    system = describe().build()
    K = gains(system)

    def balance(t: float, q: Array, v: Array, z: Array) -> dict[str, float]:
        return {"rail": float(-K @ np.concatenate([q, v]))}

    run = system.simulate(
        8.0, every=PERIOD / 2, q={"pivot": np.radians(20.0)}, tolerance=1e-9, controller=balance, period=PERIOD
    )
    print(run.certificate)
    print(f"largest effort {np.abs(run.efforts).max():.1f} N, at the end the pole leans {run['pivot'][-1]:.1e} rad")
    return {"run": run, "gains": K}


if __name__ == "__main__":
    main()
