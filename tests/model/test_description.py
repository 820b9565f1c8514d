"""Fingerprints and pickles of descriptions."""

import copy
import pickle

import casadi as ca
import numpy as np
import pytest

from support.processes import fingerprint_elsewhere
from whippletree.model import Description, Mechanism


def mechanism(value=2.0, **changes):
    """A mechanism with something of everything; each option changes one thing."""
    m = Mechanism(changes.get("name", "m"), gravity=(0, 0, changes.get("gravity", -9.81)))
    p = m.parameter(changes.get("parameter", "p"), value)
    names = ["a", "b"] if changes.get("order", True) else ["b", "a"]
    for name in names:
        m.body(name, mass=changes.get("mass", 1.0) * p, com=(0.1, p, 0), inertia=np.eye(3))
    m.screw("s", m.ground, "a", lead=changes.get("lead", 0.5) * p, axis=changes.get("axis", (1, 2, 3)))
    getattr(m, changes.get("kind", "revolute"))("r", "a", "b", at=(p, ca.sin(p), 0), at_child=(0, 0, 1))
    m.free("f", "b", "ground", prescribed=changes.get("prescribed", False))
    m.frame(changes.get("frame", "tip"), on=changes.get("on", "b"), at=(changes.get("at", 1.0), 0, 0))
    return m


CHANGES = {
    "name": "n",
    "gravity": -1.62,
    "parameter": "q",
    "order": False,
    "mass": 1.0 + 2.0**-52,
    "lead": 0.25,
    "axis": (1, 2, 3.0000001),
    "kind": "prismatic",
    "prescribed": True,
    "frame": "top",
    "on": "a",
    "at": np.nextafter(1.0, 2.0),
}


def test_the_same_description_has_the_same_fingerprint():
    assert mechanism().describe().fingerprint() == mechanism().describe().fingerprint()
    assert mechanism().describe() == mechanism().describe()
    assert len({mechanism().describe(), mechanism().describe()}) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_the_fingerprint(change):
    changed = mechanism(**{change: CHANGES[change]}).describe()
    assert changed.fingerprint() != mechanism().describe().fingerprint()
    assert changed != mechanism().describe()


def test_values_of_parameters_are_not_in_the_fingerprint_but_beside_it():
    two, three = mechanism(2.0).describe(), mechanism(3.0).describe()
    assert two.fingerprint() == three.fingerprint()
    assert (two.parameter_values, three.parameter_values) == ((2.0,), (3.0,))
    assert two != three


def test_a_number_and_a_parameter_of_that_value_differ():
    prints = set()
    for symbolic in (True, False):
        m = Mechanism("m")
        p = m.parameter("p", 2.0)
        m.body("a", mass=p if symbolic else 2.0)
        prints.add(m.describe().fingerprint())
    assert len(prints) == 2


def test_parameters_that_nothing_uses_yet_are_in_the_fingerprint():
    prints = set()
    for names in ((), ("p",), ("q",), ("p", "q"), ("q", "p")):
        m = Mechanism("m")
        for name in names:
            m.parameter(name, 1.0)
        prints.add(m.describe().fingerprint())
    assert len(prints) == 5


def test_negative_zero_makes_no_difference():
    prints = {
        Mechanism("m", gravity=(zero, 0, 1)).describe().fingerprint() for zero in (0, 0.0, -0.0, np.float32(-0.0))
    }
    assert len(prints) == 1


def test_names_cannot_run_together():
    prints = set()
    for names in (("a', 'b",), ("a", "b"), ("ab",), ("a,b",)):
        m = Mechanism("m")
        for name in names:
            m.body(name)
        prints.add(m.describe().fingerprint())
    assert len(prints) == 4


def test_the_fingerprint_is_the_same_in_another_process(tmp_path):
    assert fingerprint_elsewhere(mechanism().describe(), tmp_path) == mechanism().describe().fingerprint()


@pytest.mark.parametrize("travel", [lambda d: pickle.loads(pickle.dumps(d)), copy.deepcopy, copy.copy])
def test_a_description_survives_pickling(travel):
    described = mechanism().describe()
    described.fingerprint()
    back = travel(described)
    assert isinstance(back, Description)
    assert back == described
    # the numbers are the same functions of the parameters, whatever the symbols are
    values = [
        ca.Function("f", [d.parameters[0].symbol], [ca.vertcat(*d.numbers())])(1.7).full() for d in (described, back)
    ]
    assert np.array_equal(*values)
    assert back.joint("s").joint.kind == "screw"
    assert back.frame("tip").body == "b"


def test_the_symbols_of_a_description_are_its_parameters():
    back = pickle.loads(pickle.dumps(mechanism().describe()))
    used = ca.symvar(ca.vertcat(*back.numbers()))
    assert [hash(symbol) for symbol in used] == [hash(back.parameters[0].symbol)]


def test_numbers_are_floats_or_expressions():
    for number in mechanism().describe().numbers():
        assert type(number) is float or (isinstance(number, ca.SX) and not number.is_constant())


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        mechanism().describe().name = "x"


@pytest.mark.parametrize("name", ["[a, b]", "[", "[]", "[1]"])
def test_names_in_brackets_are_names(name: str) -> None:
    def swing(of: str) -> Mechanism:
        m = Mechanism("m")
        length = m.parameter(of, 0.5)
        m.revolute(of, m.ground, m.body(of, mass=2.0, com=(length, 0, 0)), axis="y")
        lag = m.state(of, 1.0, rate=lambda z: m.coordinate(of) - z)
        m.actuator(of, of, effort=lag - length * m.rate(of) + m.position(of)[0])
        return m

    strange, plain = swing(name).build(), swing("plain").build()
    q, v, z = [0.3], [0.2], [0.7]
    assert strange.forward_dynamics(q, v, z=z) == plain.forward_dynamics(q, v, z=z)
    again = pickle.loads(pickle.dumps(strange))
    assert again.forward_dynamics(q, v, z=z, parameters={name: 0.8}) == plain.forward_dynamics(
        q, v, z=z, parameters={"plain": 0.8}
    )
