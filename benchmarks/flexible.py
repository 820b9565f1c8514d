"""Flexible bodies beside Exudyn's `ObjectFFRFreducedOrder`: ``python benchmarks/flexible.py [section ...]``.

Sections: pendulum (a beam on a hinge, let go when level), slider-crank (with a flexible coupler, driven by a torque),
both under gravity. Bodies have eight modes, the same reduced matrices on both sides, no geometric stiffening.
The peer lets weight act at the centre of mass of the undeformed body; here it is a force on one more node without mass,
at the centre of mass, whose modes are the mean of all by mass, which is the exact weight of a deformed body. The error
is the largest of a corner's position at the end of the beam, at ten instants, against our own run at a hundredth of our
smallest tolerance.

First it is shown that the peer comes to that motion as its steps are made smaller, over the first 50 ms. Then each of
the peer's runs is compared with the fastest of ours whose error is not larger. Runs that are farther off than a tenth
of the largest elastic deflection have lost what the modes are for, and are printed only. The smallest ratio of the
others counts: that is the peer's best method. Its explicit methods are not among them: they leave out what holds a
coordinate, and come to another motion. Times are the least of all rounds, what prepares a run in Python included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from bars import Options, verdict
from command import main
from flexible_peers import SPECTRAL_RADIUS, Array, ExudynModel, PointBeam, Run, point_beam
from timing import table

import whippletree as wt
from whippletree.simulate import Simulation

BAR = 10.0  # times as fast, at equal error
ROUNDS = 5
INSTANTS = np.linspace(0.1, 1.0, 10)  # shares of a run at which errors are measured
GRAVITY = 9.81
CRANK, COUPLER, START = 0.15, 0.6, np.pi / 3
TORQUE, CRANK_MASS, CRANK_INERTIA, SLIDER_MASS = 1.0, 2.0, 0.03, 0.5
OURS = {
    f"{method}, {name} {value:g}": {"method": method, name: value} | more
    for method, name, values, more in (
        ("dop853", "tolerance", (1e-4, 1e-6, 1e-8, 1e-10, 1e-11), {}),
        ("dopri5", "tolerance", (1e-3, 1e-4, 1e-5, 1e-6, 1e-8), {}),
        ("rk4", "step", (7e-4, 5e-4, 2.5e-4, 1e-4), {}),
        ("trapezoidal", "step", (4e-3, 2e-3, 1e-3, 5e-4), {}),
        ("generalized_alpha", "step", (4e-3, 2e-3, 1e-3, 5e-4), {"spectral_radius": SPECTRAL_RADIUS}),
    )
    for value in values
}
REFERENCE = {"method": "dop853", "tolerance": 1e-13}
FINE, EARLY = (2e-5, 1e-5, 5e-6), np.linspace(0.005, 0.05, 10)
STEPS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4)
USEFUL = 0.1  # of the largest elastic deflection: errors up to which runs are compared


Peer = Callable[[str, float, Array], Run]
"""The peer's run by a method, with a step, at these times."""


@dataclass(frozen=True)
class Case:
    """A mechanism with a flexible body, how long it is simulated, how it is started, and the peer's runs of it."""

    title: str
    system: wt.System
    body: str
    peer: Peer
    duration: float
    start: Mapping[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> Array:
        """The instants at which errors are measured."""
        return self.duration * INSTANTS

    def run(self, settings: Mapping[str, Any], times: Array) -> tuple[float, Array]:
        """One of our runs: CPU seconds, and the states at the times; machine code is made before."""
        begin = time.thread_time()
        rows = Simulation(self.system, **self.start, **settings).run(times)
        return time.thread_time() - begin, rows

    def corner(self, rows: Array) -> Array:
        """Where the corner is at states."""
        return np.array([self.system.pose(row[: self.system.nq], f"{self.body}.corner")[:3, 3] for row in rows])

    def ours(self, settings: Mapping[str, Any]) -> Run:
        """A run of ours."""

        def run() -> tuple[float, Array]:
            taken, rows = self.run(settings, self.times)
            return taken, self.corner(rows)

        return run

    def exact(self, times: Array) -> Array:
        """The reference."""
        return self.corner(self.run(REFERENCE, times)[1])

    def deflection(self) -> float:
        """The largest elastic deflection, in metres."""
        rows = self.run(REFERENCE, self.duration * np.linspace(0.0025, 1.0, 400))[1]
        kind = self.system.description.body(self.body).kind
        assert isinstance(kind, wt.FlexibleBody)
        moved = kind.motion(rows[:, self.system.q_slice(self.body)]).displacement
        return float(np.linalg.norm(moved, axis=-1).max())


def agreement(case: Case) -> None:
    """Print how the difference from our reference falls with the peer's step, which is of second order."""
    early = case.exact(EARLY)
    off = [np.linalg.norm(case.peer("trapezoidal", h, EARLY)()[1] - early, axis=1).max() for h in FINE]
    orders = [
        None,
        *(np.log(a / b) / np.log(h / k) for (a, b), (h, k) in zip(pairwise(off), pairwise(FINE), strict=True)),
    ]
    rows = [(1e6 * h, d, order) for h, d, order in zip(FINE, off, orders, strict=True)]
    table(f"{case.title}: the same motion, first {1e3 * EARLY[-1]:g} ms", ("step, us", "difference, m", "order"), rows)


def measure(case: Case, rounds: int) -> None:
    """Show that both find the same motion, then compare times."""
    agreement(case)
    names = [(method, h) for method in ("generalised-alpha", "trapezoidal") for h in STEPS]
    peers = stable({f"{method} {1e3 * h:g} ms": case.peer(method, h, case.times) for method, h in names})
    ours = stable({name: case.ours(settings) for name, settings in OURS.items()})
    compare(case, ours, peers, min(rounds, ROUNDS))


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


def compare(case: Case, ours: Mapping[str, Run], peers: Mapping[str, Run], rounds: int) -> None:
    """Print times and errors of all, and how many times as fast we are as the peer at equal error."""
    everyone, exact, title = {**ours, **peers}, case.exact(case.times), case.title
    error = {}
    for name, run in everyone.items():
        away = np.linalg.norm(run()[1] - exact, axis=1).max()
        error[name] = float(away) if np.isfinite(away) else float("inf")
    taken: dict[str, list[float]] = {name: [] for name in everyone}
    for _ in range(rounds):
        for name, run in everyone.items():
            taken[name].append(run()[0])
    cpu = {name: min(times) for name, times in taken.items()}
    rows = []
    for name in peers:
        as_good = [mine for mine in ours if error[mine] <= error[name]]
        best = min(as_good, key=lambda mine: cpu[mine]) if as_good else None
        ratio = cpu[name] / cpu[best] if best else float("nan")
        mine = (best, 1e3 * cpu[best], error[best]) if best else ("none is as good", None, None)
        rows.append((name, 1e3 * cpu[name], error[name], *mine, ratio))
    header = ("Exudyn", "CPU ms", "error, m", "ours, as good", "CPU ms", "error, m", "ratio")
    table(f"{title}, {case.duration:g} s", header, rows)
    table(f"{title}: all our runs", ("run", "CPU ms", "error, m"), [(n, 1e3 * cpu[n], error[n]) for n in ours])
    deflection = case.deflection()
    useful = [row for row in rows if row[2] < USEFUL * deflection]
    least = min(row[-1] for row in useful)
    print(f"The beam bends by {1e3 * deflection:.3g} mm.")
    print(f"smallest ratio at errors below {1e3 * USEFUL * deflection:.3g} mm: {least:.1f}: {verdict(least, BAR)}\n")


# ---------------------------------------------------------------------------------------------------------
# Pendulum


def pendulum(options: Options) -> None:
    beam = point_beam(1.0, 0.006, 0.01)
    m = wt.Mechanism("pendulum", gravity=(0, -GRAVITY, 0))
    m.revolute("hinge", m.ground, m.body("link", beam.body()), axis="z")
    measure(Case("Flexible pendulum", m.build(), "link", partial(exudyn_pendulum, beam), 5.0), options.rounds)


def exudyn_pendulum(beam: PointBeam, method: str, step: float, times: Array) -> Run:
    def run() -> tuple[float, Array]:
        model = ExudynModel()
        made = model.add(beam, np.zeros(3), 0.0, weight=GRAVITY)
        model.hold(made["nRigidBody"], (0, 1, 2, 3, 4))
        return model.solve(times, method, step=step)

    return run


# ---------------------------------------------------------------------------------------------------------
# Slider-crank


def slider_crank(options: Options) -> None:
    beam = point_beam(COUPLER, 0.01, 0.008)
    down = -np.arcsin(CRANK * np.sin(START) / COUPLER)
    m = wt.Mechanism("slider-crank", gravity=(0, -GRAVITY, 0))
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
    peer = partial(exudyn_slider_crank, beam, down)
    measure(Case("Slider-crank with a flexible coupler", s, "coupler", peer, 2.0, {"tau": tau}), options.rounds)


def exudyn_slider_crank(beam: PointBeam, down: float, method: str, step: float, times: Array) -> Run:
    def run() -> tuple[float, Array]:
        model = ExudynModel()
        items, mbs = model.items, model.mbs
        pin = CRANK * np.array([np.cos(START), np.sin(START), 0.0])
        made = model.add(beam, pin, down, weight=GRAVITY)
        crank = model.rigid(CRANK_MASS, CRANK_INERTIA, pin / 2, START, weight=GRAVITY)
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
