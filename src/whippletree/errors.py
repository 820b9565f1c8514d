"""The errors and warnings of the package.

Every error a user can cause is one of these. Its message names the body, joint or coordinate and says what
to do about it.
"""

__all__ = [
    "AssemblyError",
    "AssemblyWarning",
    "CacheError",
    "CacheWarning",
    "DynamicsError",
    "ModelError",
    "StateError",
    "TopologyError",
    "WhippletreeError",
]


class WhippletreeError(Exception):
    """Base of all errors raised by the package.

    >>> issubclass(ModelError, WhippletreeError)
    True
    """


class ModelError(WhippletreeError, ValueError):
    """The description of a mechanism is wrong: a name, a mass, an axis, a placement."""


class TopologyError(WhippletreeError, ValueError):
    """Bodies and joints do not make a mechanism the engine can handle: a loop, an unconnected body."""


class StateError(WhippletreeError, ValueError):
    """A state or another argument of a call has the wrong shape, type or value."""


class DynamicsError(WhippletreeError, ArithmeticError):
    """The equations of motion have no finite answer: a joint moves nothing that has inertia."""


class AssemblyError(WhippletreeError, ArithmeticError):
    """A loop cannot be closed, or velocities cannot satisfy the closures, under the conditions given."""


class AssemblyWarning(UserWarning):
    """A closed configuration was found, but not quite the one that was asked for; or it is nearly singular."""


class CacheError(WhippletreeError, OSError):
    """The folder for compiled code cannot be used."""


class CacheWarning(UserWarning):
    """The folder for compiled code cannot be used; work goes on without it."""
