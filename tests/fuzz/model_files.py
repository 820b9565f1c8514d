"""Model files with something changed in them: read, or refused in one line that names the file."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

import whippletree as wt
from fuzz.tampering import changed_bytes, changed_tree
from whippletree.model.io import read_text

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BUILT = 0.1
"""The share of the files that are built if they can be read."""


class Prepared(NamedTuple):
    texts: list[str]
    trees: list[Any]


def prepare(folder: Path) -> Prepared:
    warnings.simplefilter("ignore")
    texts = [
        file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.rglob("*.yaml")) if file.stat().st_size < 4000
    ]
    return Prepared(texts, [json.loads(json.dumps(YAML(typ="safe").load(text), default=str)) for text in texts])


def case(number: int, prepared: Prepared) -> None:
    """Change something in a file, and read it."""
    rng = random.Random(number)
    k = rng.randrange(len(prepared.texts))
    try:
        model = read_text(changed(rng, prepared.texts[k], prepared.trees[k]), "m.yaml")
    except wt.FileError as error:
        assert str(error).startswith("m.yaml"), error
        assert "\n" not in str(error)
        raise
    if rng.random() < BUILT:
        model.build()


def changed(rng: random.Random, text: str, tree: Any) -> str:
    """The text of a file with something changed."""
    way = rng.randrange(4)
    if way == 0:
        return changed_bytes(rng, text.encode()).decode(errors=rng.choice(("replace", "ignore")))
    if way == 1:
        lines = text.splitlines()
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], rng.choice((lines[i], "", lines[i] * 2, lines[i].replace(":", "", 1)))
        return "\n".join(lines)
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = changed_tree(rng, tree)
    return json.dumps(tree, ensure_ascii=rng.random() < 0.5)
