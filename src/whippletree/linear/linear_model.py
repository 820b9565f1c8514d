"""A linear model of a mechanism about a state: matrices with names, and the usual analyses of control and vibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from whippletree.errors import ResultError, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.linear.eigenvalues import Spectrum
from whippletree.linear.eigenvalues import spectrum as spectrum_of
from whippletree.linear.linear_tolerances import STEADY
from whippletree.linear.modal_analysis import Modes, modes_of, undamped
from whippletree.results.output_files import new_file, write_whole
from whippletree.spatial.scalars import number, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LinearModel", "StepResponse"]

_POINTS, _MOST_POINTS = 500, 10_000_000
"""Points of a step response unless the user says."""

_SETTLED = 5.0
"""A step response is shown for so many time constants of the slowest mode unless the user says."""


@user_facing
@readable
class StepResponse(NamedTuple):
    """Times (n,) and the outputs' answers (n, outputs, inputs) to a unit step of each input."""

    t: Array
    y: Array


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class LinearModel:
    """The motion near a state: x' = A x + B u + offset, y = C x + D u.

    x = (displacements, velocities, states of elements) are deviations in minimal coordinates: independent
    displacements of the joints, independent velocities (fewer if closures hold velocities), auxiliary states. The
    reference that displacements are measured from goes on with the velocities of the state; `offset` are the
    accelerations there, which are zero at rest and in steady motion. u and y are deviations too; `nominal_outputs` is
    what is added to y.

    `displacement_map` (nv, n) and `velocity_map` (nv, m) lead from independent displacements and velocities to those of
    all joints, `velocity_slope` (nv, n) is how velocities of all joints depend on the displacements besides.

    >>> from whippletree.system.example_systems import pendulum
    >>> lin = pendulum().linearize([np.pi / 2], inputs=["hinge"], outputs=["hinge"])
    >>> lin.A.round(6)
    array([[  0.   ,   1.   ],
           [-14.715,   0.   ]])
    >>> lin.states, lin.inputs, lin.outputs
    (('hinge.angle', 'hinge.angular velocity'), ('hinge.effort',), ('hinge.angle',))
    """

    A: Array
    B: Array
    C: Array
    D: Array
    offset: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    n_displacements: int
    n_velocities: int
    displacement_map: Array = field(repr=False)
    velocity_map: Array = field(repr=False)
    velocity_slope: Array = field(repr=False)
    nominal_outputs: Array = field(repr=False)
    nominal: Mapping[str, Any] = field(repr=False)
    freedom_names: tuple[str, ...] = field(repr=False, default=())
    body_jacobians: Mapping[str, Array] = field(repr=False, default_factory=dict)
    mass_matrix: Array | None = field(repr=False, default=None)
    units: Mapping[str, str] = field(repr=False, default_factory=dict)
    scale: Array | None = field(repr=False, default=None)

    # ------------------------------------------------------------------ eigenvalues and modes

    @made_once
    def spectrum(self) -> Spectrum:
        """Eigenvalues other than zero with vectors and the error of each, and the states that map to zero."""
        return spectrum_of(self.A, self.scale)

    @property
    def eigenvalues(self) -> npt.NDArray[np.complex128]:
        """All eigenvalues of A, the largest real parts first; those of free motions are exactly zero.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().linearize([np.pi / 2]).eigenvalues.round(4)
        array([0.+3.836j, 0.-3.836j])
        """
        if undamped(self) is not None:
            found = [mode.eigenvalue for mode in self.modes() if mode.kind != "rigid"]
            pairs = [w for value in found for w in ((value, value.conjugate()) if value.imag else (value,))]
            values = np.array([*pairs, *(0j for _ in range(self.modes().n_zero))], dtype=complex)
        else:
            values = np.concatenate([self.spectrum.values, np.zeros(self.spectrum.n_zero)]).astype(complex)
        return values[np.lexsort((-values.imag, -values.real.round(12)))]

    def modes(self) -> Modes:
        """Return frequencies, damping ratios and shapes, the slowest first.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().linearize([np.pi / 2]).modes().frequencies.round(6)
        array([0.610521])
        """
        return self._modes

    @made_once
    def _modes(self) -> Modes:
        return modes_of(self)

    # ------------------------------------------------------------------ responses

    def frequency_response(self, w: ArrayLike) -> npt.NDArray[np.complex128]:
        """Return C (iw - A)^-1 B + D at frequencies in rad/s: (n, outputs, inputs).

        >>> from whippletree.system.example_systems import pendulum
        >>> lin = pendulum().linearize([np.pi / 2], inputs=["hinge"], outputs=["hinge"])
        >>> lin.frequency_response([0.0]).round(6).ravel()
        array([0.101937+0.j])
        """
        self._need_signals("a frequency response")
        omegas = _frequencies(w)
        x = self.state_response(omegas)
        finite = np.isfinite(x).all(axis=(1, 2))
        found = np.full((len(omegas), len(self.outputs), len(self.inputs)), np.inf, dtype=complex)
        found[finite] = self.C @ x[finite] + self.D
        return found

    def state_response(self, omegas: Array) -> npt.NDArray[np.complex128]:
        """Return (iw - A)^-1 B, (n, states, inputs), infinite at the frequency of a mode that nothing damps."""
        omegas, eye = _frequencies(omegas), np.eye(len(self.A))
        found = np.full((len(omegas), *self.B.shape), np.inf, dtype=complex)
        for k, omega in enumerate(omegas):
            with suppress(np.linalg.LinAlgError):
                found[k] = np.linalg.solve(1j * omega * eye - self.A, self.B)
        return found

    def step(self, duration: float | None = None, *, points: int = _POINTS) -> StepResponse:
        """Return the outputs' answers to a unit step of every input, exact at each of the points.

        >>> from whippletree.system.example_systems import pendulum
        >>> lin = pendulum().linearize([np.pi / 2], inputs=["hinge"], outputs=["hinge"])
        >>> t, y = lin.step(0.5, points=3)
        >>> t.tolist(), y[:, 0, 0].round(4).tolist()
        ([0.0, 0.25, 0.5], [0.0, 0.0434, 0.1366])
        """
        from scipy.linalg import expm

        self._need_signals("a step response")
        if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= _MOST_POINTS:
            raise StateError(f"points= must be a whole number from 2 to {_MOST_POINTS}, not {shown(points)}")
        length = self._settling_time() if duration is None else _positive(duration, "duration")
        t = np.linspace(0.0, length, points)
        n, m = self.B.shape
        whole = np.zeros((n + m, n + m))
        whole[:n, :n], whole[:n, n:] = self.A, self.B
        once = expm(whole * t[1])
        x, y = np.zeros((n, m)), np.empty((points, len(self.outputs), m))
        for k in range(points):
            y[k] = self.C @ x + self.D
            x = once[:n, :n] @ x + once[:n, n:]
        return StepResponse(t, y)

    def _settling_time(self) -> float:
        """Return how long the slowest mode takes to settle, or ten of its periods if it does not."""
        values = self.spectrum.values
        if not len(values):
            return 1.0
        settled = [_SETTLED / -value.real for value in values if value.real < -1e-3 * abs(value)]
        return float(max(settled, default=0.0) or 20 * np.pi / np.abs(values).min())

    def _need_signals(self, what: str) -> None:
        if not self.inputs or not self.outputs:
            missing = "inputs=[...]" if not self.inputs else "outputs=[...]"
            raise StateError(f"{what} leads from inputs to outputs: give {missing} to linearize")

    # ------------------------------------------------------------------ to others

    def to_scipy(self) -> Any:
        """Return the model as a `scipy.signal.StateSpace`.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().linearize([np.pi / 2], inputs=["hinge"], outputs=["hinge"]).to_scipy().A.shape
        (2, 2)
        """
        from scipy.signal import StateSpace

        self._need_signals("a model for SciPy")
        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Return the model as a `control.StateSpace`; needs the package `control`.

        Signals have their names, with "_" for ".", which python-control keeps for itself: "hinge_effort".
        """
        try:
            import control
        except ImportError:
            raise ResultError(
                "to_control needs the package python-control: install it with pip install control; to_scipy and save "
                "need nothing else"
            ) from None
        return control.ss(
            self.A,
            self.B,
            self.C,
            self.D,
            states=_without_dots(self.states),
            inputs=_without_dots(self.inputs),
            outputs=_without_dots(self.outputs),
        )

    def save(self, path: FilePath) -> None:
        """Write matrices and names as a MATLAB file (.mat)."""
        from scipy.io import savemat

        place = new_file(path)
        if place.suffix.lower() != ".mat":
            raise StateError(f'a linear model is written as a MATLAB file: end "{place.name}" in .mat')
        names = {
            what: np.array(getattr(self, what), dtype=object).reshape(-1, 1) for what in ("states", "inputs", "outputs")
        }
        matrices = {name: getattr(self, name) for name in ("A", "B", "C", "D")}
        content = {**matrices, "offset": self.offset.reshape(-1, 1), **names}
        write_whole(place, lambda file: savemat(file, content, oned_as="column"))

    def plot(self, what: str = "modes", *, path: FilePath | None = None) -> Figure:
        """Draw "modes" (shapes as bars), "eigenvalues", "frequency response" or "step", and write it to a path."""
        from whippletree.linear.linear_plots import drawn

        return drawn(self, what, path)

    # ------------------------------------------------------------------ in words

    def __str__(self) -> str:
        parts = [f"{len(self.states)} states: {', '.join(self.states)}"]
        parts += [f"{len(names)} {what}: {', '.join(names)}" for what, names in _signals(self) if names]
        if np.abs(self.offset).max(initial=0.0) > STEADY:
            k = int(np.argmax(np.abs(self.offset)))
            parts.append(f"not steady: the rate of {self.states[k]} is {self.offset[k]:.6g}")
        return "Linear model\n  " + "\n  ".join(parts)

    def _repr_html_(self) -> str:
        rows = [("states", ", ".join(self.states)), *((w, ", ".join(names)) for w, names in _signals(self) if names)]
        return html_section("Linear model", html_table(rows)) + self.modes()._repr_html_()


def _signals(model: LinearModel) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("inputs", model.inputs), ("outputs", model.outputs)


def _without_dots(names: Sequence[str]) -> list[str]:
    """Return names without dots, each once.

    >>> _without_dots(["hinge.angle", "hinge_angle"])
    ['hinge_angle', 'hinge_angle_']
    """
    found: list[str] = []
    for name in names:
        plain = name.replace(".", "_")
        while plain in found:
            plain += "_"
        found.append(plain)
    return found


def _frequencies(w: ArrayLike) -> Array:
    try:
        omegas = np.atleast_1d(np.asarray(w))
    except Exception:  # whatever it raises, these are no numbers
        omegas = np.array([None])
    if omegas.ndim != 1 or omegas.dtype.kind not in "fiu" or not np.isfinite(omegas).all():
        raise StateError(f"the frequencies must be finite numbers in rad/s, not {shown(w)}")
    return omegas.astype(np.float64)


def _positive(value: float, what: str) -> float:
    found = number(value, f"{what}=")
    if not found > 0:
        raise StateError(f"{what}= must be a positive number, not {shown(value)}")
    return found
