"""Scenes of a system: at one configuration, in a run, in an oscillation of a mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.bodies.body_chains import PART_END
from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.linear.modal_analysis import Mode
from whippletree.model.argument_types import NameLike, PlaceLike
from whippletree.model.description import GROUND, Description, JointUse
from whippletree.model.names import suggestion
from whippletree.results import Trajectory
from whippletree.results.columns import columns
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, shown
from whippletree.system import System
from whippletree.viewer.body_solids import body_solids, own_size
from whippletree.viewer.framing import extreme_points, seen_points, upward
from whippletree.viewer.joint_symbols import joint_axes, joint_solids, slides
from whippletree.viewer.mesh_files import MeshSource
from whippletree.viewer.proportions import FRAMES, LINK, PLOTTED, THICKEST, THINNEST
from whippletree.viewer.scene import (
    GROUND_PLACE,
    Arrow,
    Camera,
    Curve,
    FrameMark,
    JointMark,
    PathMark,
    Scene,
    Skin,
    Solid,
    Strut,
    Track,
)
from whippletree.viewer.scene_colors import UNPAINTED
from whippletree.viewer.tracks import chosen_rows, gone_along, mode_states, track_of
from whippletree.viewer.viewpoints import well_seen

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues

__all__ = ["mode_scene", "run_scene", "still_scene"]

_HANGING = 0.3
"""A body whose middle is lower than its joint by more than this share of its distance hangs on it."""


def still_scene(
    system: System,
    q: Array,
    *,
    parameters: ParameterValues = None,
    paths: Sequence[NameLike] = (),
    title: str | None = None,
    **looks: Any,
) -> Scene:
    """Return the scene of one configuration (nq), or of several (n, nq), one after the other.

    `looks` are `collisions` and `follow`; see `show`.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> still_scene(s, s.q0).title
    'four-bar'
    """
    states = np.atleast_2d(q)
    track = track_of(system, np.arange(len(states)) / 25.0, states, parameters)
    return _Maker(system, parameters, **looks).scene([track], paths, title)


def mode_scene(
    system: System,
    q: Array,
    mode: Mode,
    *,
    parameters: ParameterValues = None,
    paths: Sequence[NameLike] = (),
    title: str | None = None,
    **looks: Any,
) -> Scene:
    """Return the scene of an oscillation of a mode about a configuration.

    >>> from whippletree.system.example_systems import pendulum
    >>> s = pendulum()
    >>> len(mode_scene(s, np.array([np.pi / 2]), s.linearize([np.pi / 2]).modes()[0]).track)
    49
    """
    if not isinstance(mode, Mode) or len(mode.shape) != system.nv:
        raise StateError(f"mode= must be one of the modes of this system's linear model, not {shown(mode)}")
    t, states, scale = mode_states(system, q, mode, parameters)
    words = f"{mode.frequency:.6g} Hz" if mode.kind == "oscillation" else mode.kind
    named = f"{system.description.name}: mode, {words}" if title is None else title
    made = _Maker(system, parameters, **looks).scene([track_of(system, t, states, parameters)], paths, named)
    return replace(made, notes=(*made.notes, f"displacements are those of the mode times {scale:.3g}"))


def run_scene(
    run: Trajectory,
    *,
    beside: Mapping[str, Trajectory] | None = None,
    paths: Sequence[NameLike] = (),
    forces: bool = False,
    plots: Sequence[NameLike] | None = None,
    frames: int = FRAMES,
    title: str | None = None,
    **looks: Any,
) -> Scene:
    """Return the scene of a run; `animate` describes the arguments.

    >>> from whippletree.results.example_runs import swing
    >>> scene = run_scene(swing(), paths=["tip"])
    >>> len(scene.track), [curve.name for curve in scene.curves]
    (11, ['hinge.angle'])
    """
    system = run.replay.system
    shown_run = _picked(run, frames)
    first = None if run.parameters is None else np.atleast_2d(run.parameters)[0]
    tracks = [_run_track(shown_run, "")]
    for label, other in (beside or {}).items():
        if not isinstance(label, str) or not isinstance(other, Trajectory):
            raise StateError(f"beside= maps labels to runs, not {shown(label)} to {shown(other)}")
        if other.replay.system.description.places != system.description.places:
            raise StateError(
                f"the run {shown(label)} is of a mechanism with other bodies, and cannot be shown beside this one"
            )
        tracks.append(_run_track(_picked(other, frames), label))
    made = _Maker(system, first, **looks).scene(tracks, paths, title)
    return replace(made, curves=_curves(shown_run, plots), arrows=_arrows(shown_run, made, system) if forces else ())


def _picked(run: Trajectory, frames: int) -> Trajectory:
    rows = chosen_rows(run, frames)
    if len(rows) == len(run):
        return run
    one = run.replay.picked(rows)
    states: dict[str, Any] = {"q": one.q, "v": one.v, "z": one.z, "efforts": one.efforts, "work": one.work}
    return replace(run, t=one.t, parameters=one.parameters, events=(), **states)


def _run_track(run: Trajectory, label: str) -> Track:
    return track_of(run.replay.system, run.t, run.q, run.parameters, label)


def _curves(run: Trajectory, names: Sequence[NameLike] | None) -> tuple[Curve, ...]:
    """Return the plotted curves: quantities by name, all coordinates if there are few."""
    if names is None:
        names = ["coordinates"] if 0 < len(run.labels.coordinates) <= PLOTTED else []
    found = [columns(run, name) for name in names]
    return tuple(Curve(label.text, label.unit, one.values[:, k]) for one in found for k, label in enumerate(one.labels))


def _arrows(run: Trajectory, scene: Scene, system: System) -> tuple[Arrow, ...]:
    """Return the forces that joints transmit to their children, and those of elements on points of bodies."""
    places, reactions = _numbered(scene.places), run.reactions()
    found = [
        Arrow(use.name, "reaction", places[use.child], _point(use.on_child), reactions[use.name].force)
        for use in _numbers_in(system, run.parameters).joints
        if use.joint.kind != "free"
    ]
    acting = run.forces()
    for use in _numbers_in(system, run.parameters).forces:
        for k, (body, placement) in enumerate(use.sides):
            vectors = acting[use.name].wrenches[:, k, 3:]
            if body != GROUND and np.abs(vectors).max(initial=0.0) > 0:
                found.append(Arrow(use.name, "force", places[body], _point(placement), vectors))
    return tuple(found)


@dataclass(frozen=True)
class _Maker:
    """Makes the scenes of a system, its parameters put in."""

    system: System
    parameters: ParameterValues
    collisions: bool = False
    follow: PlaceLike | None = None

    def scene(self, tracks: Sequence[Track], paths: Sequence[NameLike], title: str | None) -> Scene:
        """Return the scene with these motions."""
        d, plan = _numbers_in(self.system, self.parameters), self.system.plan
        cut = {plan.joint_names[one.joint] for one in plan.cuts}
        places, up = _numbered(d.places), upward([float(x) for x in d.gravity])
        held, seen = _held_points(d), _seen_bodies(d, self.collisions)
        meshes = MeshSource(shape for one in seen.values() for shape in one.shapes)
        unit = _link_radius(d, held, tracks)
        colored = {name: k for k, name in enumerate(d.places)}
        solids = _painted(
            replace(solid, color=colored[name])
            for name, properties in seen.items()
            for solid in body_solids(places[name], properties, held[name], unit, meshes)
        )
        skins = _skins(d, places, unit)
        bare = {frame: body for frame, body in d.moving_frames.items() if places[body] not in {s.place for s in skins}}
        for frame, body in bare.items():
            solids.append(Solid(places[frame], "sphere", (1.7 * unit,), np.eye(4), color=places[body]))
        inner, plain = inner_welds(d), _without_meshes(solids)
        for use in d.joints:
            if meshes.drawn and not {places[use.parent], places[use.child]} <= plain:
                continue
            foot = _foot(d, use, held, tracks[0], up) if use.parent == GROUND else -up
            solids += joint_solids(use, places[use.parent], unit, foot) if use.name not in inner else []
        struts = [*_struts(d, places, unit), *_arms(bare, places, unit)]
        if meshes.drawn:
            struts = [one for one in struts if one.kind != "guide" or {one.first, one.second} <= plain]
        followed = None if self.follow is None else _path(d, places, self.follow, "follow=")
        points = seen_points(solids, struts, tracks, skins)
        framed = points if followed is None else seen_points(solids, struts, gone_along(tracks, followed), skins)
        x, y, z = up.tolist()
        made = Scene(
            title=d.name if title is None else title,
            places=d.places,
            solids=tuple(solids),
            struts=tuple(struts),
            joints=tuple(
                JointMark(
                    use.name,
                    use.joint.kind,
                    places[use.parent],
                    use.on_parent.matrix(),
                    joint_axes(use.joint.kind),
                    use.name in cut,
                )
                for use in d.joints
                if use.name not in inner
            ),
            frames=tuple(FrameMark(one.name, places[one.body], one.placement.matrix()) for one in d.frames),
            tracks=tuple(tracks),
            unit=unit,
            outline=extreme_points(framed),
            floor=float((points @ up).min()) - 0.2 * unit,
            camera=Camera((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (x, y, z)),
            closures=tuple(f"{use.name}: {type(use.closure).__name__.lower()}" for use in d.closures),
            paths=tuple(_path(d, places, name) for name in paths),
            notes=tuple(meshes.notes),
            skins=tuple(skins),
            follow=followed,
        )
        return well_seen(made)


def _seen_bodies(d: Description, collisions: bool) -> dict[str, MassProperties]:
    """Return the rigid bodies with the shapes that are drawn: those for looks, and collision shapes if asked for.

    Where no shape is for looks, those that collide are all there is to see.
    """
    rigid = [body for body in d.bodies if body.kind is None]
    all_of_them = not any(not shape.collides for body in rigid for shape in body.properties.shapes)

    def of(shapes: Sequence[Shape]) -> Iterator[Shape]:
        for one in shapes:
            if all_of_them or collisions or not one.collides:
                yield replace(one, collides=False) if all_of_them else one

    return {body.name: body.properties.drawn_as(tuple(of(body.properties.shapes))) for body in rigid}


def _painted(solids: Iterable[Solid]) -> list[Solid]:
    """Return solids, those grey to which a file gives no colour, if it gives some to others."""
    found = [*solids]
    if not any(one.paint for one in found if one.surface is not None):
        return found
    return [one if one.paint or one.role != "body" else replace(one, paint=UNPAINTED) for one in found]


def _without_meshes(solids: Sequence[Solid]) -> set[int]:
    """Return the places that are drawn, and not by meshes; the ground is one."""
    meshed = {one.place for one in solids if one.surface is not None}
    return {GROUND_PLACE, *(one.place for one in solids)} - meshed


def _skins(d: Description, places: Mapping[str, int], unit: float) -> list[Skin]:
    """Return the skins of flexible bodies, in the order of their coordinates."""
    if all(body.kind is None for body in d.bodies):
        return []
    from whippletree.elements.bodies.flexible import FlexibleBody  # which few mechanisms need
    from whippletree.viewer.skins import skin_of

    wholes = {frame.name for frame in d.frames}
    found = []
    for body in d.bodies:
        if isinstance(body.kind, FlexibleBody):
            whole, _, part = body.name.rpartition(".")
            looks_like = f"{whole}.1" if whole in wholes and part.isdigit() else body.name  # parts have one colour
            found.append(skin_of(body.kind, places[body.name], unit, places.get(looks_like, places[body.name])))
    return [one for one in found if one is not None]


def inner_welds(d: Description) -> set[str]:
    """Return the joints that weld the parts of one body together: they are not drawn.

    >>> from whippletree.model import Mechanism
    >>> inner_welds(Mechanism("m").describe())
    set()
    """
    return {use.name for use in d.joints if use.parent in d.moving_frames and use.parent.endswith(f".{PART_END}")}


def _numbers_in(system: System, parameters: ParameterValues) -> Description:
    """Return the description with its parameters put in: those described, or others by name or in order."""
    d = system.description
    values = system.kernels.inputs.parameters(parameters) if d.parameters else None
    if values is None:
        return d.folded()
    row = np.atleast_2d(system.kernels.inputs.parameter_array(values))[0]
    changed = tuple(replace(one, value=float(x)) for one, x in zip(d.parameters, row, strict=True))
    return replace(d, parameters=changed).folded()


def _numbered(places: Sequence[str]) -> dict[str, int]:
    return {GROUND: GROUND_PLACE, **{name: k for k, name in enumerate(places)}}


def _held_points(d: Description) -> dict[str, list[Array]]:
    """Return the points at which joints, closures and forces hold each place; its frames too, if there is one only."""
    found: dict[str, list[Array]] = {name: [] for name in (GROUND, *d.places)}
    for use in d.joints:
        found[use.parent].append(_point(use.on_parent))
        found[use.child].append(_point(use.on_child))
    for sides in (one.sides for group in (d.closures, d.forces) for one in group):
        for body, placement in sides:
            found[body].append(_point(placement))
    for frame in d.frames:
        found[frame.body].append(_point(frame.placement))
    return found


def _link_radius(d: Description, held: Mapping[str, Sequence[Array]], tracks: Sequence[Track]) -> float:
    """Return the radius of links: a share of the bodies' mean size, within shares of the whole mechanism's extent."""
    sizes = [size for body in d.bodies if (size := own_size(body.properties, held[body.name])) > 0]
    sizes += [float(own) for body in d.bodies if (own := getattr(body.kind, "size", None)) is not None]
    places = np.concatenate([track.positions[:1].reshape(-1, 3) for track in tracks] + [np.zeros((1, 3))])
    whole = max(float(np.linalg.norm(np.ptp(places, axis=0))), max(sizes, default=0.0))
    if not whole > 0:
        return LINK
    mean = float(np.mean(sizes)) if sizes else whole
    return float(np.clip(LINK * mean, THINNEST * whole, THICKEST * whole))


def _foot(d: Description, use: JointUse, held: Mapping[str, Sequence[Array]], track: Track, up: Array) -> Array:
    """Return on which side of a joint on the ground its support is: below it, or above if the body hangs down."""
    if slides(use.joint.kind):
        return -up
    body = d.body_of(use.child)
    own = [*held[body], _vector(d.body(body).properties.com)]
    pose = track.pose(0, d.places.index(body))
    points = [pose[:3, :3] @ point + pose[:3, 3] for point in own]
    points += [track.positions[0, d.places.index(frame)] for frame, owner in d.moving_frames.items() if owner == body]
    reach = np.mean(points, axis=0) - _point(use.on_parent)
    return up if reach @ up < -_HANGING * np.linalg.norm(reach) else -up


_THICKNESS = {"rod": 0.55, "spring": 1.5}
"""Thickness of springs, rods and the like between two sides, as a share of the unit of a scene."""


def _struts(d: Description, places: Mapping[str, int], unit: float) -> list[Strut]:
    """Return the struts between places: rods, springs, guides of sliding joints."""
    found = []
    for use in d.joints:
        if slides(use.joint.kind):
            ends = ((use.parent, use.on_parent), (use.child, use.on_child))
            found.append(_strut("guide", use.name, ends, places, 0.5 * unit))
    held = [(used.name, used.sides, used.closure.drawn) for used in d.closures]
    for name, sides, drawn in (*held, *((used.name, used.sides, used.force.drawn) for used in d.forces)):
        if drawn and len(sides) >= 2:
            found.append(_strut(drawn, name, sides[:2], places, _THICKNESS[drawn] * unit))
    return found


def _arms(frames: Mapping[str, str], places: Mapping[str, int], unit: float) -> list[Strut]:
    """Return the beams from bodies to their moving frames."""
    here = Placement.identity()
    return [
        replace(_strut("beam", frame, ((body, here), (frame, here)), places, unit), color=places[body])
        for frame, body in frames.items()
    ]


def _strut(
    kind: str, name: str, sides: Sequence[tuple[str, Placement]], places: Mapping[str, int], radius: float
) -> Strut:
    (first, on_first), (second, on_second) = sides
    return Strut(kind, name, places[first], _point(on_first), places[second], _point(on_second), radius)


def _path(d: Description, places: Mapping[str, int], name: NameLike, what: str = "paths=") -> PathMark:
    """Return a point that is named: the origin of a body or frame."""
    text, frames = getattr(name, "name", name), {one.name: one for one in d.frames}
    if isinstance(text, str) and text in frames:
        return PathMark(text, places[frames[text].body], _point(frames[text].placement))
    if not isinstance(text, str) or text not in places or text == GROUND:
        known = [*d.places, *frames]
        raise StateError(f"{what} names bodies and frames, and there is none called {suggestion(text, known)}")
    return PathMark(text, places[text], np.zeros(3))


def _point(placement: Placement) -> Array:
    return _vector(placement.point)


def _vector(entries: Sequence[Scalar]) -> Array:
    return np.array([float(x) for x in entries])
