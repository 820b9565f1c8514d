"""The public names of Whippletree, and the program that lists them: ``make api``.

Public is what the packages in `PACKAGES` export, the classes that come out of it (named in the types of what public
calls return, and of public attributes and fields), and the names without leading underscore of all these classes,
attributes of their instances included. Names of before (`foundation/old_names.py`) are in no list. The fuzzing of
calls (`tests/fuzz/public_calls.py`) and the counts of `benchmarks/house.py` go by the same walk.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = "whippletree"
PACKAGES = (
    *("whippletree", "whippletree.model", "whippletree.model.io", "whippletree.system", "whippletree.simulate"),
    *("whippletree.studies", "whippletree.results", "whippletree.kinematics", "whippletree.equilibria"),
    *("whippletree.linear", "whippletree.natural", "whippletree.realtime", "whippletree.viewer", "whippletree.files"),
    *("whippletree.flexible_bodies", "whippletree.elements.bodies", "whippletree.elements.drivers"),
    *("whippletree.analysis", "whippletree.studies.cases"),
)
"""Packages that users import."""

NO_SUMMARY = "-"


def exports(package: str) -> Iterator[tuple[str, Any]]:
    """Yield the names that a package exports, and what they are."""
    module = importlib.import_module(package)
    for name in module.__all__:
        yield name, getattr(module, name)


@functools.cache
def names_of(cls: type) -> frozenset[str]:
    """Return the public names of a class and of its instances, without those that every exception or tuple has."""
    names = set(dir(cls))
    if dataclasses.is_dataclass(cls):
        names |= {each.name for each in dataclasses.fields(cls)}
    for base in _ours(cls):
        names |= set(inspect.get_annotations(base)) | set(_set_on_self(base))
    plain = set(dir(Exception)) if issubclass(cls, Exception) else set(dir(tuple)) if issubclass(cls, tuple) else set()
    return frozenset(name for name in names - plain if not name.startswith("_"))


def _ours(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.partition(".")[0] == ROOT]


def _set_on_self(cls: type) -> Iterator[str]:
    """Yield the attributes that methods of a class set on `self`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr


# ---------------------------------------------------------------------- classes that come out of calls


def public_classes() -> dict[str, type]:
    """Return all public classes by their names: those that packages export, then those that come out of these."""
    found: dict[type, None] = {}
    exported = [value for package in PACKAGES for _, value in exports(package)]
    waiting: list[type] = [value for value in exported if isinstance(value, type)]
    for value in exported:
        if isinstance(value, FunctionType):
            waiting += _classes_in(_returned(value), _namespace_of(value))
    while waiting:
        cls = waiting.pop(0)
        if cls not in found and cls.__module__.partition(".")[0] == ROOT and not cls.__name__.startswith("_"):
            found[cls] = None
            waiting += _classes_out_of(cls)
    return {cls.__name__: cls for cls in found}


def _classes_out_of(cls: type) -> Iterator[type]:
    """Yield the classes in the types of what the public names of a class are or return."""
    if issubclass(cls, Enum | BaseException):
        return
    for base in _ours(cls):
        space = _names_in(base.__module__)
        for name, annotation in inspect.get_annotations(base).items():
            if not name.startswith("_"):
                yield from _classes_in(str(annotation), space)
    for name in sorted(names_of(cls)):
        member = function_behind(cls, name)
        if member is not None:
            yield from _classes_in(_returned(member), _namespace_of(member))


def function_behind(cls: type, name: str) -> FunctionType | None:
    """Return the function behind a method or a property."""
    member = inspect.getattr_static(cls, name, None)
    for inner in ("fget", "func", "__func__"):
        member = getattr(member, inner, member)
    if not isinstance(member, FunctionType):
        member = getattr(cls, name, None)
    member = inspect.unwrap(member) if callable(member) else None
    return member if isinstance(member, FunctionType) else None


def _returned(function: FunctionType) -> str:
    return str(function.__annotations__.get("return", ""))


def _namespace_of(function: FunctionType) -> Mapping[str, Any]:
    return _names_in(function.__module__)


@functools.cache
def _names_in(module: str) -> Mapping[str, Any]:
    """Return the names of a module, those that it imports for the sake of types alone included."""
    found: dict[str, Any] = {}
    holder: ModuleType = importlib.import_module(module)
    for node in ast.walk(ast.parse(Path(holder.__file__ or "").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == ROOT:
            source = importlib.import_module(node.module or "")
            found |= {one.asname or one.name: getattr(source, one.name, None) for one in node.names}
    return found | vars(holder)


def _classes_in(annotation: str, space: Mapping[str, Any]) -> Iterator[type]:
    """Yield the classes that a type's text names."""
    for word in re.findall(r"[A-Za-z_][A-Za-z_0-9]*", annotation):
        value = space.get(word)
        if isinstance(value, type):
            yield value
        elif value is not None and word != annotation and getattr(value, "__module__", "") != "typing":
            yield from (each for each in getattr(value, "__args__", ()) if isinstance(each, type))


# ---------------------------------------------------------------------- the list


def summary(text: str | None) -> str:
    """Return the first line of a docstring."""
    return (text or "").strip().partition("\n")[0] or NO_SUMMARY


def _described(cls: type, name: str) -> str:
    """Return one line about an attribute or a method: its documentation, or its type."""
    function = function_behind(cls, name)
    if function is not None:
        called = not isinstance(inspect.getattr_static(cls, name, None), property) and callable(
            getattr(cls, name, None)
        )
        return f"{'()' if called else ''}  {summary(function.__doc__)}"
    for base in _ours(cls):
        annotation = inspect.get_annotations(base).get(name)
        if annotation is not None:
            return f"  {annotation}"
    return "  attribute"


def listing() -> Iterator[str]:
    """Yield the lines of the list."""
    yield "The public names of Whippletree (generated by `make api`; a test compares)."
    for package in PACKAGES:
        yield from ("", package)
        for name, value in sorted(exports(package), key=lambda each: each[0]):
            yield f"  {name}  {_about(value)}"
    for name, cls in sorted(public_classes().items()):
        yield from ("", f"{name}  {summary(cls.__doc__)}")
        yield from (f"  {name}.{one}{_described(cls, one)}" for one in sorted(names_of(cls)))


def _about(value: object) -> str:
    if isinstance(value, type):
        return "class"
    return summary(value.__doc__) if callable(value) else type(value).__name__


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("\n".join(listing()) + "\n", encoding="utf-8")
