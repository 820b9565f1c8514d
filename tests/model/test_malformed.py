"""Hundreds of malformed descriptions: each is taken, or refused by our own error with the name in it."""

import contextlib
import math
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import casadi as ca
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.sampling import examples
from whippletree.elements.bodies import MassProperties, box, cylinder, point_mass, point_masses, rod, sphere
from whippletree.elements.drivers import Spline
from whippletree.errors import WhippletreeError
from whippletree.model import Description, Mechanism
from whippletree.spatial.placement import Placement


class Hostile:
    """An object that answers nothing."""

    def _refuse(self, *_):
        raise RuntimeError("leave me alone")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __getitem__ = __array__ = __eq__ = __bool__ = _refuse
    __repr__ = __str__ = __lt__ = __abs__ = __neg__ = _refuse
    __hash__ = None


class HostileList(list):
    """A list that cannot be walked."""

    def __len__(self):
        return 3

    def __iter__(self):
        raise RuntimeError("leave me alone")

    __repr__ = __getitem__ = __iter__


class HostileFloat(float):
    """A number that will not be one."""

    def __float__(self):
        raise ValueError("leave me alone")

    def __add__(self, other):
        raise ValueError("leave me alone")


OTHER = Mechanism("other")
OTHER_BODY = OTHER.body("a", mass=1.0)
OTHER_PARAMETER = OTHER.parameter("p", 1.0)
OTHER_JOINT = OTHER.revolute("J", OTHER.ground, OTHER_BODY)
ENDLESS = []
ENDLESS.append(ENDLESS)

POISON = [
    None,
    True,
    np.False_,
    "",
    "x",
    "\ud800",
    b"abc",
    math.nan,
    math.inf,
    -1.0,
    0.0,
    5e-324,
    1e308,
    -1e308,
    10**400,
    1 + 2j,
    np.complex128(1),
    np.longdouble("1e4000") if np.finfo(np.longdouble).max > 1e4000 else 1e308,
    np.float32(1.5),
    np.array(2.0),
    np.array([1.0, np.nan, 2.0]),
    np.array(["a", "b", "c"]),
    np.array([None, 1, {}], dtype=object),
    np.zeros(3),
    np.ones((3, 1)),
    np.eye(3),
    -np.eye(3),
    np.eye(4),
    np.full((4, 4), 1e308),
    np.ones((3, 3)),
    np.zeros((0, 3)),
    np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]),
    np.datetime64("2020-01-01"),
    np.timedelta64(1),
    np.zeros(3, dtype=[("x", float)]),
    [1, 2],
    [1, [2], 3],
    (1e308, 1e308, 1e308),
    (1, 0, 0),
    [[1, 0, 0], [0, 1, 0]],
    {},
    {1, 2, 3},
    {"x": 1.0},
    {"J": math.nan},
    {("J", 7): 1.0, None: 2.0},
    ("J", 0),
    ("J", "0"),
    ("K", True),
    ca.SX(2, 0),
    range(3),
    iter([1, 2, 3]),
    ENDLESS,
    Decimal("1.5"),
    Decimal("sNaN"),
    Fraction(1, 3),
    ca.SX.sym("stray"),
    ca.SX.sym("stray", 3),
    ca.SX(2),
    ca.SX.eye(3),
    ca.SX(math.nan),
    ca.DM([1, 2, 3]),
    ca.MX.sym("x"),
    OTHER_PARAMETER,
    OTHER_BODY,
    OTHER.ground,
    OTHER_JOINT,
    OTHER.coordinate("J"),
    OTHER.distance("rod", OTHER.ground, OTHER_BODY, length=1.0),
    OTHER.time + math.inf,
    OTHER,
    object(),
    Hostile(),
    HostileList([1, 2, 3]),
    HostileFloat(1.0),
    [HostileFloat(1.0), Hostile(), 1],
    int,
    lambda: 1,
    slice(3),
    ...,
]

scalars = st.one_of(st.floats(), st.integers(), st.floats(-10, 10), st.booleans(), st.complex_numbers(), st.none())


class Poison(int):
    """Stands for an entry of the list above, which would upset the test's own machinery."""


poisons = st.integers(0, len(POISON) - 1).map(Poison)
junk = st.one_of(
    poisons,
    scalars,
    st.text(max_size=4),
    st.binary(max_size=3),
    st.lists(scalars, max_size=4),
    st.lists(st.lists(scalars, min_size=3, max_size=3), min_size=3, max_size=3),
    st.lists(st.one_of(scalars, poisons), min_size=3, max_size=3).map(tuple),
    st.lists(st.floats(-1, 1), min_size=16, max_size=16).map(lambda x: np.array(x).reshape(4, 4)),
)


class FromMechanism(str):
    """Stands for something of the mechanism itself, which exists only when the test runs."""


def mostly(*good):
    """Good values most of the time, so that a call gets past its first check."""
    chosen = st.integers(0, len(good) - 1).map(lambda i: good[i])  # arrays and symbols cannot be sampled from
    return st.integers(0, 6).flatmap(lambda k: junk if k == 3 else chosen)


P = FromMechanism("p")
numbers = mostly(1.0, 2, np.float64(0.5), P)
vectors = mostly((1, 0, 0), [0.0, 2.0, 0.0], np.array([0.0, 0.0, -3.0]), (P, 0, 1))
axes = mostly("x", "-z", (1, 2, 3), np.array([0, 0, -1.0]))
poses = mostly(np.eye(4), Placement(point=(1, 2, 3)), np.diag([1.0, -1.0, -1.0, 1.0]))
bodies = mostly("ground", "a", "b", FromMechanism("ground"), FromMechanism("a"), FromMechanism("b"))
names = mostly("c", "d", "e", "f", "g", "h", "left wheel", "Ω 1", "a", "ground")
properties = mostly(MassProperties(1.0), rod(1.0, 1.0), sphere(1.0, density=2.0))
inertias = mostly(np.eye(3), [[1, 0, 0], [0, 1, 0], [0, 0, 2]], ca.SX.eye(3), ((P, 0, 0), (0, P, 0), (0, 0, P)))

coordinates = mostly("J", ("K", 1), ("K", np.int64(0)), FromMechanism("J"), (FromMechanism("K"), 0))
couplings = mostly({"J": 1.0}, {"J": 2, ("K", 1): P}, {("K", 0): P, ("K", 1): -1.0, "J": 0.0})
written = mostly(*(FromMechanism(f"expression {k}") for k in range(6)))

SPLINE = Spline([0, 1, 3], [0, 2, 1])
joints = mostly("J", "K", FromMechanism("J"), FromMechanism("K"))
motions = mostly(FromMechanism("expression 4"), FromMechanism("p"), 0.5, SPLINE)

ALIGNED = {
    "at": vectors,
    "at_child": vectors,
    "pose": poses,
    "pose_child": poses,
    "prescribed": mostly(True, False),
}
AXIS = {**ALIGNED, "axis": axes, "axis_child": axes}

CALLS = {
    "parameter": ({"value": numbers}, {}),
    "body": ({}, {"properties": properties, "mass": numbers, "com": vectors, "inertia": inertias}),
    "frame": ({"on": bodies}, {"at": vectors, "rotation": mostly(np.eye(3), np.diag([1, -1, -1]))}),
    **{kind: ({"parent": bodies, "child": bodies}, ALIGNED) for kind in ("fixed", "spherical", "free")},
    **{
        kind: ({"parent": bodies, "child": bodies}, AXIS)
        for kind in ("revolute", "prismatic", "cylindrical", "planar", "universal")
    },
    "screw": ({"parent": bodies, "child": bodies, "lead": numbers}, AXIS),
    "distance": ({"parent": bodies, "child": bodies, "length": numbers}, {"at": vectors, "at_child": vectors}),
    "coupling": ({"ratios": couplings}, {"offset": numbers}),
    "gear": ({"first": coordinates, "second": coordinates, "ratio": numbers}, {"offset": numbers}),
    "closure": ({"expression": written}, {}),
    "drive": ({"joint": joints, "position": motions}, {"index": mostly(0, 1, np.int64(1))}),
    "drive_point": (
        {"place": bodies, "position": mostly(*((FromMechanism("expression 4"), None, k) for k in (None, 2.0, SPLINE)))},
        {"at": vectors},
    ),
}
CLOSURES = ("distance", "coupling", "gear", "closure", "drive", "drive_point")
LABELS = {"parameter": "parameter", "body": "body", "frame": "frame", **dict.fromkeys(CLOSURES, "closure")}


@st.composite
def calls(draw):
    kind = draw(st.sampled_from(sorted(CALLS)))
    required, optional = CALLS[kind]
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), unique=True, max_size=3)) if optional else []
    arguments = {name: draw({**required, **optional}[name]) for name in [*required, *chosen]}
    return kind, draw(names), arguments


def real(value, own):
    """Put in what the markers stand for."""
    if type(value) is Poison:
        return POISON[value]
    if type(value) is FromMechanism:
        return own[value]
    if type(value) in (list, tuple):
        return type(value)(real(entry, own) for entry in value)
    if type(value) is dict:
        return {key: real(entry, own) for key, entry in value.items()}
    return value


def start():
    m = Mechanism("m")
    own = {
        "p": m.parameter("p", 0.7),
        "ground": m.ground,
        "a": m.body("a", mass=1.0),
        "b": m.body("b", mass=1.0),
    }
    own |= {"J": m.revolute("J", m.ground, "a"), "K": m.cylindrical("K", "a", "b")}
    return m, own


def expressions(m, own):
    """What is written in the mechanism's symbols, some of it no closure."""
    q, v, w = m.coordinate("J"), m.rate("K", 1), m.velocity("b")
    texts = [q - m.time, ca.sin(q) * v + w[3], m.position("b") - own["p"], v * v, m.time - own["p"], ca.vertcat(q, v)]
    return {f"expression {k}": text for k, text in enumerate(texts)}


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(calls(), min_size=8, max_size=24))
def test_malformed_calls_raise_only_our_errors(sequence):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m, own = start()
        own |= expressions(m, own)
        for kind, drawn, arguments in sequence:
            name = real(drawn, own)
            try:
                getattr(m, kind)(name, **{key: real(value, own) for key, value in arguments.items()})
            except WhippletreeError as error:
                assert LABELS.get(kind, "joint") in str(error)
                if isinstance(name, str) and name.isprintable():
                    assert f'"{name}"' in str(error)
        described = m.describe()
        assert isinstance(described, Description)
        assert len(described.fingerprint()) == 64
        assert all(not isinstance(x, float) or math.isfinite(x) for x in described.numbers())
        assert pickle.loads(pickle.dumps(m)).describe() == described


@settings(max_examples=examples(100), deadline=None)
@given(names, vectors)
def test_malformed_mechanisms_raise_only_our_errors(name, gravity):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        name = real(name, {})
        try:
            Mechanism(name, gravity=real(gravity, {"p": 1.0})).describe().fingerprint()
        except WhippletreeError as error:
            assert "mechanism" in str(error)
            if isinstance(name, str) and name.isprintable():
                assert f'"{name}"' in str(error)


sizes = mostly(1.0, 2, ca.SX.sym("s"))
SHAPES = {
    "rod": (rod, {"length": sizes, "mass": sizes}, {"mass_per_length": sizes, "axis": axes, "at": vectors}),
    "box": (box, {"size": vectors, "mass": sizes}, {"density": sizes, "at": vectors}),
    "cylinder": (
        cylinder,
        {"radius": sizes, "length": sizes, "mass": sizes},
        {"density": sizes, "axis": axes, "at": vectors},
    ),
    "sphere": (sphere, {"radius": sizes, "density": sizes}, {"at": vectors}),
    "point mass": (point_mass, {"mass": sizes}, {"at": vectors}),
    "point masses": (point_masses, {"masses": mostly([(1.0, (0, 0, 0)), (2.0, (1, 1, 1))])}, {}),
}


@st.composite
def shapes(draw):
    name = draw(st.sampled_from(sorted(SHAPES)))
    make, required, optional = SHAPES[name]
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), unique=True)) if optional else []
    return name, make, {key: draw({**required, **optional}[key]) for key in [*required, *chosen]}


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes(), vectors, mostly(np.eye(3)))
def test_malformed_shapes_raise_only_our_errors(shape, at, rotation):
    name, make, arguments = shape
    own = {"p": ca.SX.sym("p")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made = make(**{key: real(value, own) for key, value in arguments.items()})
        except WhippletreeError as error:
            assert name in str(error)
            return
        with contextlib.suppress(WhippletreeError):
            moved = made.moved(at=real(at, own), rotation=real(rotation, own))
            assert len((made + moved).about((1, 2, 3))) == 3


def test_every_poison_in_every_place():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind, (required, optional) in CALLS.items():
            good = {"parent": "a", "child": "b", "on": "a", "value": 1.0, "lead": 1.0, "length": 1.0}
            good |= {"ratios": {"J": 1.0}, "first": "J", "second": ("K", 1), "ratio": -2.0, "joint": "J", "place": "a"}
            m = before = None
            for place in ["name", *required, *optional]:
                for k, poison in enumerate(POISON):
                    if m is None:  # what is refused leaves the mechanism as it was, so that it serves again
                        m, own = start()
                        before = m.describe()
                        good["expression"] = m.coordinate(own["J"]) - m.time
                        good["position"] = (m.time, None, 1.0) if kind == "drive_point" else m.time
                    arguments = {**{key: good[key] for key in required}, "name": f"it {k}", place: poison}
                    try:
                        getattr(m, kind)(**arguments)
                    except WhippletreeError as error:
                        assert place == "name" or f'"it {k}"' in str(error)
                        continue
                    assert m.describe() != before
                    m = None
            assert m is None or m.describe() == before


def test_every_poison_as_a_place_or_coordinate():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for poison in POISON:
            for ask in ("coordinate", "rate", "position", "rotation", "velocity"):
                m, _ = start()
                with contextlib.suppress(WhippletreeError):
                    assert isinstance(getattr(m, ask)(poison), ca.SX)
            with contextlib.suppress(WhippletreeError):
                assert isinstance(m.coordinate("K", poison), ca.SX)
