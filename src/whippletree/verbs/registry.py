"""The table of verbs: names, and where the functions are that do the work."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["provide", "verb"]

_PROVIDERS: dict[str, tuple[str, str]] = {}


def provide(verbs: Mapping[str, tuple[str, str]]) -> None:
    """Say for verbs, such as "System.simulate", in which module what function does the work.

    >>> provide({"Number.root": ("math", "sqrt")})
    >>> verb("Number.root")(9.0)
    3.0
    """
    _PROVIDERS.update(verbs)


def verb(name: str) -> Callable[..., Any]:
    """Return the function of a verb; its module is imported now, if it has not been."""
    module, function = _PROVIDERS[name]
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
