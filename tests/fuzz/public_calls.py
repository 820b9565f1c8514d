"""Every public callable of every public object, found by its name, with arguments that are wrong in some way.

`OBJECTS` makes one of each; their public methods, and the functions and classes that packages export, are looked up. An
argument is good where `GOOD` has a value by the name of its parameter, and at least one of a call is something else.
`tests/fuzz/test_campaigns.py` sees to it that whatever is marked as `user_facing` is reached.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import pkgutil
import random
import webbrowser
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

import public_names
import whippletree as wt
from fuzz import api_calls
from fuzz.api_calls import Call, Prepared, interrupt, small, values
from public_names import PACKAGES
from whippletree.analysis import Evaluation, Flow, compare, costs, pairwise, traced
from whippletree.analysis.models import star
from whippletree.elements.declaration import Declared
from whippletree.elements.joints import Joint
from whippletree.equilibria import eigenvalues_over, equilibrium_path
from whippletree.foundation.late_imports import Verb
from whippletree.kinematics import actuation, assemble_batch, workspace
from whippletree.viewer import view
from whippletree.viewer.scenes import still_scene

CALLED = ("__call__", "__getitem__", "__add__", "__matmul__", "__contains__")
"""Methods with underscores that users call."""


EXTENSIONS = ("whippletree.files.formats", "whippletree.formulations.methods")
REGISTERS = ("register", "unregister")
"""Packages in whose registers users enter formats and formulations of their own, and the functions that do it."""

HANDED = ("MotionRates",)
"""What is exported for the sake of types: the package makes it, and hands it to functions of users."""


class Named(NamedTuple):
    """A public callable: of which object, by which name."""

    owner: str
    name: str


# ---------------------------------------------------------------------- one of each


def beam() -> wt.FlexibleBody:
    return wt.beam(length=1.0, section=wt.circle(radius=0.02), material=wt.steel, elements=4, modes=2, stress=True)


def flexible() -> wt.System:
    m = wt.Mechanism("flexible")
    m.revolute("A", m.ground, m.body("a", beam()), axis="y")
    m.fixed("grip", "a.tip", m.body("b", mass=1.0, inertia=(1, 1, 1)))
    return m.build()


def plain() -> wt.System:
    """A tree without events, as steps of fixed work want it."""
    m = small(random.Random(0))
    m.state_rate("z", 0.0)
    m.spring("spring", "a", "b", stiffness=10.0, free_length=0.1)
    return m.build()


def target(s: wt.System, place: str) -> dict[str, Any]:
    return {place: s.pose(s.q0, place)}


OBJECTS: dict[str, Callable[[Prepared], Any]] = {
    "mechanism": lambda p: small(random.Random(0)),
    "body handle": lambda p: made(p, "mechanism").body("handled", mass=1.0),
    "joint handle": lambda p: made(p, "mechanism").revolute("J", "a", "b"),
    "description": lambda p: p.tree.description,
    "tree": lambda p: p.tree,
    "loop": lambda p: p.loop,
    "plain": lambda p: plain(),
    "flexible": lambda p: flexible(),
    "simulation": lambda p: wt.Simulation(p.loop, method="rk4", step=1e-2),
    "run": lambda p: p.run,
    "runs": lambda p: p.tree.simulate_many(0.02, every=0.01, v={"A": [0.0, 1.0]}),
    "study": lambda p: wt.Study(p.tree, {"t0": [0.0, 0.1]}, duration=0.02),
    "study case": lambda p: made(p, "study").case(0),
    "looped": lambda p: p.looped,
    "flexible run": lambda p: made(p, "flexible").simulate(0.02, every=0.01),
    "certificate": lambda p: p.run.certificate,
    "natural": lambda p: p.loop.natural,
    "absolute": lambda p: p.loop.absolute,
    "realtime": lambda p: made(p, "plain").realtime(step=1e-3),
    "realtime loop": lambda p: p.loop.realtime(step=1e-3),
    "natural steps": lambda p: p.loop.realtime(step=1e-3, method="natural"),
    "linear": lambda p: p.loop.linearize(inputs=["A"], outputs=["c"]),
    "modes": lambda p: made(p, "linear").modes(),
    "mode": lambda p: made(p, "modes")[0],
    "sweep": lambda p: p.loop.sweep_joint("A", [1.1, 1.2]),
    "workspace": lambda p: workspace(p.loop, "c", {"A": [1.1, 1.2]}),
    "actuation": lambda p: actuation(p.loop, p.loop.q0, actuators=["A"]),
    "assemblies": lambda p: assemble_batch(p.loop, p.loop.q0[None]),
    "solutions": lambda p: p.tree.inverse_kinematics(target(p.tree, "tip")),
    "equilibrium": lambda p: p.loop.equilibrium(),
    "path": lambda p: equilibrium_path(p.loop, "A.effort", [0.0, 0.01]),
    "branches": lambda p: eigenvalues_over(p.loop, "A.effort", [0.0, 0.01]),
    "matrices": lambda p: p.loop.matrices(p.loop.q0),
    "reactions": lambda p: p.loop.reactions(p.loop.q0, p.loop.v0),
    "reaction": lambda p: made(p, "reactions")["A"],
    "element force": lambda p: p.tree.forces(p.tree.q0, p.tree.v0)["spring"],
    "mobility": lambda p: p.loop.mobility,
    "beam": lambda p: beam(),
    "model": lambda p: wt.read(p.folder / "m.yaml"),
    "spline": lambda p: wt.Spline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    "lookup": lambda p: wt.Table([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], kind="linear"),
    "properties": lambda p: wt.rod(length=1.0, mass=1.0, axis="x"),
    "shape": lambda p: wt.rod(length=1.0, mass=1.0, axis="x").shapes[0],
    "placement": lambda p: wt.Placement(),
    "section": lambda p: wt.circle(radius=0.1),
    "material": lambda p: wt.steel,
    "evaluation": lambda p: Evaluation(p.loop, p.loop.q0, p.loop.v0),
    "flow": lambda p: Flow(pairwise(traced(p.loop))),
    "view": lambda p: p.loop.show(opened=False),
    "live": lambda p: view(p.tree, opened=False),
    "costs": lambda p: costs(p.tree),
    "curves": lambda p: compare(star, (1, 2), "articulated", "composite"),
    "scene": lambda p: still_scene(p.loop, p.loop.q0),
    "described body": lambda p: made(p, "flexible").description.bodies[0],
    "described force": lambda p: p.tree.description.forces[0],
}
"""One of each public object; what `GOOD_FOR` does not name is about the tree."""

GOOD_FOR = {"loop": "loop", "looped": "loop", "flexible run": "flexible", "flexible": "flexible", "plain": "plain"}
GOOD_FOR |= dict.fromkeys(("simulation", "natural", "absolute", "realtime loop", "natural steps", "linear"), "loop")
GOOD_FOR |= dict.fromkeys(("sweep", "workspace", "equilibrium", "path", "branches", "matrices", "view"), "loop")
GOOD_FOR |= {"realtime": "plain"}

_MADE: dict[str, Any] = {}


def made(p: Prepared, name: str) -> Any:
    """Return one of the objects; mechanisms change and are made anew."""
    if name in (*PACKAGES, *EXTENSIONS):
        return importlib.import_module(name)
    if name not in _MADE or name in ("mechanism", "body handle", "joint handle"):
        _MADE[name] = OBJECTS[name](p)
    return _MADE[name]


# ---------------------------------------------------------------------- their names


@functools.cache
def called_names_of(kind: type) -> tuple[str, ...]:
    """Return the public methods of a class that are the package's or its users'."""
    found = []
    for name in sorted(public_names.names_of(kind) | ({*CALLED} & {*dir(kind)})):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        member = vars(owner).get(name)
        ours = owner.__module__.startswith(("whippletree", "fuzz"))
        plain_kinds = FunctionType | staticmethod | classmethod | Verb
        if ours and (isinstance(member, plain_kinds) or callable(member)) and not isinstance(member, type):
            found.append(name)
    return tuple(found)


def exports(package: str) -> Iterator[str]:
    """Yield the functions and classes that a package exports and that are called; Python refuses abstract ones."""
    for name, member in public_names.exports(package):
        uncalled = isinstance(member, type) and (issubclass(member, BaseException | Enum) or inspect.isabstract(member))
        if callable(member) and not uncalled and name not in HANDED:
            yield name


@functools.cache
def everything(p: Prepared) -> tuple[Named, ...]:
    """All public callables: what packages export, then methods by the classes of objects."""
    found = [Named(package, name) for package in PACKAGES for name in exports(package)]
    found += [Named(package, name) for package in EXTENSIONS for name in REGISTERS]
    found += [Named(owner, name) for owner in OBJECTS for name in called_names_of(type(made(p, owner)))]
    return tuple(found)


def unreached(p: Prepared) -> list[str]:
    """Return the classes and functions marked as what users call that no case calls."""
    kinds = {base for owner in OBJECTS for base in type(made(p, owner)).__mro__}
    exported = [getattr(importlib.import_module(package), name) for package in PACKAGES for name in exports(package)]
    made_by_calls = {base for one in exported if isinstance(one, type) for base in one.__mro__}
    exported += [getattr(importlib.import_module(package), name) for package in EXTENSIONS for name in REGISTERS]
    functions = {inspect.unwrap(one) for one in exported if not isinstance(one, type)}
    found = []
    for module in _modules():
        for name, member in vars(module).items():
            if getattr(member, "__module__", "") != module.__name__ or name.startswith("_"):
                continue
            if isinstance(member, type):
                marked = {key for key, one in vars(member).items() if getattr(one, "user_facing", False)}
                only_made = issubclass(member, Declared | Joint) or not marked - {
                    "__new__",
                    "__init__",
                    "__post_init__",
                }
                reached = kinds | made_by_calls if only_made else kinds  # the package calls methods of elements
                found += [f"{module.__name__}.{name}"] if marked and member not in reached else []
            elif getattr(member, "user_facing", False) and inspect.unwrap(member) not in functions:
                found.append(f"{module.__name__}.{name}")
    return found


def _modules() -> Iterator[Any]:
    """Yield all modules of the package but those that run programs."""
    for one in pkgutil.walk_packages(wt.__path__, "whippletree."):
        if not one.name.endswith("__main__") and ".loop_compiler" not in one.name:
            yield importlib.import_module(one.name)


# ---------------------------------------------------------------------- calls


def good(p: Prepared, owner: str) -> dict[str, Any]:
    """Values that are right, by the names of parameters."""
    s = {"loop": p.loop, "plain": made(p, "plain"), "flexible": made(p, "flexible")}.get(
        GOOD_FOR.get(owner, ""), p.tree
    )
    place = "c" if s is p.loop else "b"
    state = {"q": s.q0, "v": s.v0, "z": s.z0, "tau": np.zeros(s.nv), "a": np.zeros(s.nv), "t": 0.0}
    of_owner = {"mechanism": "new", "run": "A", "looped": "A", "flexible run": "A"}
    names = {"joint": "A", "name": of_owner.get(owner, place), "place": place}
    choice = {"formulation": "auto", "check": True, "threads": 1, "frame": "ground", "opened": False, "seed": 0}
    numbers = {"duration": 0.02, "every": 0.01, "step": 1e-2, "values": {"A": 0.1}, "inputs": ["A"], "outputs": [place]}
    files = {"path": "made.nc", "checkpoint_every": 60.0, "progress": interrupt()}
    shape = {"mass": 1.0, "length": 1.0, "radius": 0.1, "size": (1, 2, 3), "width": 0.1, "height": 0.1, "wall": 0.01}
    two = {"parent": "a", "child": "b", "body": "a", "on": "a", "first": "A", "second": "B"}
    where = {"axis": "z", "at": (0, 0, 0)}
    laws = {"stiffness": 10.0, "damping": 0.1, "expression": made(p, "mechanism").time, "effort": 1.0, "rate": 0.0}
    pieces = {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 0.0], "section": wt.circle(radius=0.01), "material": wt.steel}
    whole = {"system": s, "mechanism": small(random.Random(0)), "run": p.run, "description": s.description}
    more = {"load": "A.effort", "parameter": "A.effort", "limits": None, "targets": target(s, place), "w": [1.0, 2.0]}
    more |= {"guesses": s.q0[None], "q0": s.q0, "q1": s.q0, "dv": s.v0, "time": 0.05, "start": 0.0, "end": 0.1}
    more |= {"coordinates": ["A"], "source": "m.yaml", "text": "name: m", "model": made(p, "model"), "points": 5}
    return state | names | choice | numbers | files | shape | two | where | laws | pieces | whole | more


def case(number: int, p: Prepared) -> None:
    """Call something with an argument or two in whose place something else is."""
    os.chdir(p.folder)
    webbrowser.open = lambda *given, **more: False
    call, args, options = chosen(number, p)
    sequence = getattr(call, "__name__", "") == "__getitem__"
    with np.errstate(all="ignore"), contextlib.suppress(*[IndexError] * sequence):  # by which Python ends loops
        call(*args, **options)


def chosen(number: int, p: Prepared) -> Call:
    """The call of a case: one after the other in an order that mixes them."""
    every, rng = everything(p), random.Random(number)
    named = every[number * _STRIDE % len(every)]
    call = getattr(made(p, named.owner), named.name)
    if inspect.isgeneratorfunction(inspect.unwrap(call)):
        call = _exhausted(call)
    right = good(p, named.owner)
    args: list[Any] = []
    options: dict[str, Any] = {}
    parameters = list(inspect.signature(call).parameters.values())
    wrong = set(rng.sample(range(len(parameters)), min(len(parameters), rng.choice((1, 1, 1, 2, 3)))))
    for i, one in enumerate(parameters):
        if one.kind is one.VAR_KEYWORD:
            options |= {"progress": right["progress"]} if named.name == "simulate" else {}  # which ends long runs
            continue
        required = one.default is one.empty and one.kind is not one.VAR_POSITIONAL
        if i not in wrong and not required and one.name not in ("opened", "progress"):
            continue
        known = right.get(one.name, one.default)
        value = values(rng, known, p) if i in wrong or known is one.empty else known
        if one.kind is one.KEYWORD_ONLY or args is None:
            options[one.name] = value
        elif one.kind is one.VAR_POSITIONAL:
            args.append(value)
        elif len(args) < i or options:  # those before it are left out
            options[one.name] = value
        else:
            args.append(value)
    return call, tuple(args), options


_STRIDE = 7919


def _exhausted(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that goes through what a generator yields."""

    @functools.wraps(call)
    def through(*args: Any, **options: Any) -> Any:
        return list(call(*args, **options))

    return through


def misfits(p: Prepared) -> tuple[int, list[str]]:
    """Call everything with arguments that do not fit its signature: count the calls, and name those without words."""
    calls, raw = 0, []
    for named in everything(p):
        call = getattr(made(p, named.owner), named.name)
        for args, options in (((), {}), ((None,) * 60, {}), ((), {"nonsense": 1}), ((), {"n" * 5000: 1})):
            try:
                inspect.signature(call).bind(*args, **options)
            except TypeError:
                calls += 1
                try:
                    call(*args, **options)
                    raw.append(f"{named}: taken")
                except wt.WhippletreeError as error:
                    raw += [f"{named}: {len(str(error))} characters"] if len(str(error)) > 1000 else []
                except Exception as error:
                    raw.append(f"{named}: {error}")
    return calls, raw


def prepare(folder: Path) -> Prepared:
    _MADE.clear()
    return api_calls.prepare(folder)


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        prepared = prepare(Path(scratch))
        for one in map(int, sys.argv[1:]):
            call, args, options = chosen(one, prepared)
            print(one, getattr(call, "__qualname__", call), str(args)[:300], str(options)[:300])
            case(one, prepared)
