"""Modes of a linear model: frequencies, damping, shapes in joint coordinates and as motions of bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.linear.eigenvalues import Spectrum
from whippletree.linear.linear_tolerances import SHOWN_SHARE, SYMMETRIC, ZERO_SHARE

if TYPE_CHECKING:
    from whippletree.linear.linear_model import LinearModel

__all__ = ["Mode", "Modes", "modes_of", "undamped"]

Complex = npt.NDArray[np.complex128]

_NAMED = 3
"""How many joints a table names for a mode."""


@readable
@user_facing
@dataclass(frozen=True)
class Mode:
    """One way in which a mechanism moves by itself: x(t) = Re(shape exp(eigenvalue t)).

    `kind` is "oscillation", "decay", "growth" (a real eigenvalue that is positive), or "rigid": a displacement after
    which nothing has changed. `shape` (nv) are the displacements of all joints, `bodies` the motions [turn; shift] of
    the bodies' frames in ground axes; both are scaled so that the largest entry of `shape` is 1.
    """

    eigenvalue: complex
    kind: str
    shape: Complex
    bodies: Mapping[str, Complex]
    names: Sequence[str] = field(repr=False, default=())
    error: float = 0.0

    @property
    def omega(self) -> float:
        """The frequency without damping, |eigenvalue|, in rad/s; zero unless it oscillates."""
        return abs(self.eigenvalue) if self.kind == "oscillation" else 0.0

    @property
    def frequency(self) -> float:
        """The frequency without damping, in Hz."""
        return self.omega / (2 * np.pi)

    @property
    def damped_frequency(self) -> float:
        """The frequency at which it really oscillates, in Hz."""
        return abs(self.eigenvalue.imag) / (2 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """The share of critical damping: negative for an oscillation that grows; 1 and -1 without oscillation."""
        return 0.0 if self.kind == "rigid" else 0.0 - self.eigenvalue.real / abs(self.eigenvalue)

    def main_joints(self, count: int = _NAMED) -> tuple[str, ...]:
        """Return the freedoms that move most, the largest first."""
        size = np.abs(self.shape)
        order = [int(i) for i in np.argsort(-size, kind="stable")[:count]]
        return tuple(self.names[i] for i in order if size[i] > SHOWN_SHARE * size.max(initial=0.0))


@readable
@user_facing
class Modes(Sequence[Mode]):
    """All modes of a linear model, the slowest first, rigid ones at the beginning.

    >>> import whippletree as wt
    >>> m = wt.Mechanism("oscillator")
    >>> _ = m.prismatic("slide", m.ground, m.body("block", mass=2.0), axis="x")
    >>> _ = m.torsion_spring("spring", "slide", stiffness=200.0, damping=4.0)
    >>> modes = m.build().linearize().modes()
    >>> print(modes)
      nr  frequency [Hz]  omega [rad/s]  damping ratio  kind         moves most
       1         1.59155             10            0.1  oscillation  slide.displacement
    """

    def __init__(self, modes: Sequence[Mode], n_zero: int) -> None:
        self._modes, self.n_zero = tuple(modes), n_zero

    @overload
    def __getitem__(self, k: int) -> Mode: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Mode, ...]: ...
    def __getitem__(self, k: int | slice) -> Mode | tuple[Mode, ...]:
        return self._modes[k]

    def __len__(self) -> int:
        return len(self._modes)

    def __iter__(self) -> Iterator[Mode]:
        return iter(self._modes)

    @property
    def frequencies(self) -> Array:
        """The frequencies of all oscillations without damping, in Hz."""
        return np.array([mode.frequency for mode in self if mode.kind == "oscillation"])

    @property
    def damping_ratios(self) -> Array:
        """The damping ratios of all oscillations."""
        return np.array([mode.damping_ratio for mode in self if mode.kind == "oscillation"])

    @property
    def rigid(self) -> tuple[Mode, ...]:
        """The motions after which nothing has changed."""
        return tuple(mode for mode in self if mode.kind == "rigid")

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(k + 1),
                f"{mode.frequency:.6g}",
                f"{mode.omega:.6g}",
                f"{mode.damping_ratio:.6g}" if mode.kind == "oscillation" else _rate(mode),
                mode.kind,
                ", ".join(mode.main_joints()),
            )
            for k, mode in enumerate(self)
        ]

    def __str__(self) -> str:
        head = ("nr", "frequency [Hz]", "omega [rad/s]", "damping ratio", "kind", "moves most")
        rows = [head, *self._rows()]
        widths = [max(len(row[c]) for row in rows) for c in range(len(head))]  # not empty: the head is one
        lines = []
        for row in rows:
            numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[:4], widths[:4], strict=True))
            lines.append(f"{numbers:>{sum(widths[:4]) + 8}}  {row[4]:<{widths[4]}}  {row[5]}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ("nr", "frequency [Hz]", "omega [rad/s]", "damping ratio", "kind", "moves most")
        return html_section("Modes", html_table(self._rows(), head))


def _rate(mode: Mode) -> str:
    """Say how fast a mode without oscillation goes."""
    return "" if mode.kind == "rigid" else f"{mode.eigenvalue.real:.6g} 1/s"


def undamped(model: LinearModel) -> tuple[Array, Array] | None:
    """Return mass and stiffness matrix of a model at rest whose forces have a potential and lose nothing; else None.

    Its modes follow from a symmetric eigenvalue problem, K y = omega^2 M y, to full accuracy.
    """
    n, size = model.n_velocities, len(model.A)
    M = model.mass_matrix
    if M is None or size != 2 * n or model.n_displacements != n or not n:
        return None
    A = model.A
    if not (A[:n, :n] == 0).all() or not (A[:n, n:] == np.eye(n)).all():
        return None
    K, damping = -M @ A[n:, :n], M @ A[n:, n:]
    bound = SYMMETRIC * np.sqrt(np.abs(np.outer(np.diag(K), np.diag(K))) + np.abs(K).max() ** 2 * SYMMETRIC)
    rates = np.sqrt(np.abs(K).max() * np.abs(M).max())
    if (np.abs(K - K.T) > 2 * bound + SYMMETRIC * np.abs(K).max()).any() or (np.abs(damping) > SYMMETRIC * rates).any():
        return None
    return M, (K + K.T) / 2


def modes_of(model: LinearModel) -> Modes:
    """Return the modes of a linear model."""
    pair = undamped(model)
    if pair is not None:
        found = _symmetric(*pair)
        if found is not None:
            return _collected(model, *found)
    return _collected(model, *_paired(model.spectrum, model.n_displacements))


def _symmetric(M: Array, K: Array) -> tuple[list[tuple[complex, Complex, float]], int] | None:
    """Return eigenvalues, displacements and errors of an undamped mechanism; None if the masses do not allow it."""
    from scipy.linalg import LinAlgError, eigh

    try:
        squares, shapes = eigh(K, M)
    except LinAlgError:
        return None
    largest = float(np.abs(squares).max(initial=0.0))
    found: list[tuple[complex, Complex, float]] = []
    n_zero = 0
    for square, shape in zip(squares, shapes.T, strict=True):
        if abs(square) <= ZERO_SHARE * largest:
            found.append((0j, shape.astype(complex), 0.0))
            n_zero += 2
        elif square > 0:
            found.append((1j * np.sqrt(square), shape.astype(complex), 0.0))
        else:
            rate = float(np.sqrt(-square))
            found += [(complex(rate), shape.astype(complex), 0.0), (complex(-rate), shape.astype(complex), 0.0)]
    return found, n_zero


def _paired(whole: Spectrum, n: int) -> tuple[list[tuple[complex, Complex, float]], int]:
    """Return eigenvalues with displacements and errors; of a conjugate pair the one above the real axis."""
    found: list[tuple[complex, Complex, float]] = [(0j, x[:n].astype(complex), 0.0) for x in whole.still.T]
    for value, vector, error in zip(whole.values, whole.vectors.T, whole.errors, strict=True):
        if value.imag >= 0:
            found.append((complex(value), vector[:n], float(error)))
    return found, whole.n_zero


def _collected(model: LinearModel, found: list[tuple[complex, Complex, float]], n_zero: int) -> Modes:
    """Return eigenvalues and displacements as modes, sorted, shapes scaled."""
    modes = []
    for value, displacement, error in sorted(found, key=lambda one: (abs(one[0]), one[0].real)):
        shape = model.displacement_map @ displacement
        largest = shape[np.argmax(np.abs(shape))] if np.abs(shape).max(initial=0.0) > 0 else 1.0
        shape = shape / largest
        bodies = {name: J @ shape for name, J in model.body_jacobians.items()}
        modes.append(Mode(value, _kind(value), shape, bodies, model.freedom_names, error))
    return Modes(modes, n_zero)


def _kind(value: complex) -> str:
    if value == 0:
        return "rigid"
    if value.imag:
        return "oscillation"
    return "decay" if value.real < 0 else "growth"
