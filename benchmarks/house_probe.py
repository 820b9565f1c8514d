"""What runs in the new processes of `house.py`: calls on a four-bar, and the public names of classes.

``python benchmarks/house_probe.py WHAT`` prints one line of JSON; the package is the one on the path.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = "whippletree"
FORMULATION = "coordinate_reduction"


def four_bar() -> Any:
    """Describe a parallelogram of thin rods, crank and rocker upright."""
    import whippletree as wt

    m = wt.Mechanism("four-bar", gravity=(0.0, -9.81, 0.0))
    tip = (1.0, 0.0, 0.0)
    inertia = [[0.0, 0.0, 0.0], [0.0, 1 / 12, 0.0], [0.0, 0.0, 1 / 12]]
    crank, coupler, rocker = (
        m.body(name, mass=1.0, com=(0.5, 0.0, 0.0), inertia=inertia) for name in ("crank", "coupler", "rocker")
    )
    m.revolute("A", m.ground, crank)
    m.revolute("B", crank, coupler, at=tip)
    m.revolute("C", coupler, rocker, at=tip, at_child=tip)
    m.revolute("D", m.ground, rocker, at=tip)
    return m


def built() -> Any:
    quarter = 1.5707963267948966
    return four_bar().build(guess={"A": quarter, "B": -quarter, "C": quarter, "D": quarter})


def of_build() -> Callable[[], object]:
    four_bar()  # the description itself does not count
    return built


def of_forward_dynamics() -> Callable[[], object]:
    s = built()
    return lambda: s.forward_dynamics(s.q0, s.v0, formulation=FORMULATION)


def of_simulate() -> Callable[[], object]:
    s = built()
    return lambda: s.simulate(0.5)


CALLS: dict[str, Callable[[], Callable[[], object]]] = {
    "build": of_build,
    "forward_dynamics": of_forward_dynamics,
    "simulate": of_simulate,
}


def entered(call: Callable[[], object]) -> dict[str, Any]:
    """Return the files and functions of the package that a call enters, and how often it goes from room to room."""
    root = Path(sys.modules[PACKAGE].__file__ or "").parent
    inside = f"{root}{os.sep}"
    functions: set[CodeType] = set()
    rooms = [""]
    switches = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal switches
        code = frame.f_code
        if event == "return" and len(rooms) > 1 and code in functions:
            rooms.pop()
        if event != "call" or not code.co_flags & inspect.CO_OPTIMIZED or not code.co_filename.startswith(inside):
            return
        functions.add(code)
        room = Path(code.co_filename).relative_to(root).parts[0]
        switches += room != rooms[-1]
        rooms.append(room)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    files = sorted({Path(code.co_filename).relative_to(root).as_posix() for code in functions})
    return {"files": files, "functions": len(functions), "switches": switches}


def public_classes() -> dict[str, list[str]]:
    """Return the public names of each public class, attributes of its instances included."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
    import public_names

    return {name: sorted(public_names.names_of(cls)) for name, cls in public_names.public_classes().items()}


def main(what: str) -> None:
    """Print what is asked for."""
    print(json.dumps(public_classes() if what == "classes" else entered(CALLS[what]())))


if __name__ == "__main__":
    main(sys.argv[1])
