"""Everything that follows from the states of a run: the system's calls, in batches that bound memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whippletree.errors import WhippletreeError
from whippletree.foundation.short_text import Named, readable
from whippletree.kernels.kernel import Array
from whippletree.model.element_registry import JointLike, PlaceLike
from whippletree.system import Energy, Reactions, System
from whippletree.system.quantities import ElementForce

__all__ = ["CHUNK", "Replay", "of_rows"]

CHUNK = 16384
"""How many states are computed at a time."""

Results = tuple[Any, ...]


def of_rows(parameters: Array | None, rows: Any) -> Array | None:
    """Return the parameters of some states, which may be the same for all.

    >>> of_rows(np.array([1.0, 2.0]), slice(0, 1)).tolist(), of_rows(np.array([[1.0], [2.0]]), 1).tolist()
    ([1.0, 2.0], [2.0])
    """
    return parameters if parameters is None or parameters.ndim == 1 else parameters[rows]


@readable
@dataclass(frozen=True, eq=False)
class Replay:
    """A system and the states it is asked about; rows are states.

    Loops are taken as they are: how well they are closed is the certificate's affair.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> again = Replay(s, np.zeros(1), s.q0[None], s.v0[None], np.zeros((1, 0)))
    >>> again.pose("crank").shape
    (1, 4, 4)
    """

    system: System
    t: Array
    q: Array
    v: Array
    z: Array
    parameters: Array | None = None  # (np,), or (n, np) if they change
    efforts: Array | None = None  # (n, nv), or (nv,) if they are the same in all states
    work: Array | None = None  # (n, 2): put in, dissipated

    def pose(self, place: PlaceLike) -> Array:
        """Return a body's or frame's poses (n, 4, 4)."""
        return self._one(lambda r: r.system.pose(r.q, place, **r.options()))

    def velocity(self, place: PlaceLike, frame: str = "ground") -> Array:
        """Return a body's or frame's velocities [angular; linear] (n, 6)."""
        return self._one(lambda r: r.system.velocity(r.q, r.v, place, frame=frame, **r.options()))

    def acceleration(self, place: PlaceLike, frame: str = "ground") -> Array:
        """Return a body's or frame's accelerations [angular; linear] (n, 6)."""
        return self._one(
            lambda r: r.system.acceleration(r.q, r.v, r.found_accelerations(), place, frame=frame, **r.options())
        )

    def accelerations(self) -> Array:
        """Return all joints' accelerations (n, nv)."""
        return self._one(lambda r: r.found_accelerations())

    def energy(self) -> Energy:
        """Return the energies, each (n,)."""

        def compute(r: Replay) -> Results:
            found = r.system.energy(r.q, r.v, **r.element_options())
            return *found, found.strain

        return Energy(*self._many(compute))

    def reactions(self, frame: PlaceLike = "ground", joints: Sequence[JointLike] | None = None) -> Reactions:
        """Return the reactions of all joints, or of some."""
        names: list[tuple[str, ...]] = []

        def compute(r: Replay) -> Results:
            found = r.system.reactions(
                r.q, r.v, r.efforts, check=False, frame=frame, joints=joints, **r.element_options()
            )
            names[:] = [tuple(found)]
            return found.wrenches, found.unique

        parts = self._many(compute)
        return Reactions(names[0], *parts)

    def closure_forces(self) -> dict[str, Array]:
        """Return the multipliers of the described closures by name, each (n, rows)."""
        names: list[str] = []

        def compute(r: Replay) -> Results:
            found = r.system.closure_forces(r.q, r.v, r.efforts, check=False, **r.element_options())
            names[:] = found
            return tuple(found.values())

        values = self._many(compute)
        return dict(zip(names, values, strict=True))

    def forces(self) -> Named[ElementForce]:
        """Return the forces of every force element, by name."""

        def compute(r: Replay) -> Results:
            found = r.system.forces(r.q, r.v, r.efforts, **r.element_options())
            return tuple(part for force in found.values() for part in (force.wrenches, force.efforts))

        uses = self.system.description.forces
        parts = iter(self._many(compute) if uses else ())
        bodies = {use.name: tuple(body for body, _ in use.sides) for use in uses}
        pairs = zip(parts, parts, strict=True)  # wrenches and efforts, one after another
        return Named(
            {
                use.name: ElementForce(bodies[use.name], wrenches, use.coordinates, efforts)
                for use, (wrenches, efforts) in zip(uses, pairs, strict=True)
            }
        )

    def dissipated_powers(self) -> dict[str, Array]:
        """Return the power that every force element dissipates, by name, each (n,)."""
        uses = self.system.description.forces
        found = self._many(
            lambda r: tuple(
                r.system.kernels.elements.dissipated_powers(r.q, r.v, r.efforts, **r.element_options()).values()
            )
        )
        return dict(zip((use.name for use in uses), found, strict=True))

    def state_rates(self) -> Array:
        """Return the rates of the elements' states (n, nz)."""
        return self._one(lambda r: r.system.state_rates(r.q, r.v, r.efforts, **r.element_options()))

    def picked(self, rows: Any) -> Replay:
        """Return the same about some of the states."""
        efforts = self.efforts if self.efforts is None or self.efforts.ndim == 1 else self.efforts[rows]
        work = None if self.work is None else self.work[rows]
        states = {"t": self.t[rows], "q": self.q[rows], "v": self.v[rows], "z": self.z[rows]}
        return replace(self, **states, parameters=of_rows(self.parameters, rows), efforts=efforts, work=work)

    def rows(self) -> list[Array]:
        """Return the arrays that have a row for each state, times apart."""
        efforts = [self.efforts] if self.efforts is not None and self.efforts.ndim > 1 else []
        return [self.q, self.v, self.z, *efforts, *([] if self.work is None else [self.work])]

    # ------------------------------------------------------------------ inside

    def found_accelerations(self) -> Array:
        """Return all joints' accelerations (n, nv), for states that fit into one call."""
        if not self.system.nv:
            return np.zeros_like(self.v)
        return self.system.forward_dynamics(self.q, self.v, self.efforts, check=False, **self.element_options())

    def options(self) -> dict[str, Any]:
        """Return the options that every call takes."""
        return {"t": self.t[:, None], "parameters": self.parameters}

    def element_options(self) -> dict[str, Any]:
        """Return the options of calls that depend on force elements."""
        return self.options() | {"z": self.z if self.system.nz else None}

    def _one(self, compute: Callable[[Replay], Array]) -> Array:
        return np.asarray(self._many(lambda r: (compute(r),))[0])

    def _many(self, compute: Callable[[Replay], Results]) -> Results:
        """Compute chunk by chunk, each result into one array for all states."""
        n = len(self.t)
        if n <= CHUNK:
            return compute(self)
        whole: Results = ()
        for start in range(0, n, CHUNK):
            rows = slice(start, start + CHUNK)
            try:
                parts = compute(self.picked(rows))
            except WhippletreeError as error:
                raise type(error)(f"{error} (counted from output {start}, t = {self.t[start]:.6g} s)") from None
            whole = whole or tuple(np.empty((n, *part.shape[1:]), part.dtype) for part in parts)
            for all_rows, part in zip(whole, parts, strict=True):
                all_rows[rows] = part
        return whole
