"""The motions that a set of actuated joints controls at a configuration, and their distance from losing one.

With N (nv, m) the motions of unit size that the loops allow (`allowed_motions`), and N_a its rows for the actuated
freedoms, scaled,

    rates of the actuators = N_a y   for the motion N y,        N_a = U diag(sigma) V^T                        (1)

A motion N V_k whose sigma_k is zero goes on although all actuators are held: nothing controls it, and by the principle
of virtual power no efforts of the actuators balance a load along it. For finite sigma_k, efforts grow with 1 / sigma_k.
For a platform on legs N_a is the inverse of what the literature calls its Jacobian, and what is found is a singularity
of the second kind (Gosselin and Angeles, 1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.kinematics.allowed_motions import MotionSpace, motion_in_words
from whippletree.kinematics.kinematic_tolerances import NEAR_ACTUATION_SINGULARITY, NO_MOTION
from whippletree.model.argument_types import Freedoms
from whippletree.spatial.scales import scale_of
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.tolerances import CONSISTENT, MOBILITY_SAMPLES, SAMPLE_DISTANCE

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["Actuation", "actuation", "inverse_conditions"]


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class Actuation:
    """Motions that actuators control at a configuration: `System.actuation`.

    `singular_values` (m) say how fast the actuators move, at least and at most, in a motion of unit size: the sum of
    squares of the velocities of all joints is one, in radians and characteristic lengths. `motions` (nv, m) are these
    motions, in the same order, the largest first. `generic` is the number of motions that the actuators control around
    the configuration, and `needed` the mobility there; `words` tells all that.

    >>> s = four_bar()
    >>> here = actuation(s, s.q0, actuators=["A"])
    >>> here.singular, here.uncontrolled.shape
    (False, (4, 0))
    """

    actuators: tuple[str, ...]
    singular_values: Array
    motions: Array
    generic: int
    needed: int
    words: str

    @property
    def rank(self) -> int:
        """How many motions the actuators control here."""
        return int((self.singular_values > NO_MOTION).sum())

    @property
    def smallest(self) -> float:
        """The smallest singular value: zero at a singularity, and of the order of the distance to it nearby."""
        return float(self.singular_values.min(initial=np.inf))

    @property
    def inverse_condition(self) -> float:
        """The smallest singular value as a share of the largest: from 0, singular, to 1, all motions alike."""
        if not self.singular_values.size:
            return 1.0
        return float(self.singular_values[-1] / scale_of(self.singular_values))

    @property
    def uncontrolled(self) -> Array:
        """The motions (nv, k) that go on with all actuators held."""
        return self.motions[:, self.singular_values <= NO_MOTION]

    @property
    def singular(self) -> bool:
        """Whether there is a motion here that the actuators do not control, though they do around it."""
        count = int(self.motions.shape[1])
        return self.rank < min(self.generic, count) or count > self.needed

    @property
    def too_few(self) -> bool:
        """Whether there are motions that the actuators control nowhere."""
        return self.generic < self.needed

    def __str__(self) -> str:
        return self.words


@user_facing
def actuation(
    system: System, q: ArrayLike, *, actuators: Freedoms, t: float = 0.0, parameters: ParameterValues = None
) -> Actuation:
    """Return the motions that actuated joints control at a closed configuration, and its distance from a singularity.

    `actuators` lists joints, or (joint, index) pairs. The answer tells in words which motion goes on with all of
    them held, if there is one; see `whippletree.kinematics`.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> actuation(s, s.q0, actuators=["A"]).rank
    1
    """
    inputs, states = system.kernels.inputs, system.kernels.states
    q, acting = inputs.configuration(q), inputs.freedoms(actuators, "actuators")
    if not acting.any():
        raise StateError("actuators= must name the joints that act")
    _check_closed(system, q, t, parameters)
    space = MotionSpace(system, t, parameters)
    values, motions = _controlled(space, q, acting)
    around = [_controlled(space, one, acting) for one in _nearby(system, space, q)]
    regular = [found for found in around if len(found[0]) <= len(values)] or [(values, motions)]
    # not empty: this configuration stands in where no other is regular
    needed = min(len(s) for s, _ in regular)
    generic = max(int((s > NO_MOTION).sum()) for s, _ in regular)  # not empty: the same ones as above
    names = tuple(states.freedom_name(int(i)) for i in np.flatnonzero(acting))
    found = Actuation(names, values, motions, generic, needed, "")
    words = _in_words(system, q, found, parameters)
    return Actuation(names, values, motions, generic, needed, words)


def inverse_conditions(motions: Array, acting: Mask, space: MotionSpace) -> Array:
    """Return the inverse condition numbers (n) of actuators for the motions (n, nv, m) of configurations."""
    n, _, m = motions.shape
    s = np.linalg.svd((motions / space.scale[:, None])[:, acting], compute_uv=False)
    if not m:
        return np.ones(n)
    if s.shape[1] < m:
        return np.zeros(n)
    return np.asarray(s[:, m - 1] / np.maximum(s[:, 0], np.finfo(float).tiny))


def _check_closed(system: System, q: Array, t: float, parameters: ParameterValues) -> None:
    residual = np.abs(system.closure_residual(q, t=t, parameters=parameters))
    if (residual > CONSISTENT * np.maximum(system.kernels.closures.closure_lengths, 1.0)).any():
        k = int(residual.argmax())
        raise StateError(
            f"the loops are open at this configuration: {system.closure_rows[k]} is {residual[k]:.3g} off; close them "
            f"with q = system.assemble(q)"
        )


def _controlled(space: MotionSpace, q: Array, acting: Mask) -> tuple[Array, Array]:
    """Return the singular values (m) of (1), zero beyond the number of actuators, and the motions in their order."""
    N = space.basis(q)
    _, s, Vt = np.linalg.svd((N / space.scale[:, None])[acting])
    return np.concatenate([s, np.zeros(max(N.shape[1] - len(s), 0))])[: N.shape[1]], np.asarray(N @ Vt.T)


def _nearby(system: System, space: MotionSpace, q: Array) -> list[Array]:
    """Return closed configurations nearby; comparison with them tells a singular position from a general property."""
    rng, N = np.random.default_rng(0), space.basis(q)
    found = []
    none = np.zeros(space.nv, dtype=bool)
    for _ in range(MOBILITY_SAMPLES if N.shape[1] else 0):
        step = N @ rng.normal(size=N.shape[1])
        step *= SAMPLE_DISTANCE / scale_of(step / space.scale)
        there = system.integrate(q, step)
        if system.kernels.closed:
            there, residual = system.kernels.loops.assembler.close(there, none, space.conditions)
            if residual > CONSISTENT:
                continue
        found.append(there)
    return found


def _in_words(system: System, q: Array, found: Actuation, parameters: ParameterValues) -> str:
    """Say whether the actuators control the mechanism here, and if not, which motion goes on without them."""
    count = len(found.actuators)
    measure = f"smallest singular value {found.smallest:.3g}, inverse condition number {found.inverse_condition:.3g}"
    if not found.needed and not found.motions.shape[1]:
        return "nothing can move here: there is nothing to control"
    if found.too_few:
        motion = motion_in_words(system, q, found.motions[:, -1], parameters)
        kinds = f"{count} actuated freedom{'' if count == 1 else 's'} control{'s' if count == 1 else ''}"
        return (
            f"the mechanism has mobility {found.needed}, and the {kinds} {found.generic} of {found.needed} motions, "
            f"here and around it: name more actuators, or others. With these held, {motion}"
        )
    if found.singular:
        motion = motion_in_words(system, q, found.motions[:, -1], parameters)
        return (
            f"singular position of the actuators: with all of them held, {motion}. They control {found.rank} of "
            f"{found.motions.shape[1]} motions here, and all {found.needed} around it: "
            f"more of the same would not help; move off this position, or act on that motion"
        )
    near = ""
    if found.smallest < NEAR_ACTUATION_SINGULARITY:
        motion = motion_in_words(system, q, found.motions[:, -1], parameters)
        near = f"; it is near a singular position, in which {motion} with all actuators held"
    spare = f", {count - found.needed} more than needed" if count > found.needed else ""
    return f"the actuators control all {found.needed} motions{spare}: {measure}{near}"
