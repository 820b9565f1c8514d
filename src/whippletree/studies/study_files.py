"""Study files in YAML: a model, its cases, a call by name and its outputs. There is no code in them.

whippletree study: 1
model: quarter_car.yaml               # beside this file
do: simulate
options: {duration: 3, every: 0.01}
cases:
  latin hypercube: 200                # or sobol, random, saltelli, with a count; or grid
  seed: 1
  spring rate: {plus_minus: [60e3, 5e3]}
  roughness: {normal: [1, 0.1]}
keep: {heave: [max, rms]}
store: quarter_car.zarr
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from whippletree.errors import FileError, StateError, WhippletreeError
from whippletree.files import read
from whippletree.foundation.output_paths import checked_path
from whippletree.foundation.user_frames import user_facing
from whippletree.model.io.nodes import MAX_CHARACTERS, Leaf, ListNode, MapNode, Node, Source, read_tree, words_for
from whippletree.model.names import quoted, suggestion
from whippletree.studies import cases
from whippletree.studies.study import Study

__all__ = ["read_study"]

FORMAT = 1

_KEYS = (
    "whippletree study",
    "model",
    "do",
    "options",
    "cases",
    "keep",
    "store",
    "seed",
    "time_limit",
    "memory_limit",
)

_SAMPLERS: dict[str, Callable[..., Any]] = {
    "latin hypercube": cases.latin_hypercube,
    "sobol": cases.sobol,
    "random": cases.random,
    "saltelli": cases.saltelli,
}


def _uniform(low: float, high: float) -> Any:
    if not low < high:
        raise StateError(f"uniform: [{low:g}, {high:g}] has no width: give the lower number first")
    return cases.plus_minus(0.5 * (low + high), 0.5 * (high - low))


_DISTRIBUTIONS: dict[str, Callable[[float, float], Any]] = {
    "uniform": _uniform,
    "plus_minus": cases.plus_minus,
    "normal": cases.standard_deviation,
}
"""Distributions of two numbers, by name."""


@user_facing
def read_study(path: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Study:
    """Read a study file; its model and its store are beside it, unless `store` says where the store is.

    >>> read_study("study.yaml")  # doctest: +SKIP
    Study: simulate of 200 cases
    """
    try:
        place = checked_path(path)
        with place.open("rb") as file:
            text = file.read(4 * MAX_CHARACTERS + 1).decode("utf-8")
    except (TypeError, ValueError) as error:
        raise FileError(f"the path of a study file must be text, and the file UTF-8: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: the file cannot be read: {error.strerror or error}") from None
    return _StudyFile(Source(str(place), text), place.parent).study(store)


class _StudyFile:
    """The tree of a study file, read key by key."""

    def __init__(self, source: Source, folder: Path) -> None:
        self._source, self._folder = source, folder
        root = read_tree(source)
        if not isinstance(root, MapNode):
            raise source.error(root.mark, f"a study file is a mapping, not {words_for(root)}")
        for key, mark in root.keys.items():
            if key not in _KEYS:
                raise source.error(mark, f"a study file has no key {suggestion(key, _KEYS)}")
        for key in ("whippletree study", "model", "cases"):
            if key not in root.items:
                raise source.error(root.mark, f"a study file needs the key {quoted(key)}")
        self._items = root.items

    def study(self, store: str | os.PathLike[str] | None) -> Study:
        """Return the study that the file describes."""
        version = self._plain("whippletree study")
        if version != FORMAT:
            self._refuse("whippletree study", f"this version reads study files of format {FORMAT}, not {version}")
        given: dict[str, Any] = {key: self._plain(key) for key in _KEYS[5:] if key in self._items}
        if "seed" in given:
            given["seed"] = self._whole("seed", given["seed"])
        if "store" in given:
            given["store"] = self._folder / self._text("store")
        if store is not None:
            given["store"] = store
        options = self._plain("options") if "options" in self._items else {}
        if not isinstance(options, dict):
            self._refuse("options", "options are a mapping from names to values")
        clash = [name for name in options if name in (*_KEYS, "executor", "progress")]
        if clash:
            self._refuse("options", f"{quoted(clash[0])} is a key of the study itself")
        do = self._text("do") if "do" in self._items else "simulate"
        try:
            return Study(read(self._folder / self._text("model")), self._cases(), do, **given, **options)
        except FileError:
            raise
        except WhippletreeError as error:
            raise FileError(f"{self._source.name}: {error}", file=self._source.name) from error

    def _cases(self) -> Any:
        """Return the cases: samples of distributions, or a grid of values."""
        node = self._items["cases"]
        given = _plain(node)
        ways = [key for key in (*_SAMPLERS, "grid") if isinstance(node, MapNode) and key in node.items]
        if not isinstance(given, dict) or len(ways) > 1:
            self._refuse("cases", f"cases are a mapping with one of {', '.join(_SAMPLERS)}, with a count, or grid")
        if not ways or ways == ["grid"]:
            whole = given.pop("grid", given) if ways else given
            if not isinstance(whole, dict):
                self._refuse("cases", "grid: a mapping from variables to lists of values")
            if ways and given:
                self._refuse("cases", f"{', '.join(given)} belongs under grid")
            return cases.grid({name: self._row(name, value) for name, value in whole.items()})
        count, seed = self._whole("cases", given.pop(ways[0])), self._whole("cases", given.pop("seed", 0))
        drawn = {name: self._distribution(name, value) for name, value in given.items()}
        return _SAMPLERS[ways[0]](count, drawn, seed=seed)

    def _row(self, name: str, value: Any) -> Any:
        """Return the values of a variable: a number, a list, or `{from: 1, to: 2, count: 11}`."""
        if isinstance(value, Mapping):
            if value.keys() != {"from", "to", "count"}:
                self._refuse("cases", f"{quoted(name)}: give a list of values, or {{from: 1, to: 2, count: 11}}")
            ends = [self._number(name, value[key]) for key in ("from", "to")]
            return np.linspace(ends[0], ends[1], self._whole("cases", value["count"]))
        return value

    def _distribution(self, name: str, value: Any) -> Any:
        """Return a distribution: `{normal: [mean, deviation]}`."""
        [(word, numbers)] = value.items() if isinstance(value, Mapping) and len(value) == 1 else [("", None)]
        if word not in _DISTRIBUTIONS or not isinstance(numbers, list) or len(numbers) != 2:
            known = " or ".join(_DISTRIBUTIONS)
            self._refuse("cases", f"{quoted(name)}: give {known} of two numbers: {{normal: [1, 0.1]}}")
        return _DISTRIBUTIONS[word](*(self._number(name, one) for one in numbers))

    def _plain(self, key: str) -> Any:
        return _plain(self._items[key])

    def _text(self, key: str) -> str:
        value = self._plain(key)
        if not isinstance(value, str):
            self._refuse(key, f"{quoted(key)} must be text, not {words_for(self._items[key])}")
        return str(value)

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, float):
            self._refuse("cases", f"{quoted(name)}: there must be numbers")
        return float(value)

    def _whole(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, float) or value != int(value):
            self._refuse(key, "there must be a whole number")
        return int(value)

    def _refuse(self, key: str, message: str) -> NoReturn:
        raise self._source.error(self._items[key].mark, message)


def _plain(node: Node) -> Any:
    """Return a tree as lists, mappings, numbers and texts."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, ListNode):
        return [_plain(one) for one in node.items]
    return {key: _plain(one) for key, one in node.items.items()}
