"""Errors that a public call can raise: found in the text of the function and of what it calls in its own module."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType

from whippletree import errors

NAMES = tuple(errors.__all__)
"""The errors of the package; others are mistakes of the program."""


@functools.cache
def by(function: FunctionType) -> tuple[str, ...]:
    """Return the names of the errors that a function raises, itself or by what it calls in its own module."""
    found: set[str] = set()
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for node in ast.walk(_tree(one)):
            if isinstance(node, ast.Raise) and node.exc is not None:
                found |= {name for name in NAMES if name in ast.unparse(node.exc)}
            elif isinstance(node, ast.Call):
                waiting += _called(node, one)
    return tuple(sorted(found))


def _tree(function: FunctionType) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def _called(node: ast.Call, caller: FunctionType) -> Iterator[FunctionType]:
    """Yield the function of the package that a call names, if the name says so by itself."""
    function = node.func
    found: object = None
    if isinstance(function, ast.Name):
        found = caller.__globals__.get(function.id)
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = caller.__globals__.get(function.value.id)
        if isinstance(owner, ModuleType | type):
            found = inspect.getattr_static(owner, function.attr, None)
        elif function.value.id == "self":
            found = _method(caller, function.attr)
    found = getattr(found, "__func__", found)
    found = inspect.unwrap(found) if callable(found) else found
    if isinstance(found, FunctionType) and found.__module__.startswith("whippletree"):
        yield found


def _method(caller: FunctionType, name: str) -> object:
    owner = caller.__globals__.get(caller.__qualname__.partition(".")[0])
    return inspect.getattr_static(owner, name, None) if isinstance(owner, type) else None
