"""Files of other programs with something changed in them: read, or refused in one line with file and line."""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import whippletree as wt
from fuzz.tampering import changed_bytes

MODELS = Path(__file__).resolve().parents[1] / "files" / "models"
DIALECTS = (
    *("gripper.urdf", "four_bar.urdf", "linkage.sdf", "rocker.xml", "pendulum.adm"),
    *("leg_3.osim", "leg_4.osim", "boxes.usda"),
    *("touching.xml", "stool.urdf", "slope.sdf", "cup.usda"),
)
BUILT = 0.1
"""The share of the files that are built if they can be read."""

_IN_XML = re.compile(rb'(?<==")[^"<>]*(?=")|(?<=>)[^<>\s][^<>]*(?=<)|[-+]?[0-9.]+(?:e-?[0-9]+)?')
_IN_ADAMS = re.compile(rb"[-+]?[0-9.]+(?:e-?[0-9]+)?D?|[A-Z]{2,}")
_VALUES = (
    *(
        b"0",
        b"-1",
        b"2",
        b"1e300",
        b"1e-300",
        b"nan",
        b"inf",
        b"1e999",
        b"x",
        b"",
        b"1 2",
        b"0 0 0",
        b"1 0 0",
        b"0 1 1e-9",
    ),
    *(
        b"99999999999999999999",
        b"world",
        b"ground",
        b"A",
        b"crank",
        b"palm",
        b"left finger",
        b"ball",
        b"fixed",
        b"true",
    ),
    *(
        b"&lt;",
        b"&bomb;",
        b"\xff",
        b"1D5",
        b"90D",
        b"0102",
        b"0301",
        b"-1e5 2 3",
        b"1 0 0 0 0 0 1",
        b"universal",
        b"screw",
        b"knee_angle",
        b"/bodyset/toes",
        b"0 1 1",
        b"</boxes/lower>",
        b"(0, 0, 0)",
    ),
)


class Files(NamedTuple):
    texts: list[bytes]
    folder: Path


def prepare(folder: Path) -> Files:
    warnings.simplefilter("ignore")
    return Files([(MODELS / name).read_bytes() for name in DIALECTS], folder)


def case(number: int, prepared: Files) -> None:
    """Change something in a file of each dialect in turn, and read it."""
    rng = random.Random(number)
    k = number % len(DIALECTS)
    path = (
        prepared.folder / f"{number} {DIALECTS[k]}" if DIALECTS[k].endswith(".usda") else prepared.folder / DIALECTS[k]
    )
    path.write_bytes(changed(rng, prepared.texts[k]))
    try:
        model = wt.read(path, stops=rng.random() < 0.2, contacts=rng.choice((False, True, "ground")))
    except wt.WhippletreeError as error:
        assert isinstance(error, wt.FileError), error
        assert str(error).startswith((str(path), "the path")), error
        assert "\n" not in str(error)
        raise
    finally:
        path.unlink()
    if rng.random() < BUILT:
        model.build()


def changed(rng: random.Random, text: bytes) -> bytes:
    """A file with bytes, lines, values or tags changed."""
    way = rng.randrange(5)
    if way == 0:
        return changed_bytes(rng, text)
    if way == 1:
        lines = text.splitlines()
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], rng.choice((lines[i], b"", lines[i] * 2, lines[i].replace(b"/", b"", 1)))
        return b"\n".join(lines)
    if way == 2:
        words = sorted({*re.findall(rb"[A-Za-z_]{3,}", text)})
        return text.replace(rng.choice(words), rng.choice((*words, b"", b"body", b"xx")), rng.choice((1, -1)))
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = [*(_IN_XML if b"<" in text[:200] else _IN_ADAMS).finditer(text)]
        if found:
            here = rng.choice(found)
            text = text[: here.start()] + rng.choice(_VALUES) + text[here.end() :]
    return text
