"""Marks of stages: formulations name the results they have computed, for those who count operations by stage.

A stage is a part of the whole, as the papers' tables have them; a step is a part of what is done at a single node.

Recording costs nothing unless it is switched on: then every stage's name and expressions are written down in the order
in which the formulation comes to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass

import casadi as ca

__all__ = ["KeptRecord", "Stage", "keeping", "record_stage", "record_step", "recording", "sweeps_kept", "unrecorded"]

Stage = tuple[str, list[ca.SX]]

KeptRecord = tuple[object, int, object]
"""A step of a sweep, the node at which it was, and what it kept and handed on."""

_stages: ContextVar[list[Stage] | None] = ContextVar("stages", default=None)
_steps: ContextVar[list[Stage] | None] = ContextVar("steps", default=None)
_kept: ContextVar[list[KeptRecord] | None] = ContextVar("kept", default=None)


def record_stage(name: str, values: object) -> None:
    """Note that a stage is done, if stages are recorded; `values` are its results, in any nesting.

    >>> with recording() as stages:
    ...     record_stage("square", [ca.SX.sym("x") ** 2])
    >>> [name for name, _ in stages]
    ['square']
    """
    stages = _stages.get()
    if stages is not None:
        stages.append((name, list(_parts(values))))


def record_step(name: str, values: object) -> None:
    """Note that a step at a node is done, if steps are recorded.

    >>> with recording(steps=True) as found:
    ...     record_step("square", [ca.SX.sym("x") ** 2])
    ...     record_stage("all squares", [])
    >>> [name for name, _ in found]
    ['square']
    """
    steps = _steps.get()
    if steps is not None:
        steps.append((name, list(_parts(values))))


@contextmanager
def recording(*, steps: bool = False) -> Iterator[list[Stage]]:
    """Record the stages that are marked meanwhile, or the steps at nodes.

    >>> with recording() as stages:
    ...     pass
    >>> stages
    []
    """
    found: list[Stage] = []
    where = _steps if steps else _stages
    token = where.set(found)
    try:
        yield found
    finally:
        where.reset(token)


def sweeps_kept() -> list[KeptRecord] | None:
    """Return where sweeps note what they keep at each node, if that is wanted.

    >>> sweeps_kept() is None
    True
    """
    return _kept.get()


@contextmanager
def keeping() -> Iterator[list[KeptRecord]]:
    """Note what sweeps keep meanwhile, for those who give it names.

    >>> with keeping() as kept:
    ...     kept is sweeps_kept()
    True
    """
    found: list[KeptRecord] = []
    token = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(token)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record no stages meanwhile: these results belong to a stage that is recorded as a whole afterwards.

    >>> with recording() as stages, unrecorded():
    ...     record_stage("square", [ca.SX.sym("x") ** 2])
    >>> stages
    []
    """
    token = _stages.set(None)
    try:
        yield
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
