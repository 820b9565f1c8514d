"""Command lines with words that are wrong in some way: done, or refused in words and with a number that says so."""

from __future__ import annotations

import contextlib
import io
import os
import random
import webbrowser
from pathlib import Path

from whippletree.cli import main

MODEL = """
name: m
gravity: [0, -9.81, 0]
parameters: {k: 2.0}
bodies:
  a: {rod: {length: 1, mass: 1, axis: x}}
joints:
  A: {revolute: [ground, a], axis: z}
forces:
  s: {torsion_spring: A, stiffness: k}
"""

GOOD = (
    "run m.yaml --duration 0.02 --every 0.01 -o run2.nc --csv run.csv --set k=2",
    "run m.yaml --duration 0.02 --step 1e-3 --method rk4 --tolerance 1e-6 --verify",
    "run m.yaml --duration 0.02 --checkpoint run.ckpt --checkpoint-every 60",
    "check m.yaml --set k=3",
    "info",
    "plot run.nc A -o run.png",
    "plot run.nc -x A A --model m.yaml -o run.png",
    "modes m.yaml --plot modes.png",
    "modes m.yaml --save modes.mat --set k=1",
    "equilibrium m.yaml --starts 1 --hold A",
    "equilibrium m.yaml --over k=1:2 --points 3 --plot path.png",
    "equilibrium m.yaml --speed A=0.1",
    "sweep m.yaml A 0.1 0.2 -n 3 --degrees --csv sweep.csv --plot sweep.png",
    "sweep m.yaml a 0.1 0.2 -n 3 --axis x",
    "convert m.yaml m.urdf --base fixed --stops",
    "view m.yaml -o view.html --paths a",
    "view run.nc -o view.html --forces --plots A",
    "demo arm",
    "cache",
)

NUMBERS = (
    "9" * 5000,
    "-" + "9" * 5000,
    "0." + "3" * 5000,
    "1e400",
    "1e-400",
    "nan",
    "inf",
    "-inf",
    "0",
    "-1",
    "1e-9",
    "0x1",
)
WORDS = (
    "",
    " ",
    "x",
    "A",
    "a" * 100_000,
    "\0",
    "é\n",
    ".",
    "..",
    "/",
    "no.yaml",
    "no/no.nc",
    "m.yaml",
    "run.nc",
    "m.txt",
)
ASSIGNED = ("=", "k=", "=1", "k=x", "k=nan", "k=1=2", "no=1", "A=1:2:3", "A.effort=0:inf", "k=1:1", f"k={'9' * 5000}")
OPTIONS = (
    "-",
    "--",
    "--no",
    "-o",
    "--set",
    "--hold",
    "--help",
    "--duration",
    "--csv",
    "--points",
    "--method",
    "@m.yaml",
)


def prepare(folder: Path) -> Path:
    os.chdir(folder)
    (folder / "m.yaml").write_text(MODEL)
    assert main(["run", "m.yaml", "--duration", "0.02", "-o", "run.nc"]) == 0
    return folder


def words_of(number: int) -> list[str]:
    """The command line of a case."""
    rng = random.Random(number)
    words = GOOD[number % len(GOOD)].split()
    for _ in range(rng.choice((1, 1, 2))):
        wrong = rng.choice(rng.choice((NUMBERS, NUMBERS, WORDS, ASSIGNED, OPTIONS)))
        place = rng.randrange(len(words) + 1)
        words[place : place + rng.choice((0, 1, 1, 1))] = [wrong]
    return words


def case(number: int, folder: Path) -> None:
    """Run a command line, which says what is wrong and ends with a number."""
    os.chdir(folder)
    webbrowser.open = lambda *given, **more: False
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            found = main(words_of(number))
        except SystemExit as end:
            found = end.code
    assert isinstance(found, int), found
    assert "Traceback" not in said.getvalue(), said.getvalue()[-300:]
    assert not found or said.getvalue().strip(), "it ends with a number, and says nothing"
