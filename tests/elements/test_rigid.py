"""Mass properties, against integrals over the shapes and against clouds of point masses."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whippletree.elements.bodies import MassProperties, box, cylinder, point_mass, point_masses, rod, sphere
from whippletree.errors import ModelError

seeds = st.integers(0, 2**32 - 1)


def summed(masses, points):
    """Mass, centre and inertia about the centre, straight from their definitions."""
    masses, points = np.asarray(masses), np.asarray(points)
    mass = masses.sum()
    com = masses @ points / mass
    r = points - com
    squares = np.einsum("n,ni,ni->", masses, r, r)
    return mass, com, squares * np.eye(3) - np.einsum("n,ni,nj->ij", masses, r, r)


def assert_same(properties, expected, tolerance=1e-13):
    mass, com, inertia = expected
    assert properties.mass == pytest.approx(mass, rel=tolerance)
    assert np.allclose(properties.com, com, rtol=0, atol=tolerance * (1 + abs(np.array(com)).max()))
    assert np.allclose(properties.inertia, inertia, rtol=0, atol=tolerance * abs(np.array(inertia)).max())


def gauss(a, b, count=6):
    x, w = np.polynomial.legendre.leggauss(count)
    return (a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w


def grid(*rules):
    """The points and weights of a product of quadrature rules."""
    points = np.stack([p.ravel() for p in np.meshgrid(*(rule[0] for rule in rules), indexing="ij")], axis=1)
    weights = np.prod([w.ravel() for w in np.meshgrid(*(rule[1] for rule in rules), indexing="ij")], axis=0)
    return points, weights


def around(count=12):
    """A full turn; the trapezoidal rule is exact for the low harmonics here."""
    return 2 * math.pi * np.arange(count) / count, np.full(count, 2 * math.pi / count)


def turn_z_to(n):
    """Some rotation that takes z to the unit vector n."""
    x = np.cross(n, [0.3, -0.5, 0.8])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(n, x), n], axis=1)


def test_rod_is_its_integral():
    n = np.array([2.0, -1.0, 2.0]) / 3
    s, w = gauss(0, 1.7)
    expected = summed(0.9 * w, s[:, None] * n + [1, 2, 3])
    assert_same(rod(1.7, mass_per_length=0.9, axis=(2, -1, 2), at=(1, 2, 3)), expected)
    assert_same(rod(1.7, 0.9 * 1.7, axis=(2, -1, 2), at=(1, 2, 3)), expected)


def test_box_is_its_integral():
    points, w = grid(gauss(-0.5, 0.5), gauss(-1, 1), gauss(-1.5, 1.5))
    assert_same(box((1, 2, 3), density=7.8, at=(1, -2, 0.5)), summed(7.8 * w, points + np.array([1, -2, 0.5])))


def test_cylinder_is_its_integral():
    (cylindrical, w) = grid(gauss(0, 0.4), around(), gauss(-0.6, 0.6))
    r, angle, z = cylindrical.T
    points = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
    n = np.array([1.0, 2.0, -2.0]) / 3
    expected = summed(2.7 * w * r, points @ turn_z_to(n).T + [0, 1, 2])
    assert_same(cylinder(0.4, 1.2, density=2.7, axis=(1, 2, -2), at=(0, 1, 2)), expected)
    assert_same(cylinder(0.4, 1.2, density=2.7), summed(2.7 * w * r, points))


def test_sphere_is_its_integral():
    (spherical, w) = grid(gauss(0, 0.3), gauss(-1, 1), around())
    r, cosine, angle = spherical.T
    sine = np.sqrt(1 - cosine**2)
    points = (r * np.stack([sine * np.cos(angle), sine * np.sin(angle), cosine])).T
    assert_same(sphere(0.3, density=1000, at=(1, 0, 0)), summed(1000 * w * r**2, points + np.array([1, 0, 0])))


@given(seeds, st.integers(1, 8))
def test_point_masses_are_summed_as_defined(seed, count):
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 5, count), rng.normal(size=(count, 3))
    pairs = list(zip(masses.tolist(), points.tolist(), strict=True))
    expected = summed(masses, points)
    properties = point_masses(pairs)
    assert properties.mass == pytest.approx(expected[0])
    assert np.allclose(properties.com, expected[1], atol=1e-13)
    assert np.allclose(properties.inertia, expected[2], atol=1e-12)
    assert np.allclose(sum(point_mass(m, p) for m, p in pairs).inertia, expected[2], atol=1e-12)


def test_two_halves_make_the_whole():
    halves = box((0.5, 2, 3), mass=3.0, at=(-0.25, 0, 0)) + box((0.5, 2, 3), mass=3.0, at=(0.25, 0, 0))
    whole = box((1, 2, 3), mass=6.0)
    assert_same(halves, (whole.mass, whole.com, whole.inertia))


def random_cloud(seed):
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 2, 5), rng.normal(size=(5, 3))
    return masses, points, MassProperties(*summed(masses, points))


@given(seeds)
def test_moving_the_properties_is_moving_the_points(seed):
    masses, points, properties = random_cloud(seed)
    R, at = turn_z_to(points[0] / np.linalg.norm(points[0])), points[1]
    moved = properties.moved(at=at, rotation=R)
    assert_same(moved, summed(masses, points @ R.T + at), 1e-12)
    # turning changes no principal moment
    assert np.allclose(np.linalg.eigvalsh(moved.inertia), np.linalg.eigvalsh(properties.inertia), rtol=1e-12)


@given(seeds)
def test_inertia_about_a_point_is_the_sum_about_that_point(seed):
    masses, points, properties = random_cloud(seed)
    r = points - [0.3, -2, 1]
    expected = sum(m * (np.dot(p, p) * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, r, strict=True))
    assert np.allclose(properties.about((0.3, -2, 1)), expected, rtol=1e-12, atol=1e-12)


def test_steiners_rod():
    about_end = rod(length=2.0, mass=3.0, axis="x").about((0, 0, 0))
    assert np.allclose(about_end, np.diag([0, 4, 4]))  # m l^2 / 3


def test_a_massless_part_changes_nothing():
    body = box((1, 2, 3), mass=2.0, at=(1, 1, 1))
    assert body + MassProperties() == body
    assert MassProperties() + body == body
    assert (body + MassProperties(0.0, inertia=np.eye(3))).inertia[0][0] == body.inertia[0][0] + 1


def evaluated(properties, symbols, values):
    f = ca.Function("f", symbols, [ca.vertcat(*properties.entries())])
    return f(*values).full().ravel()


def test_shapes_take_parameters_wherever_a_number_goes():
    symbols = [ca.SX.sym(name) for name in "abcdm"]

    def assembly(a, b, c, d, m):
        return (
            rod(a, m, axis=(1, 2, 2), at=(0, b, 0))
            + box((a, b, c), density=d, at=(c, 0, 0)).moved(at=(0, 0, a), rotation=turn_z_to(np.array([0.6, 0, 0.8])))
            + cylinder(a, b, mass=m, axis="y")
            + sphere(c, density=d, at=(a, a, a))
            + point_masses([(m, (a, 0, 0)), (2.0, (0, b, c))])
        )

    values = [0.7, 1.3, 0.4, 5.0, 2.0]
    numeric = assembly(*values).entries()
    assert np.allclose(evaluated(assembly(*symbols), symbols, values), numeric, rtol=1e-12, atol=1e-12)


def test_entries_are_plain_floats_whatever_was_given():
    properties = MassProperties(np.float32(2), np.arange(3), np.eye(3, dtype=int))
    assert all(type(entry) is float for entry in properties.entries())
    assert MassProperties.of_entries(properties.entries()) == properties
    assert hash(MassProperties.of_entries(properties.entries())) == hash(properties)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("moments", [(0, 0, 0), (1, 1, 1), (0, 1, 1), (1, 1, 2), (1, 2, 3), (1, 1, 2 * (1 + 1e-10))])
def test_inertias_of_points_rods_and_plates_are_fine(moments, scale):
    R = turn_z_to(np.array([2.0, -1.0, 2.0]) / 3)
    for inertia in (np.diag(moments) * scale, (R * moments) @ R.T * scale):
        MassProperties(1.0, inertia=(inertia + inertia.T) / 2)


@given(seeds)
def test_inertias_no_body_can_have_are_refused(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.01, 1, 2)
    R = turn_z_to(np.array([2.0, -1.0, 2.0]) / 3)
    for moments, words in (((a, b, (a + b) * (1 + 1e-7)), "triangle"), ((a, b + a, -1e-7), "negative")):
        inertia = (R * moments) @ R.T
        with pytest.raises(ModelError, match=words):
            MassProperties(1.0, inertia=(inertia + inertia.T) / 2)


def test_rounding_in_an_inertia_is_mirrored_away():
    inertia = np.array([[2, 0.1, 0], [0.1 + 1e-12, 2, 0], [0, 0, 2]])
    read = MassProperties(1.0, inertia=inertia).inertia
    assert read[0][1] == read[1][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mass": -1.0}, "mass must not be negative"),
        ({"mass": math.nan}, "mass must be finite"),
        ({"mass": "heavy"}, "mass must be a number"),
        ({"mass": True}, "mass must be a number"),
        ({"mass": 1.0, "com": (0, 0)}, "com must be 3 numbers"),
        ({"mass": 1.0, "com": (0, 0, math.inf)}, r"com\[2\] must be finite"),
        ({"mass": 1.0, "inertia": np.ones(4)}, "inertia must be 3 numbers or a 3 x 3 matrix"),
        ({"mass": 1.0, "inertia": np.arange(9).reshape(3, 3)}, "symmetric"),
        ({"mass": 1.0, "inertia": np.diag([1, 1, -1])}, "negative"),
        ({"mass": 1.0, "inertia": np.diag([1e308, 1e308, -1e308])}, "negative"),
        ({"mass": 1.0, "inertia": np.diag([1, 1, 3])}, "triangle"),
        ({"mass": ca.SX.sym("m"), "inertia": np.diag([1, 1, 3])}, "triangle"),
    ],
)
def test_bad_properties_are_refused_in_words(arguments, words):
    with pytest.raises(ModelError, match=words):
        MassProperties(**arguments)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rod(1.0), "rod: give either mass or mass_per_length"),
        (lambda: rod(-1.0, 1.0), "rod: length must not be negative"),
        (lambda: rod(1.0, 1.0, axis="w"), "rod: axis"),
        (lambda: rod(1e200, 1e200), "rod: inertia.*finite"),
        (lambda: box((1, 1, 1), 1.0, density=1.0), "box: give either"),
        (lambda: box((1, 1), 1.0), "box: size"),
        (lambda: box(1.0, 1.0), "box: size"),
        (lambda: box((1, -1, 1), 1.0), r"box: size\[1\] must not be negative"),
        (lambda: cylinder(math.nan, 1.0, 1.0), "cylinder: radius must be finite"),
        (lambda: cylinder(1.0, 1.0, density=-3.0), "cylinder: density must not be negative"),
        (lambda: sphere("big", 1.0), "sphere: radius must be a number"),
        (lambda: sphere(1.0, -1.0), "sphere: mass must not be negative"),
        (lambda: point_mass(-1.0), "point mass: mass must not be negative"),
        (lambda: point_masses([(1.0, (0, 0, 0)), (1.0,)]), "entry 1 must be a pair"),
        (lambda: point_masses([(1.0, (0, 0, 0)), (1.0, (0, 0))]), "entry 1: point mass: at"),
        (lambda: point_masses(3), "list of pairs"),
        (lambda: point_mass(9e304) + point_mass(9e304), "too large"),
        (lambda: sphere(1.0, 1.0).moved(rotation=2 * np.eye(3)), "rotation must be orthonormal"),
    ],
)
def test_bad_shapes_are_refused_in_words(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_only_properties_can_be_added():
    with pytest.raises(TypeError):
        sphere(1.0, 1.0) + 3.0
    with pytest.raises(TypeError):
        3.0 + sphere(1.0, 1.0)


# ---------------------------------------------------------------------- diagonals, and boxes along a direction


def test_an_inertia_by_its_diagonal():
    x = ca.SX.sym("x")
    assert MassProperties(1.0, (0, 0, 0), (1, 2, 3)) == MassProperties(1.0, (0, 0, 0), np.diag([1.0, 2.0, 3.0]))
    assert MassProperties(1.0, (0, 0, 0), np.array([1, 2, 3])).inertia[2] == (0.0, 0.0, 3.0)
    assert MassProperties(1.0, (0, 0, 0), (x, 2, 3)).inertia[0][0] is x
    assert MassProperties(1.0, (0, 0, 0), ca.vertcat(x, 2, 3)).inertia[1] == (0.0, 2.0, 0.0)


@pytest.mark.parametrize("diagonal", [(1, 1, 3), (1, 1, -1), (1, "x", 1), (1, 2), 5.0, (1, 1, math.nan)])
def test_a_diagonal_that_no_body_has(diagonal):
    with pytest.raises(ModelError, match="inertia"):
        MassProperties(1.0, (0, 0, 0), diagonal)


def cloud(size, edges, at):
    """Return eight masses whose sum has the inertia of a box of mass 12: at the ends of edges shortened by sqrt(3)."""
    edges = np.array(edges, dtype=float) / np.linalg.norm(edges, axis=1)[:, None]
    signs = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    return [(1.5, at + (s * np.array(size) / 2 / math.sqrt(3)) @ edges) for s in signs]


@pytest.mark.parametrize(
    ("options", "edges"),
    [
        ({}, np.eye(3)),
        ({"axis": "y"}, [(0, 1, 0), (0, 0, 1), (1, 0, 0)]),
        ({"axis": "-z"}, [(0, 0, 1), (1, 0, 0), (0, 1, 0)]),
        ({"axis": "x", "across": "z"}, [(1, 0, 0), (0, 0, 1), (0, 1, 0)]),
        ({"axis": (1, 0, 1), "across": "y"}, [(1, 0, 1), (0, 1, 0), (1, 0, -1)]),
        ({"axis": (1, 2, 2), "across": (2, 1, -2)}, [(1, 2, 2), (2, 1, -2), (2, -2, 1)]),
    ],
)
def test_a_box_along_a_direction_against_point_masses(options, edges):
    at = np.array([0.3, -0.2, 0.5])
    found = box((3.0, 1.0, 0.5), mass=12.0, at=at, **options)
    masses, points = zip(*cloud((3.0, 1.0, 0.5), edges, at), strict=True)
    assert_same(found, summed(masses, points))


def test_a_square_bar_needs_no_second_direction():
    bar = box((3.0, 0.2, 0.2), mass=12.0, axis=(1, 1, 1))
    along = np.full(3, 1 / math.sqrt(3))
    assert along @ np.array(bar.inertia) @ along == pytest.approx(12.0 * 2 * 0.2**2 / 12, rel=1e-13)
    with pytest.raises(ModelError, match="give across"):
        box((3.0, 0.2, 0.1), mass=12.0, axis=(1, 1, 1))
    with pytest.raises(ModelError, match="perpendicular"):
        box((3.0, 0.2, 0.1), mass=12.0, axis=(1, 1, 1), across="x")
    x = ca.SX.sym("x")
    assert box((3.0, x, x), mass=12.0, axis=(1, 1, 0)).mass == 12.0
