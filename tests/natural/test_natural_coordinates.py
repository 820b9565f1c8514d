"""Natural coordinates: points and vectors, constant mass matrices, conditions, states both ways, accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import inputs
from support.natural_models import all_joints, five_links
from whippletree.analysis.models import human_body, quarter_car, two_arms
from whippletree.analysis.natural_sizes import plane_distances, plane_size
from whippletree.system.example_systems import four_bar

A = "velocity_transformation/natural/multipliers"
EXACT = "natural/exact/10000000/6"


def test_sizes_of_the_book() -> None:
    """Examples 8.6 and 8.7: 30 coordinates and 25 conditions, 24 and 24."""
    pendulum, bricard = five_links(False).natural, five_links(True).natural
    assert (pendulum.n_coordinates, pendulum.n_conditions) == (30, 25)
    assert (bricard.n_coordinates, bricard.n_conditions) == (24, 24)
    assert [one.name for one in pendulum.points] == ["R2", "R3", "R4", "R5", "tip"]
    assert [one.name for one in pendulum.fixed] == ["R1", "R1 axis"]
    assert pendulum.points[0].bodies == ("rod 1", "rod 2")
    assert "5 points and 5 vectors, 30 coordinates; 25 conditions" in repr(pendulum)


def test_masses_stand_at_the_points() -> None:
    """Half a kilogram at the ends of links: one at shared points, none for vectors, so M is singular."""
    natural = five_links(False).natural
    expected = np.zeros(30)
    for one in natural.points:
        expected[one.where] = 0.5 if one.name == "tip" else 1.0
    assert natural.mass_matrix == pytest.approx(np.diag(expected), abs=1e-15)


def test_the_mass_matrix_of_two_points_and_two_vectors() -> None:
    """The 12 x 12 matrix of the book: a = X^-1 J X^-T, b = X^-1 m r_G."""
    rng = np.random.default_rng(0)
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.5, 2.0, 6)
    m = wt.Mechanism("body")
    body = m.body("body", wt.point_masses([(w, tuple(p)) for w, p in zip(masses, points, strict=True)]))
    ends = rng.normal(size=(2, 3))
    axes = [axis / np.linalg.norm(axis) for axis in rng.normal(size=(2, 3))]
    for k in range(2):
        other = m.body(f"other {k}", wt.sphere(0.1, mass=0.0))
        m.revolute(f"hinge {k}", body, other, at=tuple(ends[k]), axis=tuple(axes[k]))
    m.free("free", m.ground, body)
    natural = m.build().natural
    X = np.column_stack([ends[1] - ends[0], *axes])
    c = np.linalg.solve(X, (points - ends[0]).T)
    a, b, total = (c * masses) @ c.T, c @ masses, masses.sum()
    M = np.zeros((4, 4))
    M[0, 0] = total - 2 * b[0] + a[0, 0]
    M[0, 1:] = M[1:, 0] = b - a[0]
    M[1:, 1:] = a
    at = {one.name: one.where.start for one in (*natural.points, *natural.vectors)}
    order = [at["hinge 0"], at["hinge 1"], at["hinge 0 axis"], at["hinge 1 axis"]]
    assert natural.mass_matrix[np.ix_(order, order)] == pytest.approx(M, rel=1e-12)


def test_a_plane_system_has_the_book_s_sizes() -> None:
    """Example 8.1: 18 natural coordinates and 9 equations, of full rank in plain NumPy; 27 and 18 mixed; 21."""
    s = two_arms().build()
    assert plane_size(s) == (9, (18, 9), (27, 18), 21)
    x = {one.name: s.natural.configuration(s.random(3))[one.where][:2] for one in s.natural.points}
    names = sorted(name for name in x if name.isdigit())
    rows = []
    for pairs in plane_distances(s).values():
        for a, b in pairs:
            row = np.zeros((9, 2))
            row[names.index(a)], row[names.index(b)] = x[a] - x[b], x[b] - x[a]
            rows.append(row.ravel())
    assert np.linalg.matrix_rank(rows) == 9


def test_columns_of_r_are_those_of_example_8_2() -> None:
    """Joint 7 turns the points beyond it, k x (r - r_2), and nothing else; the base all of them."""
    s = two_arms().build()
    q = s.random(5)
    x = s.natural.configuration(q)
    places = {one.name: one.where for one in s.natural.points if one.name.isdigit()}
    for joint, pivot, moved in (("2", "2", "789"), ("base motion", "base motion on base", "123456789")):
        v = np.zeros(s.nv)
        v[s.v_slice(joint).start] = 1.0  # of the base: its turning rate
        rates = s.natural.state(q, v)[1]
        at = next(one.where for one in s.natural.points if one.name == pivot)
        for name, where in places.items():
            expected = np.cross([0, 0, 1], x[where] - x[at]) if name in moved else np.zeros(3)
            assert rates[where] == pytest.approx(expected, abs=1e-12), (joint, name)


def test_sizes_of_the_human_body() -> None:
    natural = human_body().build().natural
    assert (len(natural.points), len(natural.vectors)) == (28, 62)


@pytest.mark.parametrize("which", ["all joints", "quarter car"])
def test_states_both_ways(which: str) -> None:
    s = all_joints() if which == "all joints" else quarter_car().build()
    rng = np.random.default_rng(1)
    q, v = s.q0, rng.normal(size=s.nv)
    if s.closure_rows:
        v = s.consistent_velocities(q, v)
    else:
        q = s.random(2)
    x, rates = s.natural.state(q, v)
    assert np.abs(s.natural.residual(x)).max() < 1e-12
    assert np.abs(s.natural.jacobian(x) @ rates).max() < 1e-12
    assert rates @ s.natural.mass_matrix @ rates / 2 == pytest.approx(s.energy(q, v).kinetic, rel=1e-12)
    assert s.natural.n_coordinates - np.linalg.matrix_rank(s.natural.jacobian(x), tol=1e-9) == s.mobility.mobility
    again, speeds = s.natural.joint_state(x, rates, near=s.integrate(q, 0.1 * rng.normal(size=s.nv)))
    assert np.abs(s.difference(q, again)).max() < 1e-11
    assert speeds == pytest.approx(v, abs=1e-10)


def test_angles_are_the_nearest() -> None:
    s = five_links(False)
    q = np.array([7.0, -8.0, 9.0, 3.0, 0.1])
    x, _ = s.natural.state(q, np.zeros(5))
    assert s.natural.joint_state(x, near=q + 0.5)[0] == pytest.approx(q, abs=1e-12)


def test_what_is_no_rigid_body_is_refused() -> None:
    s = five_links(False)
    x = s.natural.configuration(s.q0)
    x[0] += 0.1
    with pytest.raises(
        wt.StateError, match=r'the condition "rod . is off|"rod 1: length of R2 from R1" is off by 0.21'
    ):
        s.natural.joint_state(x)
    with pytest.raises(wt.StateError, match="x= must be 30 finite numbers"):
        s.natural.residual(x[:-1])


def test_a_tree_agrees() -> None:
    s = all_joints()
    rng = np.random.default_rng(5)
    given = {"q": s.random(4), "v": rng.normal(size=s.nv), "tau": rng.normal(size=s.nv)}

    def by(function: str, formulation: str) -> np.ndarray:
        traced = s.function(function, formulation=formulation)
        return np.array(traced(*inputs(traced, given))).ravel()

    expected = by("forward_dynamics", "articulated")
    for name in (EXACT, A):
        assert by("forward_dynamics", name) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert by("forward_dynamics", "natural") == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert by("reactions", A) == pytest.approx(by("reactions", "articulated"), rel=1e-8, abs=1e-8)


def test_massless_vectors() -> None:
    """M is singular for links with masses at their ends; the conditions say how vectors move."""
    s = five_links(False)
    q, v = np.linspace(-0.4, 0.5, 5), np.linspace(1.0, -1.0, 5)
    found = s.forward_dynamics(q, v, formulation="natural", multipliers="exact")
    assert found == pytest.approx(s.forward_dynamics(q, v, formulation="composite"), rel=1e-9)


def test_options_are_checked() -> None:
    s = five_links(False)
    for choice, words in (
        ({"multipliers": "soft"}, 'multipliers= must be one of "augmented", "exact"'),
        ({"weight": -1}, "weight= must be a finite positive number"),
        ({"iterations": 1.5}, "iterations= must be a whole number"),
    ):
        with pytest.raises(wt.StateError, match=words):
            s.forward_dynamics(s.q0, s.v0, formulation="natural", **choice)


WRONG = (None, 3, "x", b"x", [], {}, [[1.0]], object(), np.zeros((2, 3, 4)), 10**5000, np.full(15, np.nan), ["a"])


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_what_is_no_state_is_refused_in_words(wrong: object) -> None:
    s = four_bar()
    natural, absolute = s.natural, s.absolute
    x = natural.configuration(s.q0)
    calls = (
        lambda: natural.fit(wrong, x, s.q0),
        lambda: natural.fit(x, wrong, s.q0),
        lambda: natural.fit(x, x, wrong),
        lambda: natural.rows_at(wrong, x),
        lambda: natural.residual(wrong),
        lambda: natural.jacobian(wrong),
        lambda: absolute.joint_of(wrong),
        lambda: absolute.joints(wrong, wrong),
        lambda: absolute.state(s.q0, wrong),
        lambda: s.realtime().c_source(name="2x" if isinstance(wrong, str) else wrong),
    )
    for call in calls:
        with pytest.raises(wt.WhippletreeError):
            call()


@pytest.mark.parametrize("wrong", [(1e300, 1e300), (1.0, 1e200)])
def test_terms_of_baumgarte_beyond_numbers(wrong: tuple[float, float]) -> None:
    s = four_bar()
    for call in (s.forward_dynamics, lambda q, v, **given: s.simulate(0.01, q=q, v=v, **given)):
        with pytest.raises(wt.StateError, match="at most 1e\\+100"):
            call(s.q0, s.v0, formulation="tree_augmented", baumgarte=wrong)
    with pytest.raises(wt.StateError, match="omega= and mu= must be at most"):
        s.forward_dynamics(s.q0, s.v0, formulation="penalty", omega=1e300)
