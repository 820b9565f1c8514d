"""Hundreds of malformed forces and states: each is taken, or refused by our own error with the name in it."""

import math
import pickle
import warnings

import casadi as ca
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.test_malformed import POISON, FromMechanism, P, mostly, names, numbers, poses, real, start, vectors
from support.sampling import examples
from whippletree.errors import WhippletreeError
from whippletree.model import Description, Mechanism

OTHER = Mechanism("other")
OTHER.revolute("J", OTHER.ground, OTHER.body("a"))
MORE = [
    *POISON,
    OTHER.state("z", 1.0),
    OTHER.elongation,
    OTHER.friction("F", "J", viscous=1.0),
    lambda x: x,
    lambda x, y: None,
    lambda *_: 1 / 0,
    lambda *_: POISON,
    lambda *_: ca.SX.sym("stray"),
    lambda *_: math.nan,
    np.full(6, math.nan),
    np.full((6, 6), math.inf),
    np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -1.0]),
    np.ones(6) * 1e308,
    np.full((6, 6), 1e308),
    np.arange(36.0).reshape(6, 6),
    [ca.SX.sym("stray")] * 6,
]

joints = mostly("J", "K", FromMechanism("J"), FromMechanism("K"))
indices = mostly(0, 1, np.int64(1))
places = mostly("a", "b", "tip", "ground", FromMechanism("a"), FromMechanism("ground"))
written = mostly(1.0, *(FromMechanism(f"expression {k}") for k in range(6)))
laws = mostly(*(FromMechanism(f"law {k}") for k in range(5)))
triples = mostly((1, 2, 3), np.zeros(3), (P, 0, 1), FromMechanism("three"))
sixes = mostly(np.ones(6), (1, 2, 3, 4, 5, P), np.eye(6))
wrenches = mostly(np.ones(6), (1, 2, 3, 4, 5, P), FromMechanism("six"))

CALLS = {
    "spring": (
        {"parent": places, "child": places},
        {
            **dict.fromkeys(("stiffness", "free_length", "damping"), numbers),
            "law": laws,
            "energy": laws,
            "at": vectors,
            "at_child": vectors,
        },
    ),
    "bushing": (
        {"parent": places, "child": places, "stiffness": sixes},
        {"damping": sixes, "at": vectors, "at_child": vectors, "pose": poses, "pose_child": poses},
    ),
    "torsion_spring": (
        {"joint": joints, "stiffness": numbers},
        {"rest": numbers, "damping": numbers, "index": indices},
    ),
    "friction": ({"joint": joints, "coulomb": numbers}, {"viscous": numbers, "speed": numbers, "index": indices}),
    "limit": (
        {"joint": joints, "stiffness": numbers, "upper": numbers},
        {"lower": numbers, "damping": numbers, "width": numbers, "index": indices},
    ),
    "actuator": ({"joint": joints, "effort": written}, {"index": indices}),
    "load": (
        {"place": places},
        {
            "force": triples,
            "moment": triples,
            "wrench": wrenches,
            "at": vectors,
            "frame": mostly("ground", "body"),
        },
    ),
    "contact": (
        {"place": places, "stiffness": numbers},
        {
            **dict.fromkeys(("damping", "friction", "radius", "speed", "width"), numbers),
            "at": vectors,
            "normal": mostly("z", (1, 2, 3)),
            "offset": written,
        },
    ),
    "state": ({}, {"value": numbers, "rate": laws}),
}
GOOD = {
    "parent": "a",
    "child": "b",
    "joint": "J",
    "place": "a",
    "stiffness": 1.0,
    "coulomb": 1.0,
    "upper": 1.0,
    "effort": 1.0,
}


def begin():
    m, own = start()
    own["tip"] = m.frame("tip", on="b", at=(1, 0, 0))
    z = m.state("z", 0.5)
    q, v, x, rate = m.coordinate("J"), m.rate("K", 1), m.elongation, m.elongation_rate
    texts = [q - m.time, ca.sin(q) * v + z, m.position("b")[0], z, m.time, m.velocity("tip")[4] * own["p"]]
    own |= {f"expression {k}": text for k, text in enumerate(texts)}
    written_laws = [x, 3 * x**3 + rate, x * z + q, lambda x, rate=0: x * x, lambda *_: m.time]
    own |= {f"law {k}": text for k, text in enumerate(written_laws)}
    own |= {"three": m.position("tip"), "six": ca.vertcat(m.velocity("tip")[:3], z, v, q)}
    return m, own


@st.composite
def calls(draw):
    kind = draw(st.sampled_from(sorted(CALLS)))
    required, optional = CALLS[kind]
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), unique=True, max_size=3))
    arguments = {name: draw({**required, **optional}[name]) for name in [*required, *chosen]}
    return kind, draw(names), arguments


def label(kind):
    return "state" if kind == "state" else "force"


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(calls(), min_size=8, max_size=24))  # many calls on one mechanism: making that takes longest
def test_malformed_calls_raise_only_our_errors(sequence):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m, own = begin()
        for kind, drawn, arguments in sequence:
            name = real(drawn, own)
            try:
                getattr(m, kind)(name, **{key: real(value, own) for key, value in arguments.items()})
            except WhippletreeError as error:
                assert label(kind) in str(error)
                if isinstance(name, str) and name.isprintable():
                    assert f'"{name}"' in str(error)
        described = m.describe()
        assert isinstance(described, Description) and len(described.fingerprint()) == 64
        assert all(not isinstance(x, float) or math.isfinite(x) for x in described.numbers())
        assert pickle.loads(pickle.dumps(m)).describe() == described
        assert all(isinstance(x, float) for x in described.folded().numbers())


def test_every_poison_in_every_place():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind, (required, optional) in CALLS.items():
            m, before = None, None
            for place in ["name", *required, *optional]:
                for k, poison in enumerate(MORE):
                    if m is None:  # what is refused leaves the mechanism as it was, so that it serves again
                        m, _ = begin()
                        before = m.describe()
                    name = f"it {k}"
                    arguments = {key: GOOD[key] for key in required}
                    if kind == "bushing":
                        arguments["stiffness"] = np.ones(6)
                    if kind == "load" and place != "wrench":
                        arguments["force"] = (1, 2, 3)
                    if kind == "spring" and place not in ("law", "energy", "stiffness"):
                        arguments |= {"stiffness": 1.0, "free_length": 1.0}
                    if place == "energy":
                        arguments["law"] = m.elongation
                    try:
                        getattr(m, kind)(**{**arguments, "name": name, place: poison})
                    except WhippletreeError as error:
                        assert place == "name" or f'{label(kind)} "{name}"' in str(error)
                        assert (len(m._forces), len(m._states)) == (len(before.forces), len(before.states))
                        continue
                    after = m.describe()
                    assert len(after.forces) + len(after.states) == len(before.forces) + len(before.states) + 1
                    assert len(after.fingerprint()) == 64
                    m = None
            assert m is None or m.describe() == before


def test_every_poison_as_a_state():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for poison in MORE:
            m, _ = begin()
            for call in (lambda m=m, x=poison: m.state_symbol(x), lambda m=m, x=poison: m.state_rate(x, 1.0)):
                try:
                    call()
                except WhippletreeError as error:
                    assert "state" in str(error)
                else:
                    raise AssertionError("there is no such state")
            before = m.describe()
            try:
                m.state_rate("z", poison)
            except WhippletreeError as error:
                assert 'state "z"' in str(error) and m.describe() == before
