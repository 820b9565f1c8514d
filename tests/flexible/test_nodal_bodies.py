"""Beams in nodal coordinates: their elimination uses that an element couples its two nodes only."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt

SECTION = wt.rectangle(width=0.02, height=0.01)


def carrying(beam: wt.FlexibleBody) -> wt.System:
    """A beam behind a hinge, with a body on a hinge at its tip."""
    m = wt.Mechanism("arm")
    link, hand = m.body("link", beam), m.body("hand", mass=0.3, com=(0.1, 0.02, 0), inertia=(0.01, 0.02, 0.015))
    m.revolute("shoulder", m.ground, link, axis="y")
    m.revolute("wrist", link, hand, at="tip", axis="z")
    return m.build()


def nodal(elements: int) -> wt.FlexibleBody:
    body = wt.beam(length=1.0, section=SECTION, material=wt.steel, elements=elements, modes="nodal")
    assert isinstance(body, wt.FlexibleBody)
    return body


def state(s: wt.System, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v = s.random(seed), rng.uniform(-1, 1, s.nv)
    own = s.q_slice("link")
    q[own] = 1e-3 * rng.uniform(-1, 1, own.stop - own.start)
    return q, v


def check_against_dense(s: wt.System, seed: int) -> None:
    q, v = state(s, seed)
    a = s.forward_dynamics(q, v, formulation="articulated")
    M = s.mass_matrix(q)
    dense = np.linalg.solve(M, -s.bias_force(q, v))
    # equations in which a node turns have inertias a million times smaller than those of the whole beam
    assert np.abs(M @ (a - dense)).max() < 1e-10 * np.abs(M @ dense).max()
    assert np.abs(a - dense).max() < 1e-8 * np.abs(dense).max()


def test_the_sparse_elimination_is_that_of_the_full_matrix() -> None:
    s = carrying(nodal(8))
    for seed in range(3):
        check_against_dense(s, seed)


@pytest.mark.deep
def test_three_hundred_coordinates_are_exact() -> None:
    s = carrying(nodal(50))
    assert s.nv == 302
    check_against_dense(s, 0)


def test_nodal_and_modal_coordinates_have_the_same_motion() -> None:
    """A complete set of modes spans all nodal displacements: d = V eta at the nodes."""
    by_nodes = carrying(nodal(4))
    full = wt.beam(length=1.0, section=SECTION, material=wt.steel, elements=4, modes="all", stiffening=False)
    assert isinstance(full, wt.FlexibleBody)
    by_modes = carrying(full)
    moved, turned = (full.drawn.array(name)[1:] for name in ("translation", "rotation"))  # type: ignore[union-attr]
    V = np.concatenate([moved, turned], axis=1).reshape(-1, full.n_own)
    q, v = state(by_nodes, 1)
    own, other = by_nodes.q_slice("link"), by_modes.q_slice("link")
    q_modal, v_modal = by_modes.q0.copy(), np.zeros(by_modes.nv)
    for mine, theirs in ((q, q_modal), (v, v_modal)):
        theirs[other] = np.linalg.solve(V, mine[own])
        for joint in ("shoulder", "wrist"):
            theirs[by_modes.q_slice(joint)] = mine[by_nodes.q_slice(joint)]
    a, b = by_nodes.forward_dynamics(q, v), by_modes.forward_dynamics(q_modal, v_modal)
    found = V @ b[other]
    assert np.abs(a[own] - found).max() < 1e-7 * np.abs(found).max()
    for joint in ("shoulder", "wrist"):
        assert a[by_nodes.v_slice(joint)] == pytest.approx(b[by_modes.v_slice(joint)], rel=1e-7)


def test_operations_grow_with_the_number_of_nodes() -> None:
    counts = [
        carrying(nodal(n)).kernels.operations("forward_dynamics", formulation="articulated").total for n in (5, 10, 20)
    ]
    per_element = np.diff(counts) / [5, 10]
    assert per_element[1] < 1.05 * per_element[0]
    assert counts[2] < 80 * 120
