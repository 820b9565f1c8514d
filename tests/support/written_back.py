"""A model beside what is read back of it from a file that was written: how far apart their dynamics are."""

from __future__ import annotations

import importlib.util
import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

import whippletree as wt
from support.file_owners import mujoco_differences, pinocchio_differences
from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import Fixed, Free
from whippletree.files.start_gaps import joint_motion
from whippletree.files.writable_model import WritableJoint, WritableModel
from whippletree.model.description import GROUND, Description

__all__ = ["ACCURACY", "FORMATS", "Seen", "Written", "difference", "numbers_of", "written_back"]

ACCURACY = 1e-12
"""To what dynamics are equal, relative to the largest entry."""

ILL_CONDITIONED = 1e-9
"""What last digits move more than that tells nothing, and is not compared by them."""

FORMATS = {"YAML": ".yaml", "URDF": ".urdf", "SDF": ".sdf", "MJCF": ".xml"}


@dataclass
class Written:
    """What became of a model in a format: how far off it is, or why it is not held."""

    format: str
    off: float = np.nan
    lacking: tuple[str, ...] = ()
    mechanics: dict[str, float] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)
    last_digits: dict[str, float] = field(default_factory=dict)

    @property
    def is_equal(self) -> bool:
        """Whether all is equal to 1e-12, or to what the last digits of the model's own numbers decide."""
        decided = {key: off for key, off in self.last_digits.items() if off < ILL_CONDITIONED}
        return all(off <= max(ACCURACY, decided.get(key, 0.0)) for key, off in self.mechanics.items())


def written_back(
    model: wt.Model,
    folder: Path,
    formats: dict[str, str] = FORMATS,
    *,
    states: int = 3,
    dynamics: bool = True,
    owners: bool = False,
) -> list[Written]:
    """Write a model in each format that holds it, read it back and compare: dynamics, or what they follow from.

    With `owners`, what MuJoCo and Pinocchio make of the same files is compared, too.
    """
    found, one = list[Written](), None
    for name, suffix in formats.items():
        path = folder / f"written{suffix}"
        try:
            wt.write(model, path)
        except wt.FileError as error:
            what = str(error).partition("cannot hold ")[2] or str(error)
            assert name == "YAML" or "cannot hold" in str(error), error
            assert not path.exists(), "something was written all the same"
            found.append(Written(name, lacking=tuple(what.split("; "))))
            continue
        again = wt.read(path)
        outside = beside_owners(path, again) if owners else {}
        path.unlink()
        if not dynamics:
            mechanics = apart(numbers_of(model), numbers_of(again))
        else:
            one = one or Seen(model)
            mechanics = difference(one, Seen(again, one), states)
        written = Written(name, max(mechanics.values(), default=0.0), mechanics=mechanics, outside=outside)
        if one is not None and not written.is_equal:
            written.last_digits = by_last_digits(one, folder, states)
        found.append(written)
    return found


def by_last_digits(one: Seen, folder: Path, states: int) -> dict[str, float]:
    """How far a model's dynamics move if every number of it moves by one unit in its last digit, up or down.

    That is its condition: where accelerations move by more than 1e-12, as of two small bodies far apart that turn about
    the line between them, no file can hold them better.
    """
    path, found = folder / "moved.yaml", dict[str, float]()
    wt.write(one.model, path)
    numbers = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    for seed in range(3):
        path.write_text(json.dumps(moved(numbers, np.random.default_rng(seed))), encoding="utf-8")
        for key, off in difference(one, Seen(wt.read(path), one), states).items():
            found[key] = max(found.get(key, 0.0), off)
    path.unlink()
    return found


def moved(value: Any, rng: np.random.Generator) -> Any:
    """Numbers within lists and dictionaries, each moved by one unit in its last digit; not those that are zero."""
    if isinstance(value, dict):
        return {key: moved(one, rng) for key, one in value.items()}
    if isinstance(value, list):
        return [moved(one, rng) for one in value]
    if isinstance(value, float) and value:
        return float(np.nextafter(value, rng.choice([-np.inf, np.inf])))
    return value


def apart(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> dict[str, float]:
    """How far numbers are apart, for each thing that either has."""
    found = {}
    for key in {**one, **other}:
        if key not in one or key not in other or one[key].shape != other[key].shape:
            found[key] = np.inf
            continue
        same = one[key] == other[key]  # also what is infinite
        off = np.abs(np.where(same, 0.0, one[key] - np.where(same, 0.0, other[key])))
        found[key] = float(np.where(same, 0.0, off).max(initial=0.0)) / max(
            1.0, float(np.abs(other[key][np.isfinite(other[key])]).max(initial=0.0))
        )
    return {key: value for key, value in found.items() if value > 0.0}


def beside_owners(path: Path, model: wt.Model) -> dict[str, float]:
    """How far a file that was written is from what the library that owns its format makes of it, if it is here."""
    owner = {".xml": ("mujoco", mujoco_differences), ".urdf": ("pinocchio", pinocchio_differences)}.get(path.suffix)
    if owner is None or importlib.util.find_spec(owner[0]) is None:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(owner[1](path, model))


class Seen:
    """A model with its system; what has coordinates is found by the names of another model, and starts where that does.

    Floating joints are found by what floats, since not all formats have names for them.
    """

    def __init__(self, model: wt.Model, like: Seen | None = None) -> None:
        self.model, self._calls = model, {}
        d = model.mechanism.describe()
        self.looped = bool(d.closures) or len(d.joints) > len(d.bodies)
        self.names = self._names(d, d if like is None else like.model.mechanism.describe())
        guess = {}
        if like is not None:
            closing = {use.name for use in d.joints[len(d.bodies) :]}
            for name, own in self.names.items():
                q = like.system.q0[like.system.q_slice(name)]
                if own not in closing:
                    guess[own] = float(q[0]) if len(q) == 1 else tuple(q)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.system = model.build(guess=guess) if self.looped and guess else model.build()

    @staticmethod
    def _names(own: Description, wanted: Description) -> dict[str, str]:
        known = {use.name for use in own.coordinate_owners if use.joint.nv}
        floating = {use.child.removesuffix(" link"): use.name for use in own.joints if isinstance(use.joint, Free)}
        found = {}
        for use in wanted.coordinate_owners:
            name = floating.get(use.child, use.name) if isinstance(use.joint, Free) else use.name
            if name in known:
                found[use.name] = name
        return found

    def matrix(self, q: np.ndarray, controls: dict[str, float]) -> np.ndarray:
        M = self._value("mass_matrix", {"q": q}, controls)
        return M.reshape(self.system.nv, self.system.nv)

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, controls: dict[str, float]) -> np.ndarray:
        return self._value("forward_dynamics", {"q": q, "v": v, "tau": tau}, controls)

    def _value(self, name: str, given: dict[str, np.ndarray], controls: dict[str, float]) -> np.ndarray:
        if name not in self._calls:
            self._calls[name] = self.system.function(name)
        call = self._calls[name]
        values = [controls.get(p.name, p.value) for p in self.model.mechanism.describe().parameters]
        known = {**given, "parameters": values}
        return np.array(call(*(known.get(key, 0.0) for key in call.name_in()))).ravel()

    def slices(self, names: list[str], kind: str) -> np.ndarray:
        find = self.system.q_slice if kind == "q" else self.system.v_slice
        return np.concatenate(
            [np.arange(s.start, s.stop) for s in (find(self.names[n]) for n in names)] or [[]]
        ).astype(int)


def difference(one: Seen, other: Seen, states: int = 3) -> dict[str, float]:
    """How far mass matrix and accelerations are apart at random states, relative to the largest entry."""
    names = [*other.names]
    q1, v1 = (one.slices(names, kind) for kind in "qv")
    q2, v2 = (other.slices(names, kind) for kind in "qv")
    found = {"mass matrix": 0.0, "under gravity": 0.0, "accelerations": 0.0}
    rng = np.random.default_rng(11)
    controls = {p.name: p.value or 0.7 for p in one.model.mechanism.describe().parameters}
    for number in range(states):
        q, v = state(one, rng)
        if number == 0:
            v = np.zeros_like(v)
        tau = np.zeros(one.system.nv)
        tau[v1] = rng.normal(size=len(v1))  # a joint that only one of them has gets none
        qb, vb, tb = np.array(other.system.q0), np.zeros(other.system.nv), np.zeros(other.system.nv)
        qb[q2], vb[v2], tb[v2] = q[q1], v[v1], tau[v1]
        M, N = (one.matrix(q, controls), other.matrix(qb, controls))
        found["mass matrix"] = max(found["mass matrix"], relative(N[np.ix_(v2, v2)], M[np.ix_(v1, v1)]))
        driven = 0.0 if number == 0 else 1.0
        a = one.accelerations(q, v, driven * tau, controls)
        b = other.accelerations(qb, vb, driven * tb, controls)
        key = "under gravity" if number == 0 else "accelerations"
        found[key] = max(found[key], relative(b[v2], a[v1]))
    return found


def relative(one: np.ndarray, other: np.ndarray) -> float:
    """How far numbers are from others; where these are none, as of a mass matrix that is singular, it is zero."""
    if not other.size or not np.isfinite(other).all():
        return 0.0
    off = float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-9))
    return off if np.isfinite(off) else np.inf


def numbers_of(model: wt.Model) -> dict[str, np.ndarray]:
    """What a model is made of, told without any dynamics and independent of where bodies have their frames.

    Masses, centres and inertias in the ground frame at certain coordinates of the tree, of bodies that are welded
    together in one (a writer may give all of it to the first of them); the frames there of what closes loops, what acts
    on joints, couplings and laws.
    """
    whole, found = WritableModel.of(model, "a test", Path()), {}
    welded, first = dict[str, MassProperties](), {GROUND: GROUND}
    for entry in whole.tree.values():
        joint, name = entry.use.joint, entry.use.name
        if isinstance(joint, Free):
            name = f"what carries {entry.use.child.removesuffix(' link')}"
        elif joint.nv:
            found[f"on {name}"] = np.array([*acting(entry), *bounds(entry)])
        q = np.random.default_rng([*name.encode()]).uniform(-1.0, 1.0, size=joint.nq)
        if joint.nq > joint.nv:
            q[:4] /= np.linalg.norm(q[:4])
        entry.start = tuple(q) if joint_motion(joint, [1.0] * joint.nq) is not None else ()
    poses = whole.poses(whole.tree)
    for body in whole.bodies():
        use, pose = whole.entry_of(body.name).use, poses[body.name]
        group = first[body.name] = first[use.parent] if isinstance(use.joint, Fixed) else body.name
        seen = body.properties.drawn_as(()).moved(at=pose.point, rotation=pose.rotation)
        welded[group] = welded.get(group, MassProperties()) + seen
    for group, p in welded.items():
        if p.mass:
            found[f"body {group.removesuffix(' link')}"] = np.array([float(x) for x in p.entries()])
    for entry in whole.closing:
        use = entry.use
        for body, pose in ((use.parent, use.on_parent), (use.child, use.on_child)):
            frame = poses[body] @ pose
            axis = [row[2] for row in frame.rotation] if use.joint.nv == 1 else []
            found[f"loop {use.name} on {body.removesuffix(' link')}"] = np.array([*map(float, frame.point), *axis])
    for one in whole.couplings:
        joints = sorted(one.ratios)
        row = np.array([*(one.ratios[joint] for joint in joints), one.offset])
        found[f"coupling of {joints}"] = row / row[0]
    for one in whole.polynomials:
        found[f"polynomial of {one.joint} and {one.leader}"] = np.array(one.powers)
    for law in whole.laws:
        found[f"law on {[*law.ratios]}"] = np.array([*law.ratios.values(), *law.bias, *law.gain])
    for body, share in whole.weights.items():
        found[f"weight of {body}"] = np.array([share])
    return found


def acting(entry: WritableJoint) -> tuple[float, ...]:
    return entry.damping, entry.friction, entry.stiffness, entry.rest if entry.stiffness else 0.0, entry.armature


def bounds(entry: WritableJoint) -> tuple[float, float]:
    """The ends of a joint's range: what all formats hold of it."""
    r = entry.range
    if r is not None and r.lower is not None and r.upper is not None and r.lower >= r.upper:
        return np.inf, np.inf  # an empty one, which only some have
    return tuple(np.inf if r is None or x is None else x for x in ((r.lower, r.upper) if r else (0, 0)))


def state(seen: Seen, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random state; of loops, one near the start that closes them."""
    s = seen.system
    q, v = np.array(s.q0), rng.normal(size=s.nv)
    if not seen.looped:
        for use in seen.model.mechanism.describe().coordinate_owners:
            rows = s.q_slice(use.name)
            n = rows.stop - rows.start
            q[rows] = rng.uniform(-1.5, 1.5, size=n)
            if n > use.joint.nv:  # a quaternion comes first
                q[rows.start : rows.start + 4] /= np.linalg.norm(q[rows.start : rows.start + 4])
        return q, v
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return q, s.consistent_velocities(q, v)
