"""How errors are told on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whippletree.errors import FileError, WhippletreeError
from whippletree.model.io import Model

__all__ = ["in_one_line", "in_the_name_of"]


def in_one_line(error: BaseException) -> str:
    """Return an error's message on one line.

    >>> in_one_line(ValueError("a loop\\n  stays open"))
    'a loop stays open'
    """
    return " ".join(str(error).split())


@contextmanager
def in_the_name_of(model: Model) -> Iterator[None]:
    """Within it, every error begins with the file, and the line of the element that it names.

    >>> from whippletree.model.io import read_text
    >>> with in_the_name_of(read_text("name: m\\nbodies: {arm: {}}", "m.yaml")):
    ...     raise WhippletreeError('body "arm" hangs in the air')
    Traceback (most recent call last):
    whippletree.errors.WhippletreeError: m.yaml:2: body "arm" hangs in the air
    """
    try:
        yield
    except FileError:
        raise
    except WhippletreeError as error:
        error.args = (f"{model.place_of(str(error))}: {error}", *error.args[1:])
        raise
