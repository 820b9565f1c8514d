"""Conveniences: methods of a class in one room that a room below it carries out.

A room imports only from the rooms above it, and yet `mechanism.build()` makes a system, and `system.simulate()` a
trajectory. What such a method calls is named here, once, and imported when it is called.

>>> convenience("build").__name__
'System'
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["convenience"]

_TARGETS = {
    "build": "whippletree.system:System",  # Mechanism.build
    "simulate": "whippletree.studies:simulate",  # System.simulate
}


def convenience(name: str) -> Callable[..., Any]:
    """Return what a method of this name calls."""
    module, _, attribute = _TARGETS[name].partition(":")
    called: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return called
