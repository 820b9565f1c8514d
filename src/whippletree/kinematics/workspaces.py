"""Where a frame can get: over a grid of inputs, or over a grid of poses, with a measure of how well it moves there.

A grid is gone through outward from its point nearest to where the mechanism is: each point starts from a neighbour that
has been reached, so that the whole map is of one branch. All points at the rim are solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.arrays import FilePath, Indices
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.kinematics.actuation import inverse_conditions
from whippletree.kinematics.following import InputPath, check_vector
from whippletree.kinematics.given_numbers import given_numbers
from whippletree.kinematics.inverse_kinematics import PoseSolver
from whippletree.kinematics.kinematic_tolerances import IK_REACHED, NEIGHBOUR, NO_MOTION, TOGETHER
from whippletree.kinematics.pose_targets import read_targets
from whippletree.model.argument_types import Freedoms, JointValues, PlaceLike
from whippletree.results.output_files import new_file
from whippletree.results.plot_files import new_figure, write_figure
from whippletree.spatial.scalars import shown
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.tolerances import CLOSED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["Workspace", "workspace"]

Nodes = Indices
Solve = Callable[[Nodes, Array], tuple[Array, Mask]]
"""Solves grid points, by their numbers, from configurations beside them; returns these, and where it could."""


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class Workspace:
    """Where a frame can get: `System.workspace`.

    Arrays have the shape of the grid. `points` (..., 3) are where the frame is, or is wanted, `q` (..., nq) the
    configurations, NaN where there is none, and `reached` tells where there is one. `conditioning` is that of the
    actuators: the inverse condition number of their rates over the motions, from 0, singular, to 1. `dexterity` is that
    of the frame's origin over the actuators' rates: 0 where it cannot move one way, 1 where all ways are alike.

    >>> found = workspace(four_bar(), "coupler", {"A": np.linspace(0.8, 1.2, 5)})
    >>> found.points.shape, bool(found.reached.all())
    ((5, 3), True)
    """

    frame: str
    points: Array
    q: Array
    reached: Mask
    conditioning: Array
    dexterity: Array

    def __str__(self) -> str:
        inside = self.points[self.reached]
        lines = [f'"{self.frame}" reaches {len(inside)} of {self.reached.size} points of the grid']
        if len(inside):
            spans = zip("xyz", inside.min(axis=0), inside.max(axis=0), strict=True)
            lines.append(", ".join(f"{axis} from {low:.4g} to {high:.4g} m" for axis, low, high in spans))
        return "\n".join(lines)

    def plot(self, axes: str = "", *, colour: str = "conditioning", path: FilePath | None = None) -> Figure:
        """Draw the points in a plane of the ground ("xz"; that in which they lie widest unless given), coloured by
        "conditioning" or "dexterity"; points that are not reached are small and grey. `path` writes it to a file.

        >>> figure = workspace(four_bar(), "coupler", {"A": [0.8, 1.2]}).plot("xz")  # doctest: +SKIP
        """
        return _plotted(self, axes, colour, path)


@user_facing
def workspace(
    system: System,
    frame: PlaceLike,
    inputs: Mapping[Any, ArrayLike] | None = None,
    *,
    poses: ArrayLike | None = None,
    actuators: Freedoms | None = None,
    start: JointValues = None,
    hold: Freedoms | None = None,
    limits: bool = True,
    t: float = 0.0,
    parameters: ParameterValues = None,
) -> Workspace:
    """Map where a frame can get: over a grid of `inputs`, joints with the values they take, or of `poses`.

    `poses=` is a grid of poses (..., 4, 4) or positions (..., 3) of the frame. The whole map is of the branch that
    `start` is on (`q0` by default). Options: `actuators`, whose conditioning is wanted (the inputs by default);
    `hold`, `limits=False`, `t`, `parameters` as for `inverse_kinematics`. See `whippletree.kinematics`.

    >>> from whippletree.system.example_systems import four_bar
    >>> workspace(four_bar(), "coupler", {"A": np.linspace(0.5, 1.5, 11)}).points.shape
    (11, 3)
    """
    if (inputs is None) == (poses is None):
        raise StateError("give either inputs, a mapping from joints to values, or poses= of the frame")
    name = system.kernels.inputs.place_name(frame)
    plain = start is None and parameters is None and t == 0.0
    q = system.q0 if plain else system.assemble(system.q0 if start is None else start, t=t, parameters=parameters)
    held = system.kernels.inputs.freedoms(hold, "hold")
    if inputs is not None:
        freedoms, grid = _input_grid(system, inputs)
        path = InputPath(system, freedoms, held, t, parameters)
        nodes = grid.reshape(-1, len(freedoms))
        first = int(np.linalg.norm((nodes - q[path.places]) / path.space.scale[freedoms], axis=1).argmin())
        found = _march(grid.shape[:-1], first, q, _by_inputs(path, nodes))
        acting = np.zeros(system.nv, dtype=bool)
        acting[freedoms] = True
        points = np.full((len(nodes), 3), np.nan)
    else:
        assert poses is not None
        shape, points = _pose_grid(poses)
        wanted = given_numbers(poses, "poses=")
        wanted = wanted.reshape(len(points), *wanted.shape[len(shape) :])
        targets, _ = read_targets(system, {name: wanted}, None, parameters)
        solver = PoseSolver(system, targets, hold, limits, t, parameters, None)
        first = int(np.linalg.norm(points - system.pose(q, name, parameters=parameters)[:3, 3], axis=1).argmin())
        found = _march(shape, first, q, _by_poses(solver))
        acting = np.zeros(system.nv, dtype=bool)
        grid = points.reshape(*shape, 3)
    if actuators is not None:
        acting = system.kernels.inputs.freedoms(actuators, "actuators")
    return _mapped(system, name, grid.shape[:-1], found, points, acting, held, t, parameters)


def _mapped(
    system: System, name: str, shape: tuple[int, ...], q: Array, points: Array, acting: Mask, held: Mask, t: float,
    parameters: ParameterValues,
) -> Workspace:  # fmt: skip
    """Return the map of configurations (n, nq) with their measures."""
    reached = np.isfinite(q).all(axis=1)
    if reached.any():
        points[reached] = system.pose(q[reached], name, parameters=parameters)[:, :3, 3]
    conditioning, dexterity = np.full((2, len(q)), np.nan)
    if acting.any():
        path = InputPath(system, np.flatnonzero(acting).tolist(), held, t, parameters)
        conditioning[reached], dexterity[reached] = _measures(system, name, q[reached], path, parameters)
    return Workspace(
        name,
        points.reshape(*shape, 3),
        q.reshape(*shape, -1),
        reached.reshape(shape),
        conditioning.reshape(shape),
        dexterity.reshape(shape),
    )


def _measures(system: System, name: str, q: Array, path: InputPath, parameters: ParameterValues) -> tuple[Array, Array]:
    """Return two inverse condition numbers (n) of configurations: of the actuators over the mechanism's motions, and of
    the velocity of a frame's origin over the actuators' rates.
    """
    space, acting = path.space, np.zeros(system.nv, dtype=bool)
    acting[path.inputs] = True
    conditioning = np.zeros(len(q))
    rates = np.full((len(q), system.nv, len(path.inputs)), np.nan)
    for first in range(0, len(q), TOGETHER):
        for which, motions in space.bases(q[first : first + TOGETHER]):
            conditioning[first + which] = inverse_conditions(motions, acting, space)
            rates[first + which] = path.ratios_of(motions)
    dexterity = np.zeros(len(q))
    good = np.flatnonzero(np.isfinite(rates).all(axis=(1, 2)))
    if not good.size:
        return conditioning, dexterity
    J = system.jacobian(q[good], name, parameters=parameters)[:, 3:] @ (rates[good] * space.scale[path.inputs])
    s = np.linalg.svd(J, compute_uv=False)
    most = s[:, 0]
    rank = int((s > NO_MOTION * most[:, None]).sum(axis=1).max())
    if rank:
        dexterity[good] = s[:, rank - 1] / np.where(most > 0, most, 1.0)
    return conditioning, dexterity


# ---------------------------------------------------------------------- grids


def _input_grid(system: System, inputs: Mapping[Any, ArrayLike]) -> tuple[list[int], Array]:
    """Return the freedoms that are varied, and their values (..., k) on a grid."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise StateError("inputs must map joints, or (joint, index) pairs, to the values that they take")
    freedoms, axes = [], []
    for key, values in inputs.items():
        chosen = np.flatnonzero(system.kernels.inputs.freedoms([key], "inputs"))
        numbers = given_numbers(values, f"values of input {shown(key)}")
        if len(chosen) != 1 or numbers.ndim != 1 or not numbers.size:
            raise StateError(f"input {shown(key)} must be one freedom, with a list of values")
        freedoms.append(int(chosen[0]))
        check_vector(system, freedoms[-1])
        axes.append(numbers)
    return freedoms, np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def _pose_grid(poses: ArrayLike) -> tuple[tuple[int, ...], Array]:
    """Return the shape of a grid of poses (..., 4, 4) or positions (..., 3), and the positions (n, 3)."""
    numbers = given_numbers(poses, "poses=")
    if numbers.shape[-2:] == (4, 4) and numbers.ndim > 2:
        return numbers.shape[:-2], numbers[..., :3, 3].reshape(-1, 3).copy()
    if numbers.ndim > 1 and numbers.shape[-1] == 3:
        return numbers.shape[:-1], numbers.reshape(-1, 3).copy()
    raise StateError("poses= must be a grid of poses (..., 4, 4) or of positions (..., 3)")


def _march(shape: tuple[int, ...], first: int, q: Array, solve: Solve) -> Array:
    """Solve the points of a grid outward from one of them; return configurations (n, nq), NaN where there is none."""
    count = int(np.prod(shape))
    found = np.full((count, len(q)), np.nan)
    start, done = solve(np.array([first]), q[None])
    if not done[0]:
        return found
    found[first] = start[0]
    rim = np.array([first])
    while rim.size:
        pairs = {int(node): int(parent) for parent in rim for node in _neighbours(int(parent), shape)
                 if np.isnan(found[node, 0])}  # fmt: skip
        if not pairs:
            break
        nodes, parents = np.array(list(pairs)), np.array(list(pairs.values()))
        there, fine = solve(nodes, found[parents])
        found[nodes[fine]] = there[fine]
        rim = nodes[fine]
    return found


def _neighbours(node: int, shape: tuple[int, ...]) -> Iterator[int]:
    """Yield the numbers of the grid points beside one.

    >>> sorted(_neighbours(4, (3, 3)))
    [1, 3, 5, 7]
    """
    at = np.unravel_index(node, shape)
    for axis, size in enumerate(shape):
        for step in (-1, 1):
            if 0 <= at[axis] + step < size:
                yield int(np.ravel_multi_index([*at[:axis], at[axis] + step, *at[axis + 1 :]], shape))


def _by_inputs(path: InputPath, nodes: Array) -> Solve:
    """Return a solver that sets inputs to their values at grid points and closes the loops."""

    def solve(which: Nodes, beside: Array) -> tuple[Array, Mask]:
        if len(which) == 1:
            one = path.follow(beside[0], nodes[which[0]])
            return one.q[None], np.array([one.arrived])
        start = beside.copy()
        start[:, path.places] = nodes[which]
        if path.closer is None:
            return start, np.ones(len(which), dtype=bool)
        there, worst = path.closer.close(start, path.held)
        moved = np.abs(path.system.difference(start, there) / path.space.scale).max(axis=1, initial=0.0)
        return there, (worst <= max(CLOSED, path.closer.assembler.numbers.accuracy)) & (moved < NEIGHBOUR)

    return solve


def _by_poses(solver: PoseSolver) -> Solve:
    """Return a solver that brings the frame to the poses of grid points."""

    def solve(which: Nodes, beside: Array) -> tuple[Array, Mask]:
        there, error = solver.nearest(beside, which)
        moved = np.abs(solver.system.difference(beside, there) / solver.scale).max(axis=1, initial=0.0)
        return there, (error <= IK_REACHED) & ((moved < NEIGHBOUR) | (len(which) == 1))

    return solve


def _plotted(space: Workspace, axes: str, colour: str, path: FilePath | None) -> Figure:
    """Return a figure of the points in a plane, and write it if a path is given."""
    place = None if path is None else new_file(path)
    points, reached = space.points.reshape(-1, 3), space.reached.ravel()
    if not reached.any():
        raise StateError(f'"{space.frame}" reaches no point of the grid: there is nothing to draw')
    if axes and not (len(axes) == 2 and set(axes) <= set("xyz") and len(set(axes)) == 2):
        raise StateError(f'axes must be two of x, y and z, such as "xz", not {axes!r}')
    if colour not in ("conditioning", "dexterity"):
        raise StateError(f'colour must be "conditioning" or "dexterity", not {colour!r}')
    spans = np.ptp(points[reached], axis=0)
    across, up = ("xyz".index(a) for a in axes) if axes else sorted(np.argsort(spans, kind="stable")[-2:].tolist())
    values = getattr(space, colour).ravel()
    wide, high = np.ptp(points[np.isfinite(points).all(axis=1)], axis=0)[[across, up]]
    height = 1.4 + 5.2 * float(np.clip(high / max(wide, 1e-12), 0.3, 1.3))
    figure = new_figure((7.2, height), place)
    drawn = figure.subplots()
    missed = points[~reached]
    missed = missed[np.isfinite(missed).all(axis=1)]
    drawn.scatter(missed[:, across], missed[:, up], s=4, color="0.85", zorder=0)
    shades = values[reached] if np.isfinite(values[reached]).any() else None
    dots = drawn.scatter(points[reached][:, across], points[reached][:, up], s=12, c=shades, cmap="viridis", vmin=0.0)
    if shades is not None:
        figure.colorbar(dots, label=colour)
    drawn.set_aspect("equal")
    drawn.set_xlabel(f"{'xyz'[across]} [m]")
    drawn.set_ylabel(f"{'xyz'[up]} [m]")
    drawn.set_title(f'where "{space.frame}" can get')
    if place is not None:
        write_figure(figure, place)
    return figure
