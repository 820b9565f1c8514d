"""What `auto` chooses: the fewest operations, or the faster of two that are close; told in words, and kept on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

import whippletree as wt
from support.grouped_models import cells
from whippletree.system import choosing
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
    assert len(whole) >= 5
    assert s.chosen.name == min(whole, key=lambda name: whole[name])
    assert sorted(whole, key=lambda n: whole[n])[:3] == sorted(whole, key=lambda n: s.chosen.counts[n])[:3]
    assert s.function("forward_dynamics").n_instructions() == (
        s.function("forward_dynamics", formulation=s.chosen.name).n_instructions()
    )


def test_the_choice_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path / "cache"))
    first = cells(2).chosen
    monkeypatch.setattr(Chooser, "choose", lambda _: pytest.fail("weighed again"))
    again = cells(2).chosen
    assert again == first
    assert str(again) == str(first)
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    with pytest.raises(pytest.fail.Exception, match="weighed again"):
        _ = cells(2).chosen


def test_those_that_are_close_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """More operations are taken only if they are clearly faster."""
    s = rod_on_a_chain(3).build()
    first, second = sorted(s.chosen.counts, key=lambda name: s.chosen.counts[name])[:2]
    monkeypatch.setattr(choosing, "_CLOSE", (0.99, 100.0))
    monkeypatch.setattr(choosing, "_TIMED", (1, 10**9))

    def chosen(times: dict[str, float]) -> str:
        asked: list[str] = []
        chooser = Chooser(
            s._engine.equations, s._engine.loops.candidates, lambda names: (asked.extend(names), times)[1]
        )
        name = chooser.choose().name
        assert first in asked
        return name

    assert chosen({first: 1.0, second: 0.9}) == second
    assert chosen({first: 1.0, second: 0.99}) == first
    assert chosen({first: 1.0, second: 2.0}) == first


def test_evaluations_are_timed_in_machine_code() -> None:
    s = rod_on_a_chain(3).build()
    times = s._engine.loops._evaluation_times(["independent_coordinates", "absolute"])
    assert set(times) == {"independent_coordinates", "absolute"}
    assert all(0 < seconds < 1e-2 for seconds in times.values())


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
