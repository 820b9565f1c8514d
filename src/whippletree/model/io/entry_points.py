"""Reading and writing models. The modules that do the work are imported when they are first needed."""

from __future__ import annotations

import os

from whippletree.foundation.user_frames import user_facing
from whippletree.model.io.model_file import Model
from whippletree.model.mechanism import Mechanism

__all__ = ["read", "read_file", "read_text", "write_file", "write_text"]


@user_facing
def read(source: str | os.PathLike[str]) -> Model:
    """Read a model: from a file, or from text, which has more than one line.

    Whatever is wrong with it is a `FileError` that begins with file, line and column.

    >>> model = read("name: free fall\\nbodies: {stone: {mass: 1}}\\njoints: {fall: {free: [ground, stone]}}")
    >>> model.build().nv
    6
    """
    return read_text(source) if isinstance(source, str) and "\n" in source else read_file(source)


@user_facing
def read_file(path: str | os.PathLike[str]) -> Model:
    """Read a model from a file; see `read`."""
    from whippletree.model.io.reader import from_file

    return from_file(path)


@user_facing
def read_text(text: str, name: str = "<text>") -> Model:
    """Read a model from text; `name` is its name in messages.

    >>> read_text("name: empty").mechanism.name
    'empty'
    """
    from whippletree.model.io.reader import from_text

    return from_text(text, name)


@user_facing
def write_file(model: Model | Mechanism, path: str | os.PathLike[str], text: str | None = None) -> None:
    """Write a model or a mechanism as a file, whole or not at all; `text` replaces the YAML.

    What is written is read again first: if that were not the same mechanism, with the same fingerprint, it is refused.
    """
    from whippletree.model.io.writer import to_file

    to_file(model, path, text)


@user_facing
def write_text(model: Model | Mechanism) -> str:
    """Return the text of the file that `write_file` writes.

    >>> m = Mechanism("pendulum")
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -1)), axis="y")
    >>> print(write_text(m))
    whippletree: 1
    name: pendulum
    gravity: [0.0, 0.0, -9.81]
    <BLANKLINE>
    bodies:
      bob:
        mass: 2.0
        com: [0.0, 0.0, -1.0]
    <BLANKLINE>
    joints:
      hinge:
        revolute: [ground, bob]
        axis: y
    <BLANKLINE>
    """
    from whippletree.model.io.writer import to_text

    return to_text(model)
