"""The papers' matrices in numbers, with names of their rows and columns: `system.matrices(q)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.arrays import AnyArray
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.old_names import warn_of_old
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointValues
from whippletree.model.names import suggestion
from whippletree.system.equations import text_matrices
from whippletree.system.evaluator import CallOptions
from whippletree.system.matrix_equations import own_rates
from whippletree.system.text_letters import MATRICES, TEXTS, Letter, function_name

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues
    from whippletree.system.system import System

__all__ = ["Matrices", "NamedMatrix", "matrices"]

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

    def __matmul__(self, other: AnyArray) -> Array:
        return np.asarray(self.values @ np.asarray(other))

    def __rmatmul__(self, other: AnyArray) -> Array:
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

    def __init__(
        self,
        system: System,
        q: ArrayLike,
        v: JointValues = None,
        tau: JointValues = None,
        text: str | None = None,
        t: float = 0.0,
        parameters: ParameterValues = None,
    ) -> None:
        self._system, self._text = system, text
        self._letters = MATRICES if text is None else _letters(text)
        inputs = system.kernels.inputs
        self._q = inputs.configurations(q)
        still = np.zeros(system.nv)
        self._given = {"q": self._q, "v": still if v is None else v, "tau": still if tau is None else tau}
        self._t, self._parameters = t, parameters
        self._found: dict[str, NamedMatrix] = {}

    def __getitem__(self, name: str) -> NamedMatrix:
        if self._text is None and isinstance(name, str) and name == "G":
            warn_of_old('matrices(...)["G"]', 'matrices(...)["gain"]')
            name = "gain"
        if not isinstance(name, str) or name not in self._letters:
            of_text = "" if self._text is None else f' of text "{self._text}"'
            raise StateError(f"there is no matrix{of_text} {suggestion(name, tuple(self._letters))}")
        if name not in self._found:
            self._found[name] = self._named(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)

    def __repr__(self) -> str:
        of_text = "" if self._text is None else f' in the letters of "{self._text}"'
        return f'Matrices {", ".join(self._letters)} of "{self._system.description.name}"{of_text}'

    @property
    def kept_rows(self) -> tuple[int, ...]:
        """Which rows of D* B are those of C: those that follow from others are left out."""
        kernels = self._system.kernels
        return tuple(kernels.equations.attachments().places(kernels.loop_plan.keep)) if kernels.closed else ()

    def _named(self, name: str) -> NamedMatrix:
        one = self._letters[name]
        rows, columns = self._labels(one.rows), self._labels(one.columns)
        if not rows or not columns:
            return NamedMatrix(np.zeros((*self._q.shape[:-1], len(rows), len(columns))), rows, columns)
        if one is MATRICES["E"]:  # which is found in another way where the independent coordinates are bad
            values = self._system.kernels.closures.motion_basis(self._q, t=self._t, parameters=self._parameters)
        else:
            options = CallOptions(t=self._t, parameters=self._parameters)
            function = function_name(self._text, name)
            values = self._system.kernels.evaluate(function, tuple(self._given[x] for x in one.inputs), options)
        return NamedMatrix(values, rows, columns)

    def _labels(self, kind: str) -> tuple[str, ...]:
        """Return the names of rows or columns of a kind."""
        equations = self._system.kernels.equations
        found: dict[str, Callable[[], Sequence[str]]] = {
            "motions": lambda: [f"{part} of {body}" for body in self._bodies() for part in _COMPONENTS],
            "forces": lambda: [f"{part} on {body}" for body in self._bodies() for part in _FORCES],
            "body velocities": self._body_velocities,
            "of the parent": lambda: [f"{part} of the parent" for part in _COMPONENTS],
            "velocities": self._velocities,
            "coordinates": self._coordinates,
            "independent velocities": self._independent,
            "rows of joints": self._held,
            "all closure rows": self._closure_rows,
            "closure rows": lambda: [self._closure_rows()[r] for r in self.kept_rows],
            "elements": lambda: text_matrices().natural_labels(equations)[0],
            "conditions": lambda: text_matrices().natural_labels(equations)[1],
            "value": lambda: [""],
        }
        return tuple(found[kind]())

    def _held(self) -> list[str]:
        system = self._system
        names = [constants.use.name for constants in system.kernels.equations.node_tree().node_constants]
        return [f'"{names[k]}": {label}' for k, label in text_matrices().tree_row_labels(system.kernels.equations)]

    def _coordinates(self) -> list[str]:
        return [self._system.kernels.states.position_label(i) for i in range(self._system.nq)]

    def _closure_rows(self) -> list[str]:
        closures = self._system.kernels.equations.attachments().all if self._system.kernels.closed else ()
        return [f'"{one.name}": {label}' for one in closures for label in one.closure.labels]

    def _independent(self) -> list[str]:
        every, kernels = self._velocities(), self._system.kernels
        return [every[i] for i in kernels.loop_plan.choice.independent] if kernels.closed else list(every)

    def _velocities(self) -> tuple[str, ...]:
        return tuple(self._system.kernels.states.velocity_label(i) for i in range(self._system.nv))

    def _body_velocities(self) -> tuple[str, ...]:
        every = self._velocities()
        own = tuple(every[i] for i in own_rates(self._system.kernels.equations))
        return (*(f"{part} of {body}" for body in self._bodies() for part in _COMPONENTS), *own)

    def _bodies(self) -> list[str]:
        """Return the names of the nodes: those of the bodies that exist, else of the joint that leads there."""
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


def matrices(
    system: System,
    q: ArrayLike,
    v: JointValues = None,
    tau: JointValues = None,
    *,
    text: str | None = None,
    t: float = 0.0,
    parameters: ParameterValues = None,
) -> Matrices:
    """Return the papers' matrices by name, at a configuration or a batch of them: B, R, D*, C, E and the gain.

    They say how bodies follow joints (B, and R for reference points), what cut joints and closures hold (D* on the
    bodies, C on the joints), which motions that leaves (E), and how the articulated-body recursion weighs its
    joints (gain). Rows and columns have names. `function("B")` and so on are the same as CasADi functions.

    `text=` gives a text's own letters instead, which may need velocities and efforts, zero if they are not given:
    "nikravesh", "kang-yoon/origin" (or "/centroid", "/joint"), "garcia-de-jalon", "garcia-de-jalon/natural", "jain".

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> s.matrices(s.q0)["C"].rows
    ('"C": force along x', '"C": force along z')
    >>> of_jain = s.matrices(s.q0, text="jain")
    >>> list(of_jain)
    ['H', 'E', 'phi', 'M', 'P', 'D', 'gain', 'K', 'psi', 'a', 'b']
    >>> H, phi, M = (np.array(of_jain[letter]) for letter in ("H", "phi", "M"))
    >>> bool(np.allclose(H @ phi @ M @ phi.T @ H.T, s.mass_matrix(s.q0)))
    True
    """
    return Matrices(system, q, v, tau, text, t, parameters)


def _letters(text: str) -> dict[str, Letter]:
    if not isinstance(text, str) or text not in TEXTS:
        raise StateError(f"there is no text {suggestion(text, tuple(TEXTS))}")
    return TEXTS[text]
