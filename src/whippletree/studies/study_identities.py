"""The identity of a study, as texts that a store keeps: so that a store of another study is refused by name."""

from __future__ import annotations

import hashlib
import inspect
import platform
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from whippletree._version import __version__
from whippletree.errors import StateError
from whippletree.kernels.native import host
from whippletree.model import Mechanism
from whippletree.model.io import Model
from whippletree.system import System

__all__ = ["check_same", "difference", "identity_of"]

_SAME = {
    "version": "another version of whippletree",
    "model": "another model",
    "cases": "other cases",
    "do": "another call",
    "keep": "other outputs",
    "options": "other options",
    "seed": "another seed",
}
"""Parts of the identity, and the description of a store in which one differs."""


def identity_of(
    model: Any, cases: str, do: str | Callable[..., Any], keep: object, options: Mapping[str, object], seed: int
) -> dict[str, Any]:
    """Return the texts that tell a study from others, and its start."""
    machine = host()
    return {
        "version": __version__,
        "model": _of_model(model),
        "cases": cases,
        "do": do if isinstance(do, str) else _text(do),
        "keep": _text(keep),
        "options": _text(options),
        "seed": seed,
        "mark": uuid.uuid4().hex,
        "host": socket.gethostname(),
        "processor": machine.cpu,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "compiler": machine.versions,
    }


def difference(stored: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Say in which way a store is one of another study; nothing if it is of this one.

    >>> difference({"seed": 1}, {"seed": 2})
    'another seed (1, and here 2)'
    """
    for key, words in _SAME.items():
        if stored.get(key) != own.get(key):
            return f"{words} ({_short(stored.get(key))}, and here {_short(own.get(key))})"
    return ""


def _of_model(model: Any) -> str:
    """Return a digest of a model: its description with the values of its parameters, and how it is built."""
    if isinstance(model, System):
        described, more = model.description, _text({**model.kernels.build_options, "guess": model.q0, "hold": None})
    elif isinstance(model, Model):
        described, more = model.mechanism.describe(), _text(dict(model.start))
    elif isinstance(model, Mechanism):
        described, more = model.describe(), ""
    else:
        return _text(model)
    whole = repr((described.fingerprint(), described.parameter_values, more))
    return hashlib.sha256(whole.encode()).hexdigest()


def _text(value: Any) -> str:
    """Return a value as text that is the same wherever it is made: arrays and functions by their contents."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(one)}" for key, one in sorted(value.items(), key=str)) + "}"
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        return f"array {array.shape} {array.dtype} {hashlib.sha256(array.tobytes()).hexdigest()}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_text, value)) + "]"
    if callable(value):
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
        try:
            return f"{name} {hashlib.sha256(inspect.getsource(value).encode()).hexdigest()[:12]}"
        except (OSError, TypeError):
            return name
    if value is None or isinstance(value, str | int | float | bool | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:28]}...{text[-28:]}"


def check_same(stored: Mapping[str, Any], own: Mapping[str, Any], place: str) -> None:
    """Refuse a store of another study."""
    found = difference(stored, own)
    if found:
        raise StateError(f"the store {place} was made with {found}: name another store=, or remove it")
