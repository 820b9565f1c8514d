"""The errors and warnings of the package.

Every error a user can cause is one of these. Its message names the body, joint or coordinate and says what
to do about it.
"""

from typing import Any

__all__ = [
    "AssemblyError",
    "AssemblyWarning",
    "CacheError",
    "CacheWarning",
    "CallError",
    "DynamicsError",
    "EquilibriumError",
    "FileError",
    "ModelError",
    "ResultError",
    "SimulationError",
    "StateError",
    "TopologyError",
    "WhippletreeError",
]


_LONGEST = 4000
"""Characters of a message that are shown."""


class WhippletreeError(Exception):
    """Base of all errors raised by the package.

    A message that would fill screens, since it repeats what was given, is shown by its beginning and its end.

    >>> issubclass(ModelError, WhippletreeError)
    True
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 500]} ... {text[-400:]}"


class ModelError(WhippletreeError, ValueError):
    """The description of a mechanism is wrong: a name, a mass, an axis, a placement."""


class FileError(WhippletreeError, ValueError):
    """A model file cannot be read or written. The message begins with the file, line and column, if there is one.

    >>> FileError("arm.yaml:3:7: mass must be a number", file="arm.yaml", line=3, column=7).line
    3
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.file, self.line, self.column = file, line, column


class TopologyError(WhippletreeError, ValueError):
    """Bodies and joints do not make a mechanism the engine can handle: a loop, an unconnected body."""


class StateError(WhippletreeError, ValueError):
    """A state or another argument of a call has the wrong shape, type or value."""


class CallError(StateError, TypeError):
    """A call has too few arguments, too many, or one of a name that it does not know."""


class EquilibriumError(WhippletreeError, ArithmeticError):
    """A mechanism cannot be at rest, or no equilibrium was found. The message names the unbalanced effort."""


class DynamicsError(WhippletreeError, ArithmeticError):
    """The equations of motion have no finite answer: a joint moves nothing that has inertia."""


class AssemblyError(WhippletreeError, ArithmeticError):
    """A loop cannot be closed, or velocities cannot satisfy the closures, under the conditions given.

    Where data that are rounded may be the reason, `accuracy` is the `build(accuracy=)` at which they count as closed.
    """

    accuracy: float | None = None


class ResultError(WhippletreeError, OSError):
    """A run cannot be written, read or drawn: a file, a folder, a library that is not installed.

    If that ended a run, what was computed so far is in `trajectory`.
    """

    trajectory: Any = None


class AssemblyWarning(UserWarning):
    """A closed configuration was found, but not quite the one that was asked for; or it is nearly singular."""


class SimulationError(WhippletreeError, ArithmeticError):
    """A run cannot go on: a lock-up, a blow-up, a tolerance out of reach. It keeps the results computed so far."""

    rows: Any = None
    trajectory: Any = None


class CacheError(WhippletreeError, OSError):
    """The folder for compiled code cannot be used."""


class CacheWarning(UserWarning):
    """The folder for compiled code cannot be used; work goes on without it."""
