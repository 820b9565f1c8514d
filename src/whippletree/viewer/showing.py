"""What `Mechanism.show`, `System.show` and `Trajectory.animate` do; with `opened=False` no browser is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.errors import StateError
from whippletree.results import Trajectory
from whippletree.results.columns import names
from whippletree.spatial.scalars import number, shown, truth
from whippletree.system import System
from whippletree.viewer.proportions import FRAMES
from whippletree.viewer.scene_view import SceneView
from whippletree.viewer.scenes import mode_scene, run_scene, still_scene

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues

__all__ = ["animate", "show", "show_mechanism"]


def show_mechanism(mechanism: Any, path: Any, options: Mapping[str, Any]) -> SceneView:
    """Show a mechanism where it is assembled; see `Mechanism.show`."""
    building = {key: options[key] for key in ("guess", "hold", "cut", "accuracy") if key in options}
    system = mechanism.build(**building)
    return show(system, None, path, **{key: value for key, value in options.items() if key not in building})


def show(
    system: System,
    q: Any = None,
    path: Any = None,
    *,
    mode: Any = None,
    parameters: ParameterValues = None,
    paths: Any = (),
    title: Any = None,
    opened: bool = True,
) -> SceneView:
    """Show a system at a configuration, or at several one after the other, or in a mode; see `System.show`."""
    inputs = system.kernels.inputs
    states = system.q0 if q is None else system.coordinates(q) if isinstance(q, Mapping) else inputs.configurations(q)
    if states.ndim > 2 or len(np.atleast_2d(states)) == 0 or not np.isfinite(states).all():
        raise StateError("show() takes one configuration (nq) of finite numbers, or several (n, nq)")
    options: dict[str, Any] = {
        "parameters": inputs.parameter_set(parameters),
        "paths": names(paths),
        "title": _title(title),
    }
    if mode is None:
        return SceneView(still_scene(system, states, **options)).shown(path, opened=opened)
    if states.ndim != 1:
        raise StateError("a mode is shown about one configuration (nq)")
    return SceneView(mode_scene(system, states, mode, **options)).shown(path, opened=opened)


def animate(
    run: Trajectory,
    path: Any = None,
    *,
    beside: Mapping[str, Trajectory] | None = None,
    paths: Any = (),
    forces: Any = False,
    plots: Any = None,
    frames: Any = FRAMES,
    speed: Any = 1.0,
    title: Any = None,
    opened: bool = True,
) -> SceneView:
    """Show a run; see `Trajectory.animate`."""
    if not isinstance(beside, Mapping | None):
        raise StateError(f"beside= maps labels to runs, and is not {shown(beside)}")
    if not isinstance(frames, int | np.integer) or isinstance(frames, bool) or frames < 2:
        raise StateError(f"frames= must be a whole number above one, not {shown(frames)}")
    plotted: Sequence[Any] | None = None if plots is None else names(plots)
    scene = run_scene(
        run,
        beside=beside,
        paths=names(paths),
        forces=truth(forces, "forces="),
        plots=plotted,
        frames=int(frames),
        title=_title(title),
    )
    return SceneView(scene, speed=_speed(speed)).shown(path, opened=opened)


def _title(title: Any) -> str | None:
    if title is not None and not isinstance(title, str):
        raise StateError(f"title= must be text, not {shown(title)}")
    return title


def _speed(speed: Any) -> float:
    found = number(speed, "speed=")
    if not found > 0:
        raise StateError(f"speed= must be above zero, not {found:g}")
    return found
