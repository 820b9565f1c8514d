"""Flexible bodies beside Exudyn's `ObjectFFRFreducedOrder`: ``python benchmarks/flexible.py [section ...]``.

Sections: pendulum (a beam on a hinge with a torsion spring, let go bent in two planes and turning), slider-crank (with
a flexible coupler, driven by a torque). Bodies have eight modes, the same reduced matrices on both sides, no geometric
stiffening. There is no gravity, since the peer lets it act at the centre of mass of the undeformed body. The error is
the largest of a corner's position at the end of the beam, at ten instants, against our own run at a hundredth of our
smallest tolerance.

First it is shown that the peer comes to that motion as its steps are made smaller, over the first 50 ms. Then each of
the peer's runs is compared with the fastest of ours whose error is not larger. The smallest ratio counts: that is the
peer's best method. Its explicit methods are not among them: they leave out what holds a coordinate, and come to another
motion.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from bars import Options, verdict
from command import main
from flexible_peers import Array, ExudynModel, PointBeam, Run, point_beam
from timing import table

import whippletree as wt
from whippletree.simulate import Simulation

BAR = 10.0  # times as fast, at equal error
ROUNDS = 5
TIMES = np.linspace(0.1, 1.0, 10)
STIFFNESS, SPEED = 20.0, 5.0  # of the pendulum: N m/rad, rad/s
CRANK, COUPLER, START = 0.15, 0.6, np.pi / 3
TORQUE, CRANK_MASS, CRANK_INERTIA, SLIDER_MASS = 1.0, 2.0, 0.03, 0.5
OURS = {
    f"{method}, {name} {value:g}": {"method": method, name: value}
    for method, name, values in (
        ("dop853", "tolerance", (1e-4, 1e-6, 1e-8, 1e-10, 1e-11)),
        ("dopri5", "tolerance", (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)),
        ("rk4", "step", (5e-4, 2.5e-4, 1e-4)),
        ("generalized_alpha", "step", (4e-3, 2e-3, 1e-3, 5e-4)),
    )
    for value in values
}
REFERENCE = {"method": "dop853", "tolerance": 1e-13}
FINE, EARLY = (2e-5, 1e-5, 5e-6), np.linspace(0.005, 0.05, 10)
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4, 5e-5)


Peer = Callable[[str, float, Array], Run]
"""The peer's run by a method, with a step, at these times."""


def our_runs(system: wt.System, body: str, **start: Array) -> tuple[dict[str, Run], Callable[[Array], Array]]:
    """Our runs, and the reference at any times; machine code is made before the clock starts."""

    def corner(rows: Array) -> Array:
        return np.array([system.pose(row[: system.nq], f"{body}.corner")[:3, 3] for row in rows])

    def runner(settings: dict[str, Any], times: Array = TIMES) -> Run:
        def run() -> tuple[float, Array]:
            begin = time.thread_time()
            rows = Simulation(system, **start, **settings).run(times)
            return time.thread_time() - begin, corner(rows)

        return run

    runs = stable({name: runner(settings) for name, settings in OURS.items()})
    return runs, lambda times: runner(REFERENCE, times)()[1]


def agreement(title: str, peer: Peer, exact: Callable[[Array], Array]) -> None:
    """Print how the difference from our reference falls with the peer's step, which is of second order."""
    early = exact(EARLY)
    off = [np.linalg.norm(peer("trapezoidal", h, EARLY)()[1] - early, axis=1).max() for h in FINE]
    orders = [
        None,
        *(np.log(a / b) / np.log(h / k) for (a, b), (h, k) in zip(pairwise(off), pairwise(FINE), strict=True)),
    ]
    rows = [(1e6 * h, d, order) for h, d, order in zip(FINE, off, orders, strict=True)]
    table(f"{title}: the same motion, first {1e3 * EARLY[-1]:g} ms", ("step, us", "difference, m", "order"), rows)


def measure(title: str, ours: Mapping[str, Run], peer: Peer, exact: Callable[[Array], Array], rounds: int) -> None:
    """Show that both find the same motion, then compare times."""
    agreement(title, peer, exact)
    names = [(method, h) for method in ("generalised-alpha", "trapezoidal") for h in STEPS]
    peers = stable({f"{method} {1e3 * h:g} ms": peer(method, h, TIMES) for method, h in names})
    compare(title, ours, peers, exact(TIMES), min(rounds, ROUNDS))


def stable(runs: dict[str, Run]) -> dict[str, Run]:
    """The runs that come to an end, with steps that are not too large for them."""
    from exudyn import SolverError

    found = {}
    for name, run in runs.items():
        try:
            if np.abs(run()[1]).max() < 10.0:
                found[name] = run
        except (SolverError, wt.SimulationError):
            continue
    return found


def compare(title: str, ours: Mapping[str, Run], peers: Mapping[str, Run], exact: Array, rounds: int) -> None:
    """Print times and errors of all, and how many times as fast we are as the peer at equal error."""
    everyone = {**ours, **peers}
    error = {}
    for name, run in everyone.items():
        away = np.linalg.norm(run()[1] - exact, axis=1).max()
        error[name] = float(away) if np.isfinite(away) else float("inf")
    taken: dict[str, list[float]] = {name: [] for name in everyone}
    for _ in range(rounds):
        for name, run in everyone.items():
            taken[name].append(run()[0])
    cpu = {name: statistics.median(times) for name, times in taken.items()}
    rows = []
    for name in peers:
        as_good = [mine for mine in ours if error[mine] <= error[name]]
        best = min(as_good, key=lambda mine: cpu[mine]) if as_good else None
        ratio = cpu[name] / cpu[best] if best else float("nan")
        mine = (best, 1e3 * cpu[best], error[best]) if best else ("none is as good", None, None)
        rows.append((name, 1e3 * cpu[name], error[name], *mine, ratio))
    header = ("Exudyn", "CPU ms", "error, m", "ours, as good", "CPU ms", "error, m", "ratio")
    table(f"{title}, {TIMES[-1]:g} s", header, rows)
    table(f"{title}: all our runs", ("run", "CPU ms", "error, m"), [(n, 1e3 * cpu[n], error[n]) for n in ours])
    useful = [row for row in rows if row[2] < USEFUL]
    least = min(row[-1] for row in useful)
    print(f"smallest ratio at errors below {USEFUL:g} m: {least:.1f}: {verdict(least, BAR)}\n")


USEFUL = 1e-3
"""Runs that are farther off than this, in metres, have lost the motion: bodies bend by a few millimetres."""


# ---------------------------------------------------------------------------------------------------------
# Pendulum


def pendulum(options: Options) -> None:
    beam = point_beam(1.0, 0.02, 0.01)
    m = wt.Mechanism("pendulum", gravity=(0, 0, 0))
    hinge = m.revolute("hinge", m.ground, m.body("link", beam.body()), axis="z")
    m.torsion_spring("spring", hinge, stiffness=STIFFNESS)
    s = m.build()
    q, v = s.q0.copy(), np.zeros(s.nv)
    q[s.q_slice("link")], v[s.v_slice("hinge")] = bent(beam), SPEED
    ours, exact = our_runs(s, "link", q=q, v=v)
    measure("Flexible pendulum", ours, partial(exudyn_pendulum, beam), exact, options.rounds)


def bent(beam: PointBeam) -> Array:
    """Modal coordinates in which both planes are bent by half a centimetre, each in its lowest mode."""
    eta = np.zeros(beam.modes.shape[2])
    eta[:2] = 5e-3 / np.abs(beam.modes[-1]).max(axis=0)[:2]
    return eta


def exudyn_pendulum(beam: PointBeam, method: str, step: float, times: Array) -> Run:
    def run() -> tuple[float, Array]:
        model = ExudynModel()
        made = model.add(beam, np.zeros(3), 0.0, speed=SPEED, eta=bent(beam))
        model.hold(made["nRigidBody"], (0, 1, 2, 3, 4))
        model.spring(made["nRigidBody"], 5, STIFFNESS)
        return model.solve(times, method, step=step)

    return run


# ---------------------------------------------------------------------------------------------------------
# Slider-crank


def slider_crank(options: Options) -> None:
    beam = point_beam(COUPLER, 0.015, 0.008)
    down = -np.arcsin(CRANK * np.sin(START) / COUPLER)
    m = wt.Mechanism("slider-crank", gravity=(0, 0, 0))
    crank = m.body("crank", mass=CRANK_MASS, com=(CRANK / 2, 0, 0), inertia=(CRANK_INERTIA,) * 3)
    coupler = m.body("coupler", beam.body())
    slider = m.body("slider", mass=SLIDER_MASS, inertia=(1e-3, 1e-3, 1e-3))
    m.revolute("A", m.ground, crank, axis="z")
    m.revolute("B", crank, coupler, at=(CRANK, 0, 0), axis="z")
    m.spherical("C", coupler, slider, at="tip")
    m.prismatic("D", m.ground, slider, axis="x")
    s = m.build(guess={"A": START, "B": down - START})
    tau = np.zeros(s.nv)
    tau[s.v_slice("A")] = TORQUE
    ours, exact = our_runs(s, "coupler", tau=tau)
    peer = partial(exudyn_slider_crank, beam, down)
    measure("Slider-crank with a flexible coupler", ours, peer, exact, options.rounds)


def exudyn_slider_crank(beam: PointBeam, down: float, method: str, step: float, times: Array) -> Run:
    def run() -> tuple[float, Array]:
        model = ExudynModel()
        items, mbs = model.items, model.mbs
        pin = CRANK * np.array([np.cos(START), np.sin(START), 0.0])
        made = model.add(beam, pin, down)
        crank = model.rigid(CRANK_MASS, CRANK_INERTIA, pin / 2, START)
        inner, outer = (model.on_body(crank, (x, 0.0, 0.0)) for x in (-CRANK / 2, CRANK / 2))
        model.hinge(model.on_body(model.ground, (0.0, 0.0, 0.0)), inner)
        model.hinge(outer, mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=made["nRigidBody"])))
        mbs.AddLoad(items.LoadTorqueVector(markerNumber=inner, loadVector=[0.0, 0.0, TORQUE]))
        end = pin + COUPLER * np.array([np.cos(down), np.sin(down), 0.0])
        node = mbs.AddNode(items.NodePoint(referenceCoordinates=list(end)))
        mbs.AddObject(items.ObjectMassPoint(mass=SLIDER_MASS, nodeNumber=node))
        model.hold(node, (1, 2))
        tip = items.MarkerSuperElementPosition(
            bodyNumber=made["oFFRFreducedOrder"], meshNodeNumbers=beam.tip, weightingFactors=[0.25] * 4
        )
        ends = [mbs.AddMarker(tip), mbs.AddMarker(items.MarkerNodePosition(nodeNumber=node))]
        mbs.AddObject(items.ObjectJointSpherical(markerNumbers=ends))
        return model.solve(times, method, step=step)

    return run


SECTIONS = {"pendulum": pendulum, "slider-crank": slider_crank}

if __name__ == "__main__":
    main("Flexible bodies", SECTIONS)
