"""Pictures of mechanisms, systems and runs for `show` and `animate`; with `opened=False` no browser is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.user_frames import user_facing
from whippletree.model import Mechanism
from whippletree.model.argument_types import JointValues, NameLike, Names, PlaceLike
from whippletree.results import Trajectory
from whippletree.results.columns import names
from whippletree.spatial.scalars import number, shown, truth
from whippletree.system import System
from whippletree.viewer.proportions import FRAMES
from whippletree.viewer.scene_view import SceneView
from whippletree.viewer.scenes import mode_scene, run_scene, still_scene

if TYPE_CHECKING:
    from whippletree.linear.modal_analysis import Mode
    from whippletree.system.evaluator import ParameterValues

__all__ = ["animate", "show", "show_mechanism"]


@user_facing
def show_mechanism(mechanism: Mechanism, /, path: FilePath | None = None, **options: Any) -> SceneView:
    """Show the mechanism where it was last built, or where a build would start: in a notebook, a browser, or a file.

    `path` ends in .html, .png or .glb. Options are `guess`, `hold`, `cut` and `accuracy` as for `build`, and those
    of `System.show`.
    """
    given = {key: options[key] for key in ("guess", "hold", "cut", "accuracy") if key in options}
    building = mechanism.built_with | given
    system = mechanism.build(**building)
    return show(system, None, path, **{key: value for key, value in options.items() if key not in given})


@user_facing
def show(
    system: System,
    q: JointValues = None,
    path: FilePath | None = None,
    *,
    mode: Mode | None = None,
    parameters: ParameterValues = None,
    paths: Names = (),
    title: str | None = None,
    collisions: bool = False,
    follow: PlaceLike | None = None,
    opened: bool = True,
) -> SceneView:
    """Show a configuration (nq) or by joint, `q0` unless given: in a notebook, a browser, or written to a path.

    Several configurations (n, nq) are shown one after the other. `path` ends in .html, .png, .gif or .glb. Options:
    `mode`, one of the modes of `linearize(q).modes()`, which is shown as an oscillation about q; `paths`, bodies
    and frames whose path is drawn; `collisions=True`, to see what collides, translucent; `follow`, a body or frame with
    which the camera goes along; `parameters`, `title`; `opened=False`, to open no browser. See docs/how_to/viewer.md.

    >>> from whippletree.system.example_systems import four_bar
    >>> view = four_bar().show({"A": 1.0}, opened=False)
    """
    inputs = system.kernels.inputs
    states = system.q0 if q is None else system.configuration(q) if isinstance(q, Mapping) else inputs.configurations(q)
    if states.ndim > 2 or len(np.atleast_2d(states)) == 0 or not np.isfinite(states).all():
        raise StateError("show() takes one configuration (nq) of finite numbers, or several (n, nq)")
    options: dict[str, Any] = {
        "parameters": inputs.parameter_set(parameters),
        "paths": names(paths),
        "title": _title(title),
        "collisions": truth(collisions, "collisions="),
        "follow": follow,
    }
    if mode is None:
        return SceneView(still_scene(system, states, **options)).shown(path, opened=opened)
    if states.ndim != 1:
        raise StateError("a mode is shown about one configuration (nq)")
    return SceneView(mode_scene(system, states, mode, **options)).shown(path, opened=opened)


@user_facing
def animate(
    run: Trajectory,
    path: FilePath | None = None,
    *,
    beside: Mapping[str, Trajectory] | None = None,
    paths: Names = (),
    forces: bool = False,
    plots: Names | None = None,
    frames: int = FRAMES,
    speed: float = 1.0,
    title: str | None = None,
    collisions: bool = False,
    follow: PlaceLike | None = None,
    opened: bool = True,
) -> SceneView:
    """Show the run as a moving picture: in a notebook, in a browser, or written to a path.

    `path` ends in .html (a page that holds everything and opens offline), .gif, .png (its start) or .glb (glTF).
    Options: `paths`, bodies and frames whose path is drawn; `forces=True`, arrows of the joints' reactions and of
    force elements; `plots`, quantities as for `plot`, drawn beside the scene; `beside`, other runs of the same
    mechanism by label, drawn translucent; `frames`, how many outputs are shown at most; `speed`, of a GIF;
    `follow`, a body or frame with which the camera goes along; `collisions=True`, to see what collides; `title`;
    `opened=False`, to open no browser. See docs/how_to/viewer.md.
    """
    if not isinstance(beside, Mapping | None):
        raise StateError(f"beside= maps labels to runs, and is not {shown(beside)}")
    if not isinstance(frames, int | np.integer) or isinstance(frames, bool) or frames < 2:
        raise StateError(f"frames= must be a whole number above one, not {shown(frames)}")
    plotted: Sequence[NameLike] | None = None if plots is None else names(plots)
    scene = run_scene(
        run,
        beside=beside,
        paths=names(paths),
        forces=truth(forces, "forces="),
        plots=plotted,
        frames=int(frames),
        title=_title(title),
        collisions=truth(collisions, "collisions="),
        follow=follow,
    )
    return SceneView(scene, speed=_speed(speed)).shown(path, opened=opened)


def _title(title: str | None) -> str | None:
    if title is not None and not isinstance(title, str):
        raise StateError(f"title= must be text, not {shown(title)}")
    return title


def _speed(speed: float) -> float:
    found = number(speed, "speed=")
    if not found > 0:
        raise StateError(f"speed= must be above zero, not {found:g}")
    return found
