"""Write the files of IFToMM A02, N four-bars side by side: two of them, ten and forty.

    python make.py

writes n_four_bar_2.yaml, n_four_bar_10.yaml and n_four_bar_40.yaml beside this file. A file of a mechanism with so many
equal parts is best made by a program; this is it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

SIZES = (2, 10, 40)


def lines(n: int) -> Iterator[str]:
    """Yield the lines of the file for n four-bars."""
    yield f"# IFToMM A02: {n} four-bars. Links are thin rods of 1 kg, 1 m; the rockers stand upright at the start, and"
    yield "# their ends move at 1 m/s in +x. Twice in every turn the mechanism lies flat, which is a singular position."
    yield "# Written by make.py."
    yield "whippletree: 1"
    yield f"name: {n} four-bars"
    yield "gravity: [0, -9.81, 0]"
    yield ""
    yield "bodies:"
    for i in range(n + 1):
        yield f"  rocker {i}: {{rod: {{length: 1, mass: 1, axis: x}}}}"
    for i in range(n):
        yield f"  coupler {i}: {{rod: {{length: 1, mass: 1, axis: x}}}}"
    yield ""
    yield "joints:   # all about z; a rocker's angle is from the ground's x axis, the others are relative"
    for i in range(n + 1):
        yield f"  A{i}: {{revolute: [ground, rocker {i}], at: [{i}, 0, 0]}}"
    for i in range(n):
        yield f"  B{i}: {{revolute: [rocker {i}, coupler {i}], at: [1, 0, 0]}}"
        yield f"  C{i}: {{revolute: [coupler {i}, rocker {i + 1}], at: [1, 0, 0], at_child: [1, 0, 0]}}"
    yield ""
    yield "start:"
    yield "  guess:"
    for name, angle in start(n).items():
        yield f"    {name}: {angle}"
    yield "  hold: [A0]"
    yield "  velocities: {A0: -1}"
    yield ""
    yield "run:"
    yield "  duration: 10"
    yield "  method: dop853"
    yield "  tolerance: 1e-12"
    yield "  every: 0.01"
    yield "  outputs: [A0, energy]"


def start(n: int) -> dict[str, str]:
    """Return the angles at the start: rockers upright, couplers level."""
    found = {f"A{i}": "pi / 2" for i in range(n + 1)}
    for i in range(n):
        found |= {f"B{i}": "-pi / 2", f"C{i}": "pi / 2"}
    return found


def text(n: int) -> str:
    """Return the file for n four-bars."""
    return "\n".join(lines(n)) + "\n"


def main() -> None:
    """Write the files."""
    for n in SIZES:
        place = Path(__file__).with_name(f"n_four_bar_{n}.yaml")
        place.write_text(text(n), encoding="utf-8")
        print(place.name)


if __name__ == "__main__":
    main()
