"""The papers' matrices in numbers, with names of their rows and columns: `system.matrices(q)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.names import suggestion
from whippletree.system.evaluator import CallOptions
from whippletree.system.matrix_equations import own_rates

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues
    from whippletree.system.system import System

__all__ = ["MATRICES", "Matrices", "NamedMatrix", "matrices"]

MATRICES = ("B", "R", "D*", "C", "E", "G")
"""The matrices there are, by the papers' names."""

_COMPONENTS = (*(f"angular velocity about {c}" for c in "xyz"), *(f"velocity along {c}" for c in "xyz"))
_FORCES = (*(f"moment about {c}" for c in "xyz"), *(f"force along {c}" for c in "xyz"))


@readable
@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix, or a batch of them (..., m, n), with the names of its rows and columns; NumPy takes it as an array.

    >>> from whippletree.system.example_systems import pendulum
    >>> B = pendulum().matrices([0.0])["B"]
    >>> B.at('angular velocity about y of body "rod"', 'angular velocity of joint "hinge"')
    1.0
    """

    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.values.shape

    def at(self, row: str, column: str) -> Any:
        """Return an entry by the names of its row and column; of a batch, that of all."""
        i, j = (self._place(name, of) for name, of in ((row, self.rows), (column, self.columns)))
        found = self.values[..., i, j]
        return float(found) if self.values.ndim == 2 else found

    @staticmethod
    def _place(name: str, of: tuple[str, ...]) -> int:
        if name not in of:
            raise StateError(f"there is no row or column {suggestion(name, of)}")
        return of.index(name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __matmul__(self, other: object) -> Array:
        return np.asarray(self.values @ np.asarray(other))

    def __rmatmul__(self, other: object) -> Array:
        return np.asarray(np.asarray(other) @ self.values)

    def __str__(self) -> str:
        return f"{self.values!r}"

    def _repr_html_(self) -> str:
        if self.values.ndim != 2:
            return html_section(f"{self.shape[:-2]} matrices of {self.shape[-2]} x {self.shape[-1]}")
        lines = [(name, *(f"{x:.6g}" for x in line)) for name, line in zip(self.rows, self.values, strict=True)]
        return html_table(lines, ("", *self.columns))


@user_facing
class Matrices(Mapping[str, NamedMatrix]):
    """The papers' matrices at one configuration or many, each worked out when it is asked for.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> found = s.matrices(s.q0)
    >>> found["B"].shape, found["D*"].shape, found["C"].shape, found["E"].shape
    ((18, 4), (5, 18), (2, 4), (4, 1))
    >>> bool(np.abs(found["C"] @ found["E"]).max() < 1e-12)
    True
    """

    def __init__(self, system: System, q: object, t: float = 0.0, parameters: ParameterValues = None) -> None:
        self._system = system
        self._q = system.kernels.inputs.configurations(q)
        self._t, self._parameters = t, parameters
        self._found: dict[str, NamedMatrix] = {}

    def __getitem__(self, name: str) -> NamedMatrix:
        if name not in MATRICES:
            raise StateError(f"there is no matrix {suggestion(name, MATRICES)}")
        if name not in self._found:
            self._found[name] = self._named(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MATRICES)

    def __len__(self) -> int:
        return len(MATRICES)

    def __repr__(self) -> str:
        return f'Matrices {", ".join(MATRICES)} of "{self._system.description.name}"'

    @property
    def kept_rows(self) -> tuple[int, ...]:
        """Which rows of D* B are those of C: those that follow from others are left out."""
        kernels = self._system.kernels
        return tuple(kernels.equations.attachments().places(kernels.loop_plan.keep)) if kernels.closed else ()

    def _named(self, name: str) -> NamedMatrix:
        rows, columns = self._rows(name), self._columns(name)
        if not rows or not columns:
            return NamedMatrix(np.zeros((*self._q.shape[:-1], len(rows), len(columns))), rows, columns)
        if name == "E":  # which is found in another way where the independent coordinates are bad
            values = self._system.kernels.closures.motion_basis(self._q, t=self._t, parameters=self._parameters)
        else:
            options = CallOptions(t=self._t, parameters=self._parameters)
            values = self._system.kernels.evaluate(name, (self._q,), options)
        return NamedMatrix(values, rows, columns)

    def _rows(self, name: str) -> tuple[str, ...]:
        if name in ("B", "R"):
            return self._body_velocities()
        if name == "G":
            return tuple(f"{part} on {body}" for body in self._bodies() for part in _FORCES)
        if name == "E":
            return self._velocities()
        every = tuple(
            f'"{one.name}": {label}'
            for one in (self._system.kernels.equations.attachments().all if self._system.kernels.closed else ())
            for label in one.closure.labels
        )
        return every if name == "D*" else tuple(every[r] for r in self.kept_rows)

    def _columns(self, name: str) -> tuple[str, ...]:
        if name == "D*":
            return self._body_velocities()
        if name == "E" and self._system.kernels.closed:
            every = self._velocities()
            return tuple(every[i] for i in self._system.kernels.loop_plan.choice.independent)
        return self._velocities()

    def _velocities(self) -> tuple[str, ...]:
        return tuple(self._system.kernels.states.velocity_label(i) for i in range(self._system.nv))

    def _body_velocities(self) -> tuple[str, ...]:
        every = self._velocities()
        own = tuple(every[i] for i in own_rates(self._system.kernels.equations))
        return (*(f"{part} of {body}" for body in self._bodies() for part in _COMPONENTS), *own)

    def _bodies(self) -> list[str]:
        """Return what the nodes are called: by the bodies that are there, else by the joint that leads there."""
        tree = self._system.kernels.equations.node_tree()
        names: list[list[str]] = [[] for _ in tree.node_constants]
        for place in self._system.description.places:
            k = tree.where[place][0]
            if k >= 0:
                names[k].append(f'"{place}"')
        return [
            f"body {' with '.join(some)}" if some else f'the body side of joint "{constants.use.name}"'
            for some, constants in zip(names, tree.node_constants, strict=True)
        ]


def matrices(system: System, q: object, *, t: float = 0.0, parameters: ParameterValues = None) -> Matrices:
    """Return the papers' matrices by name, at a configuration or a batch of them: B, R, D*, C, E and G.

    They say how bodies follow joints (B, and R for reference points), what cut joints and closures hold (D* on the
    bodies, C on the joints), which motions that leaves (E), and how the articulated-body recursion weighs its
    joints (G). Rows and columns have names. `function("B")` and so on are the same as CasADi functions.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> s.matrices(s.q0)["C"].rows
    ('"C": force along x', '"C": force along z')
    """
    return Matrices(system, q, t, parameters)
