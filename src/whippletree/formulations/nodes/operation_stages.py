"""Marks: formulations name what they have computed, for those who count operations by stage.

Recording costs nothing unless it is switched on: then every stage's name and expressions are written down in the order
in which the formulation comes to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass

import casadi as ca

__all__ = ["Stage", "record_stage", "recording"]

Stage = tuple[str, list[ca.SX]]

_stages: ContextVar[list[Stage] | None] = ContextVar("stages", default=None)


def record_stage(name: str, values: object) -> None:
    """Note that a stage is done, if stages are recorded; `values` is what it computed, in any nesting.

    >>> with recording() as stages:
    ...     record_stage("square", [ca.SX.sym("x") ** 2])
    >>> [name for name, _ in stages]
    ['square']
    """
    stages = _stages.get()
    if stages is not None:
        stages.append((name, list(_parts(values))))


@contextmanager
def recording() -> Iterator[list[Stage]]:
    """Record the stages that are marked meanwhile.

    >>> with recording() as stages:
    ...     pass
    >>> stages
    []
    """
    stages: list[Stage] = []
    token = _stages.set(stages)
    try:
        yield stages
    finally:
        _stages.reset(token)


def _parts(values: object) -> Iterator[ca.SX]:
    """Return the expressions in anything."""
    if isinstance(values, ca.SX):
        yield values
    elif is_dataclass(values) and not isinstance(values, type):
        for field in fields(values):
            yield from _parts(getattr(values, field.name))
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from _parts(value)
    elif isinstance(values, Iterable) and not isinstance(values, str):
        for value in values:
            yield from _parts(value)
