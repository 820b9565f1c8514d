"""Deformations of flexible bodies over a run, and whether they stay within the range of the theory.

Modes describe small deformation: beyond a tenth of the body's size, or a tenth of a radian within one body, what linear
strain leaves out is a per cent of what it keeps. And a body without second-order displacements does not know that
tension makes it stiffer, which shows as soon as it turns at a tenth of its lowest natural frequency.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from whippletree.elements.bodies import FlexibleBody
from whippletree.elements.bodies.flexible import LARGEST_DEFLECTION, LARGEST_ROTATION
from whippletree.errors import ModelError
from whippletree.foundation.short_text import readable
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import BodyLike
from whippletree.model.names import quoted
from whippletree.results.replay import Replay
from whippletree.system import System
from whippletree.system.flexible_stations import flexible_kind

__all__ = ["Deformation", "Stress", "deformation", "flexible_body", "out_of_range", "stress", "without_energy"]

FASTEST_SPIN = 0.1
"""The share of its lowest natural frequency at which a body may turn before stiffening shows: in its square, a per
cent."""


@readable
class Deformation(NamedTuple):
    """How a flexible body is deformed: in its own frame, at its stations, or at its interfaces if it has no stations.

    >>> Deformation(np.zeros((2, 3)), np.zeros((5, 2, 3)), np.zeros((5, 2, 3))).largest.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """

    positions: Array  # (S, 3), undeformed
    displacement: Array  # (n, S, 3)
    rotation: Array  # (n, S, 3), small rotation vectors

    @property
    def largest(self) -> Array:
        """The largest displacement at each output (n,), in metres."""
        return np.asarray(np.linalg.norm(self.displacement, axis=-1).max(axis=-1, initial=0.0))


def flexible_body(system: System, body: BodyLike) -> tuple[FlexibleBody, slice]:
    """Return a flexible body by name or handle, and where its modal coordinates are."""
    name, kind = flexible_kind(system.description, body)
    return kind, system.q_slice(name)


def deformation(system: System, q: Array, body: BodyLike) -> Deformation:
    """Return how a flexible body is deformed at states (n, nq)."""
    kind, own = flexible_body(system, body)
    found = kind.motion(q[..., own])
    return Deformation(found.positions, found.displacement, found.rotation)


@readable
class Stress(NamedTuple):
    """Stresses in a flexible body: xx, yy, zz, xy, yz, zx in body axes, in pascals.

    >>> Stress(np.zeros((1, 3)), np.array([[[100.0, 0, 0, 0, 0, 0]]])).von_mises.tolist()
    [[100.0]]
    """

    positions: Array  # (P, 3), undeformed
    values: Array  # (n, P, 6)

    @property
    def von_mises(self) -> Array:
        """Von Mises's equivalent stress (n, P)."""
        xx, yy, zz, xy, yz, zx = np.moveaxis(self.values, -1, 0)
        normal = (xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2
        return np.asarray(np.sqrt(normal / 2 + 3 * (xy**2 + yz**2 + zx**2)))


def stress(system: System, q: Array, body: BodyLike) -> Stress:
    """Return the stresses of a flexible body at states (n, nq)."""
    kind, own = flexible_body(system, body)
    if kind.drawn is None or "stress" not in kind.drawn:
        name = quoted(getattr(body, "name", body))
        raise ModelError(f"body {name} was described without stress modes: give stress= where it is made")
    modes = kind.drawn.array("stress")
    return Stress(kind.drawn.array("stress_positions"), np.asarray(np.einsum("psk,...k->...ps", modes, q[..., own])))


def out_of_range(run: Replay) -> tuple[str, ...]:
    """Return in words which flexible bodies leave the range of their theory."""
    bodies = [body for body in run.system.description.bodies if isinstance(body.kind, FlexibleBody)]
    return tuple(words for body in bodies for words in _doubts(run, body.name))


def without_energy(system: System) -> tuple[str, ...]:
    """Return the names of flexible bodies whose forces do not all follow from energy."""
    bodies = ((body.name, body.kind) for body in system.description.bodies)
    return tuple(quoted(name) for name, kind in bodies if isinstance(kind, FlexibleBody) and not kind.has_energy)


def _doubts(run: Replay, name: str) -> Iterator[str]:
    kind, _ = flexible_body(run.system, name)
    found = deformation(run.system, run.q, name)
    far, turned = found.largest, np.linalg.norm(found.rotation, axis=-1).max(axis=-1, initial=0.0)
    remedy = "divide it into substructures"
    if far.max(initial=0.0) > LARGEST_DEFLECTION * float(kind.size):
        k = int(np.argmax(far))
        share = far[k] / float(kind.size)
        yield (
            f"body {quoted(name)} deflects by {100 * share:.3g} % of its size at t = {run.t[k]:.6g} s, more than the "
            f"{100 * LARGEST_DEFLECTION:g} % up to which its modes are meant: {remedy}"
        )
    if turned.max(initial=0.0) > LARGEST_ROTATION:
        k = int(np.argmax(turned))
        yield (
            f"body {quoted(name)} turns by {turned[k]:.3g} rad within itself at t = {run.t[k]:.6g} s, more than the "
            f"{LARGEST_ROTATION:g} rad up to which its modes are meant: {remedy}"
        )
    if kind.n_own and not kind.stiffens:
        yield from _spin_doubts(run, name, kind)


def _spin_doubts(run: Replay, name: str, kind: FlexibleBody) -> Iterator[str]:
    spin = np.linalg.norm(run.velocity(name)[:, :3], axis=1)
    k = int(np.argmax(spin))
    if spin[k] > FASTEST_SPIN * kind.lowest_frequency():
        yield (
            f"body {quoted(name)} turns at {spin[k]:.3g} rad/s at t = {run.t[k]:.6g} s, "
            f"{100 * spin[k] / kind.lowest_frequency():.3g} % of its lowest natural frequency, and has no geometric "
            f"stiffening: make it with second-order displacements, or of several bodies"
        )
