"""Groups of loops as nodes: every method for a group, alone and mixed, against other formulations and NumPy.

`test_loops` compares constraint embedding on all random mechanisms; here are the methods that groups choose from, and
mechanisms of many groups and of one large group.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from agreement.test_loops import NATIVE, accelerations, assert_close, reactions
from support.grouped_models import branched, cells, lattice
from support.loop_models import built, inputs
from support.measures import relative
from support.random_loops import case
from support.sampling import sampled
from whippletree.formulations.closures.loop_groups import node_groups
from whippletree.formulations.methods import constraint_embedding
from whippletree.formulations.methods.constraint_embedding import METHODS

Array = np.ndarray
TOLERANCE = 1e-9


def forced(monkeypatch: pytest.MonkeyPatch, methods: tuple[str, ...]) -> None:
    """Let constraint embedding solve its groups by these methods in turn."""
    solve = constraint_embedding.solve

    def other(walk: Any, closing: Any, choice: Any, _: Any = ()) -> Any:
        groups = node_groups(walk.tree, closing.attachments, closing.keep)
        return solve(walk, closing, choice, list(itertools.islice(itertools.cycle(methods), len(groups))))

    monkeypatch.setattr(constraint_embedding, "solve", other)


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(("family", "i"), sampled(NATIVE[::2], lambda key: key in NATIVE[::4]))
def test_methods_on_random_mechanisms(family: str, i: int, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forced(monkeypatch, (method,))
    c = case(family, i)
    s = built(c.looped)
    only = ("constraint_embedding",)
    assert_close({**accelerations(s, c, only), **reactions(s, c, only)})


def states(s: wt.System, count: int) -> list[dict[str, Array]]:
    """Random closed states near the assembled one, with efforts on all joints."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(count):
        q = s.assemble(
            s.integrate(s.q0, s.kernels.closures.motion_basis(s.q0) @ rng.uniform(-0.2, 0.2, s.mobility.mobility))
        )
        v = s.kernels.closures.motion_basis(q) @ rng.normal(size=s.mobility.mobility)
        found.append({"q": q, "v": v, "tau": rng.normal(size=s.nv)})
    return found


def agreement(s: wt.System, formulation: str, other: str, functions: tuple[str, ...]) -> dict[str, float]:
    """How far two formulations are apart, relative, for each function."""
    found = {}
    for name in functions:
        one, two = (s.function(name, formulation=f) for f in (formulation, other))
        for k, state in enumerate(states(s, 2)):
            a, b = (np.array(f(*inputs(f, state))).reshape(1, -1) for f in (one, two))
            found[f"{name} {k}"] = relative(a, b)
    return found


@pytest.mark.rest
@pytest.mark.parametrize("turned", [False, True])
def test_chain_of_cells(turned: bool) -> None:
    s = cells(3, turned=turned)
    assert s.mobility.mobility == 3
    assert_close(agreement(s, "constraint_embedding", "absolute", ("forward_dynamics", "reactions")))
    assert_close(agreement(s, "by_group", "absolute", ("forward_dynamics", "reactions")))


def test_each_further_cell_costs_the_same() -> None:
    """Operations are linear in the number of cells, to the last one; their positions repeat after three."""
    counts = [
        cells(n).kernels.operations("forward_dynamics", formulation="constraint_embedding").total for n in (2, 5, 8)
    ]
    assert counts[2] - counts[1] == counts[1] - counts[0]
    assert cells(5).chosen.name in ("constraint_embedding", "by_group")


@pytest.mark.parametrize("methods", [METHODS, METHODS[::-1], ("augmented", "branches")])
def test_branches_by_different_methods(methods: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    forced(monkeypatch, methods)
    s = branched()
    assert_close(agreement(s, "constraint_embedding", "absolute", ("forward_dynamics", "reactions", "closure_efforts")))


def test_groups_choose_for_themselves() -> None:
    s = branched()
    assert_close(agreement(s, "by_group", "independent_coordinates", ("forward_dynamics",)))
    groups = s._engine.loops.auto.chooser.group_choices
    assert [group.base for group in groups] == ["hull", "rocker", "hull"]
    for group in groups:
        assert group.counts[group.method] == min(group.counts.values())
    assert len({group.method for group in groups}) > 1  # recursive and composite methods in one mechanism


def test_lattice() -> None:
    """Loops that share more than a chain can hold are one group, and the plan says what it amounts to."""
    s = lattice(2)
    assert s.mobility.mobility == 3
    assert_close(agreement(s, "constraint_embedding", "joint_multipliers", ("forward_dynamics", "reactions")))
    state = states(s, 1)[0]
    a = s.forward_dynamics(state["q"], state["v"], state["tau"])
    rows = s.closure_jacobian(state["q"])
    work = s.inverse_dynamics(state["q"], state["v"], a) - state["tau"]
    E = s.kernels.closures.motion_basis(state["q"])
    assert np.abs(rows @ E).max() < TOLERANCE
    assert np.abs(E.T @ work).max() < TOLERANCE * np.abs(work).max()  # no net force on any allowed motion
    s = lattice(1)
    words = str(s.plan)
    assert "operations for the tree's accelerations" in words
    for name, count in s.chosen.counts.items():
        assert f"{name} {count}" in words
    assert s.chosen.counts[s.chosen.name] == min(s.chosen.counts.values())
