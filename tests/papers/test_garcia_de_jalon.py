"""Garcia de Jalon and Bayo, chapter 8: the models' numbers, tables 8.3 and 8.4, formulation B against the others."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from support.sampling import deep
from whippletree.analysis.cost import costs
from whippletree.analysis.models import (
    MODELS,
    body_joint_pairs,
    bricard,
    car,
    five_bar_pendulum,
    heavy_truck,
    human_body,
)
from whippletree.analysis.natural_sizes import opened_size
from whippletree.analysis.papers.garcia_de_jalon import TABLE_83, TABLE_84
from whippletree.analysis.recounts import velocity_map_count
from whippletree.elements.closures import Distance

B = "velocity_transformation"


def open_freedoms(system) -> int:
    return sum(constants.joint.nv for constants in system._engine.equations.node_tree().node_constants)


def test_human_body() -> None:
    s = human_body().build()
    assert (len(s.description.bodies), s.nv, body_joint_pairs(s)) == (40, 6 + 39, 175)
    kinds = [use.joint.kind for use in s.description.joints]
    assert (kinds.count("revolute"), kinds.count("free")) == (39, 1)


def test_heavy_truck() -> None:
    """Drag link and tie rod are closures: two bodies and four balls of the book's 33 and 15."""
    s = heavy_truck().build()
    assert (len(s.description.bodies), s.mobility.mobility, body_joint_pairs(s), open_freedoms(s)) == (
        33 - 2,
        18,
        51,
        48,
    )
    kinds = Counter(use.joint.kind for use in s.description.joints)
    assert kinds == {"revolute": 23, "spherical": 15 - 4, "universal": 6, "free": 1}
    assert [type(one.closure) for one in s.description.closures] == [Distance] * 2
    cut = Counter(s.description.joints[one.joint].joint.kind for one in s.plan.cuts)
    assert cut == {"spherical": 8, "revolute": 2}
    opened = opened_size(s)
    assert (opened.removed, opened.cut, opened.relative, s.natural.n_coordinates) == (12 - 2, 0, 39, 246)


def test_the_book_has_31_bodies_of_the_truck_in_formulation_b() -> None:
    """Rows of table 8.4 over what a body costs in table 8.3; 3m for each of 36 conditions that close the loops."""
    for stage, part in ((stage, part) for stage in ("M", "Q - c") for part in (0, 1)):
        assert 40 * TABLE_84[stage][part] == 31 * TABLE_83[stage][part]
    assert 3 * heavy_truck().build().kernels.equations.size("n_all_rows") == 108  # row c2 - Phi S of table 8.4


def test_car() -> None:
    s = car().build()
    assert (len(s.description.bodies), s.mobility.mobility) == (25, 15)


def test_small_ones() -> None:
    assert (bricard().build().mobility.mobility, five_bar_pendulum().build().nv) == (1, 5)


def test_the_matrix_r_costs_what_the_book_says() -> None:
    for make, printed in ((human_body, (1050, 525)), (heavy_truck, (306, 153))):
        count, _ = velocity_map_count(make().build())
        assert (count.multiplications, count.additions) == printed


def test_table_8_3_unfolded() -> None:
    found = costs(human_body().build(), B, folded=False)
    assert found["R"].multiplications == TABLE_83["R"][0]
    assert abs(found["R^T M R"].multiplications / TABLE_83["R^T M R"][0] - 1) < 0.15
    # R^T once, 6m a pair, and M S, 12m a body; the floating base takes at most 6m a body more
    right = found["R^T (Q - c - M S)"].multiplications
    assert 6 * 175 + 12 * 40 < right <= 6 * 175 + 18 * 40
    assert found["solution"].multiplications < TABLE_83["solution"][0] / 4  # zeros between branches


@pytest.mark.parametrize("name", ["human body", "car", *deep(["heavy truck"])])
def test_formulation_b_agrees(name: str) -> None:
    model = MODELS[name]()
    s = model.build()
    q, v = model.state(s, seed=4)
    other = "articulated" if name == "human body" else "tree_augmented"
    expected = np.array(s.function("forward_dynamics", formulation=other)(q, v, 0)).ravel()
    for formulation in (B, "fully_recursive/joint") if name != "car" else (B,):
        a = np.array(s.function("forward_dynamics", formulation=formulation)(q, v, 0)).ravel()
        assert np.abs(a - expected).max() < 1e-9 * np.abs(expected).max(), formulation


def test_baumgarte_through_r() -> None:
    """8.112 and 8.114: the same stabilised accelerations as in joint coordinates, off the closures too."""
    s = bricard().build()
    rng = np.random.default_rng(5)
    q, v = s.q0 + 0.01 * rng.standard_normal(s.nq), rng.standard_normal(s.nv)
    options = {"baumgarte": (3.0, 4.0), "check": False}
    expected = s.forward_dynamics(q, v, formulation="joint_multipliers", **options)
    assert np.abs(s.forward_dynamics(q, v, formulation=B, **options) - expected).max() < 1e-9 * np.abs(expected).max()
