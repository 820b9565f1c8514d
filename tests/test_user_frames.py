"""Errors and warnings point at the user's own line, as plain `python script.py` prints them."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.system.example_systems import four_bar

SCRIPT = """
import whippletree as wt
from whippletree.system.example_systems import four_bar

s = four_bar()
s.forward_dynamics(s.q0, s.v0)
def controller(t, q, v, z):
    return s.pose(q, "nowhere")  # the controller's line
"""


def printed(tmp_path: Path, line: str, **environment: str) -> list[str]:
    """Return what a script prints on the error stream that ends in one more line."""
    file = tmp_path / "script.py"
    file.write_text(f"{SCRIPT}{line}\n")
    given = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=given, check=False
    )
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("s.forward_dynamics(s.q0 + 0.1, s.v0)", 'StateError: the state leaves the loop of "C"'),
        ("s.simulate(1.0, q=s.q0 + 0.1)", 'StateError: the state leaves the loop of "C"'),
        ("wt.Mechanism('m').body('rod', mass=-1.0)", 'ModelError: body "rod": mass must not be negative'),
        ("wt.read('name: m\\nbodies: {rod: {mass: -1}}')", 'FileError: <text>:2:22: body "rod": mass must not'),
    ],
)
def test_an_error_is_told_in_ten_lines(line: str, words: str, tmp_path: Path) -> None:
    lines = printed(tmp_path, line)
    assert len(lines) <= 10
    assert any("script.py" in one for one in lines) and any(one.strip() == line for one in lines)
    assert not any(os.sep + "whippletree" + os.sep in one for one in lines)
    assert words in lines[-1]


def test_the_lines_of_functions_that_users_give_stay(tmp_path: Path) -> None:
    lines = printed(tmp_path, "s.simulate(1.0, controller=controller, period=0.1)")
    assert any("# the controller's line" in one for one in lines)
    assert any("s.simulate(1.0, controller=" in one for one in lines)
    assert not any(os.sep + "whippletree" + os.sep in one for one in lines)


def test_the_whole_traceback_can_be_had(tmp_path: Path) -> None:
    lines = printed(tmp_path, "s.forward_dynamics(s.q0 + 0.1, s.v0)", WHIPPLETREE_TRACEBACK="full")
    assert any("consistency.py" in one for one in lines)


def test_errors_of_other_kinds_keep_their_traceback() -> None:
    with pytest.raises(TypeError) as caught:
        four_bar().forward_dynamics()  # type: ignore[call-arg]
    assert caught.value.__traceback__ is not None


def test_warnings_point_at_the_line_that_has_called_the_package() -> None:
    m = wt.Mechanism.of(four_bar().description)
    with pytest.warns(wt.AssemblyWarning) as caught:
        system = m.build(guess={"A": 1.0, "B": 2.5, "D": -3.0})
        system.assemble({"A": 1.0, "B": 2.5, "D": -3.0})
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}
    assert caught[0].lineno == caught[1].lineno - 1


def test_names_documentation_and_signatures_are_those_of_the_functions() -> None:
    s = four_bar()
    assert s.pose.__name__ == "pose" and s.pose.__doc__
    assert wt.box.__doc__ and wt.box.__module__ == "whippletree.elements.bodies.shapes"


@pytest.mark.parametrize("owner", [wt.Mechanism, wt.System, wt.Trajectory])
def test_verbs_of_a_class_are_functions_of_later_rooms_with_their_documentation(owner: type) -> None:
    source = ast.parse(Path(inspect.getfile(owner)).read_text(encoding="utf-8"))
    verbs = [
        (node.targets[0].id, *ast.unparse(node.value.args[0].body).rpartition(".")[::2])
        for node in ast.walk(source)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "Verb"
    ]
    assert verbs
    for name, module, function in verbs:
        found, written = getattr(owner, name), getattr(importlib.import_module(module), function)
        assert inspect.signature(found) == inspect.signature(written)
        assert found.__doc__ == written.__doc__ and found.__doc__


def test_all_public_names_are_listed_and_nothing_else() -> None:
    assert dir(wt) == sorted(wt.__all__)
    assert all(getattr(wt, name) is not None for name in dir(wt))
    assert {"Mechanism", "Trajectory", "resume", "Simulation", "box", "read"} <= set(dir(wt))
    assert not {"importlib", "provide", "TYPE_CHECKING", "system", "errors"} & set(dir(wt))


def test_a_warning_about_another_start_names_the_design_position_where_no_guess_was_given() -> None:
    m = wt.Mechanism("four-bar")
    crank, coupler, rocker = (m.body(f"bar {x}", wt.rod(length=x, mass=1.0, axis="x")) for x in (0.5, 2.0, 1.5))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(0.5, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    with pytest.warns(wt.AssemblyWarning, match="straight from the design position.* or give a guess$"):
        m.build()
    with pytest.warns(wt.AssemblyWarning, match="straight from the guess.* or give a nearer guess$"):
        m.build(guess={"A": 0.0})
