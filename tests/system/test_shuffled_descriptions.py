"""The order in which a mechanism is described changes nothing: mobility, motions, spectra, reactions and runs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import Law, Looped, built
from support.random_loops import MEMBERS, QUICK, case
from support.sampling import sampled
from whippletree.linear import minimal_coordinates

pytestmark = pytest.mark.rest

Item = TypeVar("Item")


def with_rates(looped: Looped, rng: np.random.Generator) -> Looped:
    """The same with closures of velocities that follow from those of positions: couplings, a pair of hinges welded."""
    laws = list(looped.laws)
    for one in looped.couplings:
        terms, size = dict(one.terms), float(rng.uniform(0.3, 3.0))

        def write(s: Any, terms: Any = terms, size: float = size) -> list[Any]:
            return [size * sum(ratio * s.rate(*key) for key, ratio in terms.items())]

        joints = tuple(dict.fromkeys(key[0] for key in terms))
        laws.append(Law(f"rate of {one.name}", write, 1, joints=joints, holonomic=False))
    return replace(looped, laws=tuple(laws))


def shuffled(looped: Looped, rng: np.random.Generator) -> Looped:
    """The same mechanism, described in another order."""

    def mixed(items: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(items[i] for i in rng.permutation(len(items)))

    parts, hinges = mixed(looped.parts), mixed(looped.hinges)
    others = {name: mixed(getattr(looped, name)) for name in ("points", "rods", "couplings", "laws")}
    return replace(looped, parts=parts, hinges=hinges, **others)


def by_name(s: wt.System, looped: Looped, values: dict[str, np.ndarray]) -> np.ndarray:
    """Velocities or accelerations of joints, given by name, in the order of a system."""
    x = np.zeros(s.nv)
    for hinge in looped.hinges:
        if hinge.nv:
            x[s.v_slice(hinge.name)] = values[hinge.name]
    return x


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0.0) <= tolerance * scale


def paired(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Compare spectra as sets, by pairs nearest to each other; nearly equal ones are known to half the digits."""
    assert found.shape == wanted.shape
    left = list(wanted)
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    for one in found:
        k = int(np.argmin([abs(one - other) for other in left]))
        assert abs(one - left.pop(k)) <= tolerance * scale


@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda one: one in QUICK[4:10:2] or one == QUICK[-1]))
def test_order_changes_nothing(family: str, i: int) -> None:
    rng = np.random.default_rng([i, len(family)])
    member = case(family, i)
    given = with_rates(member.looped, rng)
    other = shuffled(given, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wt.AssemblyWarning)
        systems = [built(given), built(other)]
    v = member.looped.split_v(member.v)
    tau = member.looped.split_v(member.tau)
    answers = []
    holding: dict[str, np.ndarray] = {}
    for s, looped in zip(systems, (given, other), strict=True):
        own_v, own_tau = by_name(s, looped, v), by_name(s, looped, tau)
        at: dict[str, Any] = {"t": looped.t} if s.description.closures_moving else {}
        q = s.q0
        minimal = minimal_coordinates(s, q, own_v, **at)
        a = s.forward_dynamics(q, own_v, own_tau, check=False, **at)
        rest = np.zeros(s.nv)
        if not holding:  # the same efforts hold both at rest: spectra elsewhere depend on the coordinates
            needed = s.inverse_dynamics(q, rest, rest, check=False, **at)
            holding |= {h.name: needed[s.v_slice(h.name)] for h in looped.hinges if h.nv}
        reactions = s.reactions(q, own_v, own_tau, check=False, **at)
        answers.append(
            {
                "mobility": s.mobility.mobility,
                "counts": (len(minimal.displacements), len(minimal.velocities)),
                "redundant": len(s.mobility.redundant),
                "a": {h.name: a[s.v_slice(h.name)] for h in looped.hinges if h.nv},
                "reactions": reactions,
                "spectrum": s.linearize(q, rest, by_name(s, looped, holding), **at).eigenvalues
                if not member.looped.timed
                else np.zeros(0),
                "run": s.simulate(0.05, every=0.05, tolerance=1e-10) if not at else None,
                "poses": {p.name: s.pose(q, p.name) for p in looped.parts},
            }
        )
    first, second = answers
    for name in ("mobility", "counts", "redundant"):
        assert first[name] == second[name], name
    for name, pose in first["poses"].items():
        close(second["poses"][name], pose, 1e-8)
    paired(second["spectrum"], first["spectrum"], 1e-6)
    if first["run"] is not None:
        for part in given.parts:
            ends = [s.pose(answer["run"].q[-1], part.name) for s, answer in zip(systems, answers, strict=True)]
            close(ends[1], ends[0], 1e-6)
    names = list(first["a"])
    one, two = (np.concatenate([answer["a"][name] for name in names]) for answer in answers)
    close(two, one, 1e-7)
    biggest = max(float(np.abs(r.wrench).max()) for r in first["reactions"].values())
    for name, reaction in first["reactions"].items():
        there = second["reactions"][name]
        assert (reaction.unique == there.unique).all(), name
        off = np.abs(reaction.wrench - there.wrench)[reaction.unique]
        assert off.max(initial=0.0) <= 1e-6 * max(1.0, biggest), name
