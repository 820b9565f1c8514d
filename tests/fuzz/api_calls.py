"""Calls of the public interface with arguments that are wrong in some way: right, or refused by an error of our own.

A good call of everything that users call is there, those of a system by the table of calls. A case takes one of them
and puts something else in the place of one or two of its arguments.
"""

from __future__ import annotations

import contextlib
import datetime
import inspect
import io
import math
import os
import random
import tempfile
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.cli import main
from whippletree.equilibria import eigenvalues_over, equilibrium_path
from whippletree.kinematics import actuation, assemble_batch, mobility_at, workspace
from whippletree.system.public_call import calls_of

ROBOT = str(Path(__file__).resolve().parents[1] / "files" / "models" / "four_bar.urdf")
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Awkward:
    """An object that answers every question by an error."""

    def __array__(self, *given: Any, **more: Any) -> Any:
        raise RuntimeError("no array")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __repr__(self) -> str:
        raise RuntimeError("no picture")


def small(rng: random.Random) -> wt.Mechanism:
    """A mechanism that has one of many things."""
    m = wt.Mechanism("m")
    a, b = m.body("a", wt.rod(length=1.0, mass=1.0, axis="x")), m.body("b", mass=1.0, inertia=np.eye(3))
    m.revolute("A", m.ground, a, axis="y")
    m.prismatic("B", a, b, at=(1, 0, 0), axis="z")
    m.frame("tip", on="a", at=(1, 0, 0))
    m.parameter("k", 2.0)
    m.state("z", 1.0)
    return m


def tree() -> wt.System:
    m = small(random.Random(0))
    m.spring("spring", "a", "b", stiffness=10.0, free_length=0.1)
    m.state_rate("z", -m.state_symbol("z") + m.rate("A"))
    m.event("zero", m.coordinate("A") - 0.2)
    m.actuator("motor", "A", effort=m.parameter("p", 0.5) * m.time)
    return m.build()


def loop() -> wt.System:
    m = wt.Mechanism("four-bar", gravity=(0, -9.81, 0))
    rods = [m.body(name, wt.rod(length=x, mass=1.0, axis="x")) for name, x in (("a", 1.0), ("b", 1.2), ("c", 1.4))]
    m.revolute("A", m.ground, rods[0], axis="z")
    m.revolute("B", rods[0], rods[1], at=(1, 0, 0), axis="z")
    m.revolute("C", rods[1], rods[2], at=(1.2, 0, 0), at_child=(1.4, 0, 0), axis="z")
    m.revolute("D", m.ground, rods[2], at=(1.5, 0, 0), axis="z")
    return m.build(guess={"A": 1.2, "B": -1.0, "D": 1.6})


class Prepared(NamedTuple):
    tree: wt.System
    loop: wt.System
    run: wt.Trajectory
    looped: wt.Trajectory
    folder: Path


def prepare(folder: Path) -> Prepared:
    warnings.simplefilter("ignore")
    a, b = tree(), loop()
    run, looped = a.simulate(0.2, every=0.05), b.simulate(0.2, every=0.05)
    run.save(folder / "run.nc")
    a.simulate(0.1, every=0.05, checkpoint=folder / "run.ckpt")
    (folder / "m.yaml").write_text("name: m\nbodies: {a: {mass: 1}}\njoints: {A: {prismatic: [ground, a]}}\n")
    return Prepared(a, b, run, looped, folder)


def of_mechanism(m: wt.Mechanism) -> list[Call]:
    """Calls that describe."""
    place = {"at": (0, 0, 0), "axis": "z", "at_child": (0, 0, 0), "axis_child": "z", "prescribed": False}
    posed = {"pose": np.eye(4), "pose_child": np.eye(4)}
    turning = {name: value for name, value in place.items() if not name.startswith("axis")}
    q, t = m.coordinate("A"), m.time
    return [
        (wt.Mechanism, ("name",), {"gravity": (0, 0, -9.81)}),
        (m.body, ("new",), {"mass": 1.0, "com": (0, 0, 0), "inertia": np.eye(3)}),
        (m.body, ("new", wt.sphere(radius=1.0, mass=1.0)), {}),
        (wt.rod, (), {"length": 1.0, "mass": 1.0, "axis": "x"}),
        (wt.box, (), {"size": (1, 2, 3), "mass": 1.0}),
        (wt.cylinder, (), {"radius": 1.0, "length": 1.0, "mass": 1.0, "axis": "x"}),
        (wt.sphere, (), {"radius": 1.0, "mass": 1.0}),
        (wt.point_mass, (1.0, (0, 0, 0)), {}),
        (wt.point_masses, ([(1.0, (0, 0, 0)), (2.0, (1, 0, 0))],), {}),
        (wt.MassProperties, (1.0, (0, 0, 0), np.eye(3)), {}),
        (wt.Spline, ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]), {}),
        (wt.Table, ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]), {"kind": "hold"}),
        (wt.pulse, (t, 0.0, 1.0), {}),
        (wt.Placement, (), {}),
        (m.frame, ("new",), {"on": "a", "at": (1, 0, 0), "rotation": np.eye(3)}),
        (m.parameter, ("new", 1.0), {}),
        (m.state, ("new", 1.0), {"rate": t}),
        (m.state_rate, ("z", t), {}),
        (m.state_symbol, ("z",), {}),
        *((getattr(m, kind), ("J", "a", "b"), place) for kind in ("revolute", "prismatic", "cylindrical", "planar")),
        (m.universal, ("J", "a", "b"), {"axis": "x", "axis_child": "y"}),
        (m.screw, ("J", "a", "b"), {"lead": 0.1, **place}),
        *((getattr(m, kind), ("J", "a", "b"), turning) for kind in ("fixed", "spherical", "free")),
        (m.revolute, ("J", "a", "b"), posed),
        (m.distance, ("rod", "a", "b"), {"length": 1.0, "at": (0, 0, 0), "at_child": (0, 0, 0)}),
        (m.coupling, ("c", {"A": 1.0, "B": 2.0}), {"offset": 0.0}),
        (m.gear, ("g", "A", "B"), {"ratio": 2.0, "offset": 0.0}),
        (m.closure, ("c", q - t), {}),
        (m.drive, ("d", "A"), {"position": t, "index": 0}),
        (m.drive_point, ("d", "tip"), {"position": (t, None, None), "at": (0, 0, 0)}),
        (m.spring, ("s", "a", "b"), {"stiffness": 1.0, "free_length": 1.0, "damping": 0.1, "at": (0, 0, 0)}),
        (m.spring, ("s", "a", "b"), {"law": lambda x, v: x}),
        (m.torsion_spring, ("s", "A"), {"stiffness": 1.0, "rest": 0.0, "damping": 0.1, "index": 0}),
        (m.bushing, ("s", "a", "b"), {"stiffness": 1.0, "damping": 0.1, "at": (0, 0, 0)}),
        (
            m.contact,
            ("s", "a"),
            {"stiffness": 1e3, "damping": 1.0, "friction": 0.1, "radius": 0.1, "normal": (0, 0, 1)},
        ),
        (m.contact, ("s", "a"), {"stiffness": 1e3, "offset": t, "speed": 0.01, "width": 1e-3, "at": (0, 0, 0)}),
        (m.friction, ("s", "A"), {"coulomb": 1.0, "viscous": 1.0, "speed": 0.01, "index": 0}),
        (
            m.limit,
            ("s", "A"),
            {"lower": -1.0, "upper": 1.0, "stiffness": 1e3, "damping": 1.0, "width": 1e-3, "index": 0},
        ),
        (m.load, ("s", "tip"), {"force": (0, 0, t), "moment": (0, 0, 0), "at": (0, 0, 0), "frame": "ground"}),
        (m.load, ("s", "tip"), {"wrench": (0, 0, 0, 0, 0, t)}),
        (m.actuator, ("s", "A"), {"effort": t, "index": 0}),
        (m.event, ("e", q), {"direction": "both", "stop": False, "velocities": {"A": 0.0}, "states": {"z": 0.0}}),
        (m.event, ("e", q), {"parameters": {"k": 1.0}, "efforts": {"A": 1.0}}),
        *((getattr(m, name), ("A", 0), {}) for name in ("coordinate", "rate")),
        *((getattr(m, name), ("tip",), {}) for name in ("position", "rotation", "velocity")),
        (_built, (m,), {"fold": False, "guess": None, "hold": None, "cut": None, "dependent": None, "accuracy": None}),
        (_assigned, (m, "gravity", (0, 0, -1)), {}),
        (_truth, (t,), {}),
    ]


def _built(m: Any, **options: Any) -> Any:
    if isinstance(m, wt.Mechanism):
        if "z" in [one.name for one in m.describe().states]:
            with contextlib.suppress(wt.ModelError):
                m.state_rate("z", 0.0)
        m.build(**options)


def _assigned(owner: Any, name: str, value: Any) -> None:
    good = isinstance(owner, wt.Mechanism | wt.Simulation) and isinstance(name, str)
    if good and name in ("gravity", "tau", "state"):
        setattr(owner, name, value)


def _truth(symbol: Any) -> None:
    if type(symbol) is not ca.SX and isinstance(symbol, ca.SX) and symbol > 1:  # symbols of users answer as CasADi's
        return


def of_table(s: wt.System, name: str, joint: str) -> list[Call]:
    """A good call of each row of the table of calls, with every option that it knows."""
    q, v, tau = s.q0, s.v0, np.zeros(s.nv)
    state: dict[str, Any] = {"q": q, "v": v, "tau": tau, "a": tau, "dv": v, "q0": q, "q1": q, "guess": q}
    state |= {"name": name, "joint": joint, "values": {joint: 0.1}, "seed": 3, "language": "c"}
    options: dict[str, Any] = {"wrenches": {name: np.ones(6)}, "hold": [joint], "about": "origin", "threads": 1}
    options |= {"z": s.z0} if s.nz else {}
    found: list[Call] = []
    for row in calls_of(wt.System).values():
        method = getattr(s, row.name)
        state["name"] = "energy" if row.name in ("function", "c_source", "derivatives_of") else name
        if row.name == "readable_source":
            state["name"] = "mass_matrix"
        options["wrenches"] = () if row.name in ("function", "c_source") else {name: np.ones(6)}
        signature = inspect.signature(method).parameters
        if method.__module__.startswith("whippletree.system") and row.name != "matrices":
            names = calls_of(wt.System)["function"].options if row.name == "c_source" else row.options
            given = {one: options.get(one, signature[one].default) for one in names}
            found.append((method, tuple(state[one] for one in row.state), given))
    return found


def of_system(s: wt.System, name: str, joint: str) -> list[Call]:
    """Calls that compute."""
    q, v = s.q0, s.v0
    options: dict[str, Any] = {"t": 0.0, "parameters": None}
    return [
        *of_table(s, name, joint),
        (s.forward_dynamics, (np.tile(q, (3, 1)), np.tile(v, (3, 1))), {"threads": 1, **options}),
        (s.matrices, (q, v), options | {"text": "jain"}),
        (
            partial(s.show, opened=False),
            (q, "scene.html"),
            {"parameters": None, "paths": [name], "title": "a", "mode": None, "follow": name, "collisions": True},
        ),
        (assemble_batch, (s, q[None]), options | {"hold": [joint], "restart": False, "threads": 1}),
        (actuation, (s, q), options | {"actuators": [joint]}),
        (s.sweep_joint, ((joint, 0), [0.0, 0.1]), options | {"hold": [], "start": q}),
        (s.sweep_joint, (name, [[0.1, 0.0, 0.2], [0.1, 0.0, 0.3]]), options | {"axes": "xyz", "hold": [], "start": q}),
        (s.inverse_kinematics, ({name: [0.1, 0.0, 0.2]},), options | {"guess": q, "hold": [joint], "restart": False}),
        (
            workspace,
            (s, name, {(joint, 0): [0.0, 0.1]}),
            options | {"hold": [], "start": q, "actuators": [joint]},
        ),
        (s.kernels.closures.motion_basis, (q,), options),
        (mobility_at, (s, q), {"t": 0.0}),
        (s.kernels.closures.closure_errors, (q[None], v[None], np.zeros(1)), {}),
        (s.kernels.closures.data_slack, (v,), {}),
        (s.kernels.operations, ("mass_matrix",), {"frame": "", "formulation": "auto", "wrenches": ()}),
        *_of_equilibria(s, name, joint),
        *_of_simulation(s, joint),
    ]


def _of_equilibria(s: wt.System, name: str, joint: str) -> list[Call]:
    """Calls about rest and what is near it."""
    load: dict[str, Any] = {"tau": np.zeros(s.nv), "parameters": None, "t": 0.0, "speeds": None}
    searched = load | {"hold": [joint], "unknowns": (), "nearest": False, "starts": 0, "seed": 0}
    followed = load | {"guess": s.q0, "nearest": True}
    signals = {"inputs": [joint], "outputs": [name], "t": 0.0, "parameters": None}
    return [
        (s.equilibrium, (s.q0,), searched),
        (
            equilibrium_path,
            (s, f"{joint}.effort", [0.0, 1e-3]),
            followed | {"hold": [joint]},
        ),
        (eigenvalues_over, (s, f"{joint}.effort", [0.0, 1e-3]), followed),
        (s.linearize, (s.q0, s.v0, np.zeros(s.nv)), signals),
    ]


def interrupt() -> Callable[[float], None]:
    """A progress function that ends a run after two seconds."""
    import time

    began = time.perf_counter()

    def tell(share: float) -> None:
        if time.perf_counter() - began > 2.0:
            raise KeyboardInterrupt

    return tell


def _of_simulation(s: wt.System, joint: str) -> list[Call]:
    """Calls of a run."""
    start = {"q": s.q0, "v": s.v0, "z": s.z0, "tau": np.zeros(s.nv), "parameters": None}
    choice = {"method": "dopri5", "tolerance": 1e-6, "adaptive": True, "max_step": 0.1, "formulation": "auto"}
    timed = {"every": 0.05, "t0": 0.0, "progress": interrupt(), "verify": False}
    sim = wt.Simulation(s, method="rk4", step=1e-2)
    return [
        (s.simulate, (0.1,), timed | start),
        (s.simulate, (0.1,), timed | choice),
        (s.simulate, (0.1,), {"times": [0.0, 0.05, 0.1], "method": "rk4", "step": 1e-2, "progress": interrupt()}),
        (s.simulate, (0.1,), {"controller": _nothing, "period": 0.05, "progress": interrupt()}),
        (
            s.simulate,
            (0.1,),
            {"method": "generalized_alpha", "step": 1e-2, "spectral_radius": 0.5, "progress": interrupt()},
        ),
        (s.simulate, (0.1,), {"checkpoint": "run.ckpt", "checkpoint_every": 60.0, "progress": interrupt()}),
        (wt.Simulation, (s,), start | choice | {"t": 0.0}),
        (wt.Simulation, (s,), {"method": "rk4", "step": 1e-3, "on_event": None}),
        (sim.step, (1e-2,), {"tau": np.zeros(s.nv)}),
        (sim.set_value, ("effort", joint, 0, 1.0), {}),
        (sim.set_value, ("velocity", joint, 0, 0.1), {}),
        (sim.set_velocities, (s.v0,), {}),
        (sim.run, (np.array([0.01, 0.02]),), {"watch": None, "pause": None, "rows": None, "resumed": False}),
        (_assigned, (sim, "tau", np.zeros(s.nv)), {}),
        (_assigned, (sim, "state", sim.state), {}),
    ]


def _nothing(t: float, q: Any, v: Any, z: Any) -> dict[str, float]:
    return {}


def of_run(run: wt.Trajectory, name: str, joint: str) -> list[Call]:
    """Calls of a trajectory."""
    rows = {"t": run.t, "q": run.q, "v": run.v, "z": run.z, "certificate": None, "events": (), "info": {}}
    return [
        (run.__getitem__, (joint,), {}),
        (run.__getitem__, (2,), {}),
        (run.coordinates, (joint,), {}),
        (run.velocities, (joint,), {}),
        (run.state, ("z",), {}),
        *((getattr(run, call), (name,), {}) for call in ("pose", "position")),
        *((getattr(run, call), (name,), {"frame": "ground"}) for call in ("velocity", "acceleration")),
        (run.reactions, (), {"frame": "ground"}),
        (run.at, (0.1,), {}),
        (run.resample, (), {"times": [0.0, 0.1], "every": None, "close": True}),
        (run.resample, (), {"every": 0.05}),
        (run.between, (0.0, 0.1), {}),
        (run.dataset, ("energy",), {}),
        (run.table, (joint,), {}),
        (run.to_csv, ("run.csv", joint), {}),
        (partial(run.animate, opened=False), ("run.html",), {"paths": [], "plots": [joint], "frames": 3, "title": "a"}),
        (partial(run.animate, opened=False), ("run.glb",), {"forces": False, "beside": {"other": run}, "speed": 1.0}),
        (run.save, ("again.nc",), {}),
        (wt.Trajectory.load, ("run.nc", None), {"check": True}),
        (wt.resume, ("run.ckpt",), {"system": None, "progress": False, "check": True, "checkpoint_every": 60.0}),
        (wt.Trajectory, (run.system,), rows | {"parameters": run.parameters, "efforts": run.efforts, "work": run.work}),
        (wt.Certificate.from_dict, (run.certificate.as_dict(),), {}),
        (wt.read, ("m.yaml",), {}),
        (
            wt.read,
            (ROBOT,),
            {"base": "free", "stops": True, "search": ["."], "xacro": False, "keyframe": None, "loops": None},
        ),
        (_written, ("m.yaml", "again.yaml"), {}),
        (_command, ("run", "m.yaml", "--duration", "0.1"), {}),
        (_command, ("check", "m.yaml"), {}),
        (_command, ("info", "m.yaml"), {}),
        (_command, ("plot", "run.nc", "A", "-o", "run.png"), {}),
    ]


def _written(model: Any, path: Any) -> None:
    wt.write(wt.read(model), path)


def _command(*words: Any) -> None:
    """A command line, which says what is wrong and ends with a number."""
    if any(isinstance(word, Awkward) for word in words):
        return  # it cannot be written on one
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            found = main([str(word) for word in words])
        except SystemExit as end:
            found = end.code
    assert isinstance(found, int), found
    assert "Traceback" not in said.getvalue()


def values(rng: random.Random, good: Any, p: Prepared) -> Any:
    """Something in the place of an argument."""
    x = ca.SX.sym("x")
    numbers = (
        0,
        1,
        -1,
        2,
        -3,
        1e-320,
        5e-324,
        1e-9,
        1e9,
        1e300,
        -1e308,
        10**400,
        -(10**400),
        2**63,
        math.nan,
        math.inf,
    )
    words = ("", "x", "5", "A", "a", "no", "ground", "é", "\n", "\0", "x" * 500_000, "1e400", b"bytes")
    arrays = (
        [],
        (),
        [[]],
        [1.0],
        [[1.0, 2.0]],
        [0.0, "x"],
        np.zeros(0),
        np.zeros(3),
        np.zeros((2, 2)),
        np.zeros((4, 4)),
        np.full((1, 2), math.nan),
        np.array(1.0),
        np.array(["a", "b"]),
        np.array([None, 1], dtype=object),
        np.array([1 + 2j]),
        np.array([True, False]),
        np.array([10**400], dtype=object),
        np.ma.array([1.0, 2.0], mask=[True, False]),
        np.zeros((1, 0, 3)),
        np.datetime64("2020-01-01"),
    )
    others = (
        None,
        True,
        False,
        1j,
        Decimal("1.5"),
        Fraction(1, 3),
        {},
        {"A": 1.0},
        {"A": "x"},
        {1: 2},
        {"x" * 9999: 1.0},
    )
    objects = (
        set(),
        {"A"},
        range(3),
        print,
        type,
        Awkward(),
        datetime.timedelta(1),
        wt,
        p.tree,
        p.run,
        iter([1]),
        [None],
    )
    symbols = (x, ca.SX.sym("y", 3), x > 1, ca.SX(3, 3), ca.MX.sym("z"), ca.DM(1), [x, x, x], x / 0, ca.SX(math.nan))
    pools: tuple[Any, ...] = (numbers, numbers, words, arrays, arrays, others, objects, symbols)
    if rng.random() < 0.15:
        with contextlib.suppress(Exception):
            changed = np.array(good, dtype=float)
            changed.reshape(-1)[rng.randrange(changed.size)] = rng.choice(
                (math.nan, math.inf, 1e308, -1e200, 1e-300, 7.0)
            )
            return changed if changed.ndim else float(changed)
    return rng.choice(rng.choice(pools))


def case(number: int, p: Prepared) -> None:
    """Call something with an argument or two in whose place something else is."""
    os.chdir(p.folder)
    call, args, options = chosen(number, p)
    with np.errstate(all="ignore"):
        call(*args, **options)


def chosen(number: int, p: Prepared) -> Call:
    """The call of a case."""
    rng = random.Random(number)
    kind = rng.randrange(6)
    if kind < 2:
        calls = of_mechanism(small(rng))
    elif kind < 4:
        calls = of_system(p.tree, "tip", "A") if kind == 2 else of_system(p.loop, "c", "A")
    else:
        calls = of_run(p.run, "tip", "A") if kind == 4 else of_run(p.looped, "c", "B")
    call, args, options = rng.choice(calls)
    places: list[Any] = [*range(len(args)), *options]
    given = list(args)
    for place in rng.sample(places, min(len(places), rng.choice((1, 1, 1, 2)))):
        if isinstance(place, int):
            given[place] = values(rng, given[place], p)
        else:
            options = options | {place: values(rng, options[place], p)}
    return call, tuple(given), options


if __name__ == "__main__":
    import sys

    with tempfile.TemporaryDirectory() as scratch:
        made = prepare(Path(scratch))
        os.chdir(scratch)
        for one in map(int, sys.argv[1:]):
            call, args, options = chosen(one, made)
            print(one, getattr(call, "__qualname__", call), str(args)[:300], str(options)[:300])
            case(one, made)
