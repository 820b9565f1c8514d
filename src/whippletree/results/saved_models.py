"""The model of a run as text within its file: a model file with the start, from which the run's system is built again.

It is read by the reader of model files, which runs nothing.
"""

from __future__ import annotations

from whippletree.errors import FileError, ResultError, WhippletreeError
from whippletree.foundation.user_frames import warn
from whippletree.model import Mechanism
from whippletree.model.io import Model, read_text, write_text
from whippletree.spatial.scalars import listed
from whippletree.system import System

__all__ = ["model_text", "system_of"]


_EXACT = 1e-300
"""An accuracy that is as good as none, which a model file cannot say."""


def model_text(system: System) -> str:
    """Return a model file of a system; warn and return nothing if its mechanism cannot be one.

    >>> from whippletree.system.example_systems import pendulum
    >>> print(*model_text(pendulum()).splitlines()[-3:], sep="\\n")
    start:
      guess: {hinge: 0.0}
      accuracy: 1e-06
    """
    options, q0 = system.kernels.build_options, system.q0
    joints = [use.name for use in system.description.coordinate_owners if use.joint.nq]
    start: dict[str, object] = {"guess": {name: _plain(q0[system.q_slice(name)].tolist()) for name in joints}}
    start |= {name: _names(options[name]) for name in ("cut", "dependent")}
    start["accuracy"] = options["accuracy"] or _EXACT
    try:
        given = {name: value for name, value in start.items() if value}
        return write_text(Model(Mechanism.of(system.description), start=given))
    except FileError as error:
        warn(
            f"the run is saved without its model, which cannot be written as a file ({error}): keep the program that "
            "describes it, and load the run with system=",
            UserWarning,
        )
        return ""


def system_of(text: str, fingerprint: str) -> System | None:
    """Return the system of a model that was saved with a run; none if its elements' types are not known here."""
    if not text:
        return None
    try:
        system = read_text(text, "its model").build()
    except WhippletreeError as error:
        warn(f"the model that was saved with the run cannot be built ({error}): load the run with system=", UserWarning)
        return None
    if system.description.fingerprint() != fingerprint:
        raise ResultError("the model in it is not the one that the run was made with")
    return system


def _plain(numbers: list[float]) -> object:
    """Return one number by itself."""
    return numbers[0] if len(numbers) == 1 else numbers


def _names(given: object) -> list[str]:
    """Return the names of the given joints; pairs of a joint and an index, which files lack, are dropped."""
    several = [given] if isinstance(given, str) or hasattr(given, "name") else listed(given) or ()
    names = [getattr(one, "name", one) for one in several]
    return [str(name) for name in names if isinstance(name, str)]
