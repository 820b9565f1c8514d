"""Notes what the tests of a run enter: ``pytest -p support.entered``, with a folder in the variable ENTERED.

Each process of the run leaves a list of the functions that Python entered in it, as file, line and name, and of what
the engine was asked for: formulations by the traces of their kernels, integrators by the steppers that were made.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType, FunctionType

FOLDER = "ENTERED"

_CODE: dict[int, CodeType] = {}
_ASKED: set[tuple[str, str]] = set()


def _formulation(frame: FrameType) -> None:
    _ASKED.add(("formulation", frame.f_locals["request"].formulation))


def _integrator(frame: FrameType) -> None:
    _ASKED.add(("integrator", frame.f_locals["options"].method))


_ASKING: dict[str, Callable[[FrameType], None]] = {
    "Equations.trace": _formulation,
    "Equations.roll": _formulation,
    "Stepper.__init__": _integrator,
}


def _note(frame: FrameType, event: str, argument: object) -> None:
    if event == "call":
        code = frame.f_code
        _CODE[id(code)] = code
        asking = _ASKING.get(code.co_qualname)
        if asking is not None:
            asking(frame)


def pytest_configure() -> None:
    if FOLDER in os.environ:
        sys.setprofile(_note)
        threading.setprofile(_note)


def pytest_unconfigure() -> None:
    if FOLDER in os.environ:
        sys.setprofile(None)
        found = {"code": [place(code) for code in _CODE.values()], "asked": sorted(_ASKED)}
        Path(os.environ[FOLDER], f"{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")


def place(code: CodeType) -> tuple[str, int, str]:
    """Where a function stands, the same in every process."""
    return code.co_filename, code.co_firstlineno, code.co_name


class Entered:
    """What a run has entered, from the lists of its processes."""

    def __init__(self, folder: Path) -> None:
        lists = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
        self._code = {tuple(each) for one in lists for each in one["code"]}
        self._asked = {tuple(each) for one in lists for each in one["asked"]}

    def __contains__(self, function: FunctionType) -> bool:
        return place(function.__code__) in self._code

    def asked_for(self, kind: str) -> set[str]:
        """The names of one kind that the engine was asked for."""
        return {name for one, name in self._asked if one == kind}

    def names(self) -> set[tuple[str, str]]:
        """Files and names of all functions."""
        return {(file, name) for file, _, name in self._code}

    def without(self, functions: Iterable[tuple[str, FunctionType]]) -> list[str]:
        """The names of functions that were not entered."""
        return [name for name, function in functions if function not in self]
