"""What `auto` chooses: the fewest operations, told in words and kept on disk; or, if a system is tuned, the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.grouped_models import cells
from whippletree.formulations.methods import registry
from whippletree.system import auto_formulation, engine, formulation_choice
from whippletree.system.auto_formulation import Chooser

ALONG_GROUND = {one.text for one in registry.candidates() if one.candidacy.general_axes}


def rod_on_a_chain(n: int = 4) -> wt.Mechanism:
    """Links in a row, the last one held to the ground by a massless rod."""
    m = wt.Mechanism("chain with a rod")
    m.distance("rod", m.ground, links(m, n), length=1.5, at=(1.0, 0.2, 0.4))
    return m


def links(m: wt.Mechanism, n: int, axes: str = "xyz") -> object:
    body = m.ground
    for i in range(n):
        link = m.body(f"link {i}", wt.box(size=(0.2, 0.3, 0.6), mass=1.0, at=(0.1, 0, 0.3)))
        m.revolute(f"joint {i}", body, link, at=(0.1, 0.1, 0.5), axis=axes[i % len(axes)])
        body = link
    return body


def test_the_cheapest_is_chosen() -> None:
    """What is counted orders the formulations as their whole functions do."""
    s = rod_on_a_chain().build()
    whole = {name: s.kernels.operations("forward_dynamics", formulation=name).total for name in s.chosen.counts}
    assert len(whole) >= 4
    assert s.chosen.name == min(whole, key=lambda name: whole[name])
    assert sorted(whole, key=lambda n: whole[n])[:3] == sorted(whole, key=lambda n: s.chosen.counts[n])[:3]
    assert s.function("forward_dynamics").n_instructions() == (
        s.function("forward_dynamics", formulation=s.chosen.name).n_instructions()
    )


def test_the_choice_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_formulation, "_DECIDED", {})
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path / "cache"))
    first = cells(2).chosen
    monkeypatch.setattr(Chooser, "choose", lambda _: pytest.fail("weighed again"))
    monkeypatch.setattr(auto_formulation, "_DECIDED", {})  # as in another process
    again = cells(2).chosen
    assert again == first
    assert str(again) == str(first)
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    with pytest.raises(pytest.fail.Exception, match="weighed again"):
        _ = cells(2).chosen


def test_a_process_remembers_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanisms that are alike are weighed once."""
    monkeypatch.setattr(auto_formulation, "_DECIDED", {})
    monkeypatch.setattr(auto_formulation, "_REMEMBERED", 1)
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    first = cells(2).chosen
    with monkeypatch.context() as patch:
        patch.setattr(Chooser, "choose", lambda _: pytest.fail("weighed again"))
        assert cells(2).chosen == first
    _ = rod_on_a_chain(3).build().chosen
    assert len(auto_formulation._DECIDED) == 1


def test_those_that_are_close_are_timed_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """More operations are taken only if they are clearly faster; each candidate is the formulation by itself."""
    s = rod_on_a_chain(3).build()
    asked: list[str] = []

    def tuned(times: dict[str, float], **limits: object) -> str:
        for name, value in limits.items():
            monkeypatch.setattr(formulation_choice, name, value)

        def timer(names: Sequence[str]) -> dict[str, float]:
            asked[:] = names
            return {name: times.get(name, 9.0) for name in names}

        loops = s._engine.loops.auto
        return Chooser(s._engine.equations, loops.candidates).tune(s.chosen, timer).name

    counts = s.chosen.counts
    first, second, third = sorted(counts, key=lambda name: counts[name])[:3]
    assert s.chosen.name == first
    assert not s.chosen.times
    wide = {"_CLOSE": (100.0, 100.0), "_COMPILED": 10**9}
    assert tuned({first: 1.0, second: 0.9}, **wide) == second
    assert asked == sorted(counts, key=lambda name: counts[name])
    assert tuned({first: 1.0, second: 0.99}) == first
    assert tuned({first: 1.0, second: 0.96, third: 0.95}) == second  # as fast as the third, with fewer operations
    assert tuned({first: 1.0, second: 2.0}) == first
    assert tuned({second: 0.1}, _COMPILED=counts[first] + counts[second]) == second
    assert asked == [first, second]
    assert tuned({second: 0.1}, _CLOSE=(1.0, 1.0)) == first
    assert asked == [first]


@pytest.mark.parametrize("closed", [True, False])
def test_tuned(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that is tuned uses what was the fastest, and says so; others do not."""
    m = rod_on_a_chain(3)
    if not closed:
        m = wt.Mechanism("tree")
        links(m, 3)
    s = m.build()
    rng = np.random.default_rng(3)
    v = s.consistent_velocities(s.q0, rng.normal(size=s.nv)) if closed else rng.normal(size=s.nv)
    counted, before = s.chosen, s.forward_dynamics(s.q0, v)
    other = sorted(counted.counts, key=lambda name: counted.counts[name])[1]
    monkeypatch.setattr(formulation_choice, "_CLOSE", (100.0, 100.0))
    module = auto_formulation if closed else engine
    monkeypatch.setattr(module, "least_seconds", lambda some: {name: 1.0 + (name != other) for name in some})
    assert s.kernels.tune() == s.chosen
    assert s.chosen.name == other
    assert s.chosen.times[other] == 1.0
    assert "timed: " in str(s.chosen)
    named = s.forward_dynamics(s.q0, v, formulation=other)
    assert np.array_equal(s.forward_dynamics(s.q0, v), named)
    assert named == pytest.approx(before, rel=1e-9)
    assert s.kernels.kernel("forward_dynamics").key == s.kernels.kernel("forward_dynamics", formulation=other).key
    assert m.build().chosen == counted


def test_the_choice_does_not_look_at_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_formulation, "_DECIDED", {})
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    for module in (auto_formulation, engine):
        monkeypatch.setattr(module, "least_seconds", lambda _: pytest.fail("timed"))
    for s in (rod_on_a_chain(3).build(), cells(2)):
        assert s.chosen.counts
        assert not s.chosen.times
        s.forward_dynamics(s.q0, s.v0)


def test_evaluations_are_timed_in_machine_code() -> None:
    s = rod_on_a_chain(3).build()
    times = s._engine.loops.auto.evaluation_times(["independent_coordinates", "absolute"])
    assert set(times) == {"independent_coordinates", "absolute"}
    assert all(0 < seconds < 1e-2 for seconds in times.values())


def test_a_loop_in_space_is_weighed_along_the_axes_of_the_ground() -> None:
    """Where axes are general, a velocity transformation takes the fewest operations, and gives the same."""
    m = wt.Mechanism("loop")
    rng = np.random.default_rng(5)
    ends = [np.array([np.cos(a), np.sin(a), 0.1 * np.sin(3 * a)]) for a in 2 * np.pi / 7 * np.arange(7)]
    last, at = m.ground, ends[0]
    for i in range(6):
        along = ends[i + 1] - ends[i]
        rod = m.body(f"rod {i}", mass=0.2, com=(along / 2).tolist(), inertia=np.diag([1e-3] * 3).tolist())
        m.revolute(f"J{i}", last, rod, at=at.tolist(), axis=rng.normal(size=3).tolist())
        last, at = rod, along
    m.revolute("J6", last, m.ground, at=at.tolist(), at_child=ends[6].tolist(), axis=rng.normal(size=3).tolist())
    s = m.build()
    assert set(s.chosen.counts) >= ALONG_GROUND
    v = s.consistent_velocities(s.q0, rng.normal(size=s.nv))
    given = s.q0, v, np.zeros(s.nv)
    expected = np.array(s.function("forward_dynamics", formulation="coordinate_reduction")(*given)).ravel()
    for name in sorted(ALONG_GROUND):
        a = np.array(s.function("forward_dynamics", formulation=name)(*given)).ravel()
        assert a == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    assert set(cells(2).chosen.left_out) >= ALONG_GROUND  # in a plane


def test_large_mechanisms_leave_out_what_is_plainly_larger() -> None:
    s = cells(5)
    chosen = s.chosen
    assert set(chosen.left_out) >= {"tree_augmented", "joint_multipliers"}
    assert "10 multipliers" in chosen.left_out["tree_augmented"]
    assert "5 freedoms" in chosen.left_out["tree_augmented"]
    assert all(f"{name} left out: {why}" in str(s.plan) for name, why in chosen.left_out.items())


def parallel_cranks(n: int) -> wt.System:
    """Cranks in a row, each coupled to the next: one loop after the other, and one freedom."""
    m = wt.Mechanism("cranks")
    crank = None
    for i in range(n):
        last, crank = crank, m.body(f"crank {i}", wt.rod(length=1.0, mass=1.0 + 0.1 * i, axis="x"))
        m.revolute(f"A{i}", m.ground, crank, at=(2 * i, 0, 0), axis="y")
        if last is not None:
            coupler = m.body(f"coupler {i}", wt.rod(length=2.0, mass=1.0, axis="x"))
            m.revolute(f"B{i}", last, coupler, at=(1, 0, 0), axis="y")
            m.revolute(f"C{i}", coupler, crank, at=(2, 0, 0), at_child=(1, 0, 0), axis="y")
    return m.build(guess={f"A{i}": -1.0 for i in range(n)} | {f"B{i}": 1.0 for i in range(1, n)})


def test_rows_are_not_carried_along_where_there_are_many_for_few_freedoms() -> None:
    """What is left out unweighed is plainly dearer than what is chosen; with as few rows as here it is weighed."""
    s = parallel_cranks(7)
    assert "rows or more cross a joint" in s.chosen.left_out["coordinate_reduction"]
    names = ("coordinate_reduction", s.chosen.name)
    left_out, chosen = (s.kernels.operations("forward_dynamics", formulation=name).total for name in names)
    assert left_out > 1.2 * chosen
    assert "coordinate_reduction" in cells(5).chosen.counts


@pytest.mark.parametrize(("n", "axes"), [(4, "xyz"), (8, "y"), (2, "xy")])
def test_small_trees(n: int, axes: str) -> None:
    m = wt.Mechanism("tree")
    links(m, n, axes)
    s = m.build()
    counts = {
        name: s.kernels.operations("forward_dynamics", formulation=name).total for name in ("articulated", "composite")
    }
    assert s.chosen.counts == counts
    assert s.chosen.name == min(counts, key=lambda name: counts[name])
    assert s.chosen.name == ("articulated" if axes == "y" else "composite")


def test_ill_conditioned_trees_are_swept_over() -> None:
    """A small body far from the origin of its frame: what a factorisation would lose, the sweeps keep."""
    m = wt.Mechanism("far off")
    m.free("fall", m.ground, m.body("crumb", wt.box(size=(1e-3, 2e-3, 3e-3), mass=1e-5, at=(2, 1, 3))))
    s = m.build()
    assert s.chosen.name == "articulated"
    assert "condition number" in s.chosen.left_out["composite"]
    assert "composite left out" in str(s.chosen)
    assert s.forward_dynamics(s.q0, s.v0) == pytest.approx([0, 0, 0, 0, 0, -9.81], abs=1e-9)


def test_the_candidates_are_all_that_say_so() -> None:
    """Modules of others are not imported to choose; the list of those that are must be whole."""
    whole = {one.text for one in registry.loop_formulations() if one.candidacy is not None}
    assert {one.text for one in registry.candidates()} == whole
