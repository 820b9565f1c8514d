"""What `auto` chooses: the fewest operations, or the faster of two that are close; told in words, and kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.grouped_models import cells
from whippletree.system import auto_formulation, choosing
from whippletree.system.choosing import Chooser


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
    whole = {name: s.operations("forward_dynamics", formulation=name).total for name in s.chosen.counts}
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
    """What is timed may come out one way or the other, but not both ways in one process."""
    monkeypatch.setattr(auto_formulation, "_DECIDED", {})
    monkeypatch.setattr(auto_formulation, "_REMEMBERED", 1)
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    first = cells(2).chosen
    with monkeypatch.context() as patch:
        patch.setattr(Chooser, "choose", lambda _: pytest.fail("weighed again"))
        assert cells(2).chosen == first
    _ = rod_on_a_chain(3).build().chosen
    assert len(auto_formulation._DECIDED) == 1


def test_those_that_are_close_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """More operations are taken only if they are clearly faster; each candidate is the formulation by itself."""
    monkeypatch.setenv("WHIPPLETREE_CHOICE", "")
    s = rod_on_a_chain(3).build()
    asked: list[str] = []

    def chosen(times: dict[str, float], **limits: object) -> str:
        for name, value in limits.items():
            monkeypatch.setattr(choosing, name, value)

        def timer(names: Sequence[str]) -> dict[str, float]:
            asked[:] = names
            return {name: times.get(name, 9.0) for name in names}

        return Chooser(s._engine.equations, s._engine.loops.auto.candidates, timer).choose().name

    counts = s.chosen.counts
    first, second, third = sorted(counts, key=lambda name: counts[name])[:3]
    wide = {"_CLOSE": (100.0, 100.0), "_COMPILED": 10**9}
    assert chosen({first: 1.0, second: 0.9}, **wide) == second
    assert asked == sorted(counts, key=lambda name: counts[name])
    assert chosen({first: 1.0, second: 0.99}) == first
    assert chosen({first: 1.0, second: 0.96, third: 0.95}) == second  # as fast as the third, with fewer operations
    assert chosen({first: 1.0, second: 2.0}) == first
    assert chosen({second: 0.1}, _COMPILED=counts[first] + counts[second]) == second
    assert asked == [first, second]
    asked.clear()
    assert chosen({second: 0.1}, _CLOSE=(1.0, 1.0)) == first
    monkeypatch.setenv("WHIPPLETREE_CHOICE", "Counted")
    assert chosen({second: 0.1}, **wide) == first
    assert asked == []


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
    assert set(choosing.ALONG_GROUND) <= set(s.chosen.counts)
    v = s.consistent_velocities(s.q0, rng.normal(size=s.nv))
    given = s.q0, v, np.zeros(s.nv)
    expected = np.array(s.function("forward_dynamics", formulation="coordinate_reduction")(*given)).ravel()
    for name in choosing.ALONG_GROUND:
        a = np.array(s.function("forward_dynamics", formulation=name)(*given)).ravel()
        assert a == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    assert set(choosing.ALONG_GROUND) <= set(cells(2).chosen.left_out)  # in a plane


def test_large_mechanisms_leave_out_what_is_plainly_larger() -> None:
    s = cells(5)
    chosen = s.chosen
    assert set(chosen.left_out) >= {"tree_augmented", "joint_multipliers"}
    assert "10 multipliers" in chosen.left_out["tree_augmented"]
    assert "5 freedoms" in chosen.left_out["tree_augmented"]
    assert all(f"{name} left out: {why}" in str(s.plan) for name, why in chosen.left_out.items())


@pytest.mark.parametrize(("n", "axes"), [(4, "xyz"), (8, "y"), (2, "xy")])
def test_small_trees(n: int, axes: str) -> None:
    m = wt.Mechanism("tree")
    links(m, n, axes)
    s = m.build()
    counts = {name: s.operations("forward_dynamics", formulation=name).total for name in ("articulated", "composite")}
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
