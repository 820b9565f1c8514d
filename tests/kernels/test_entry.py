"""The fast way in against the long way: the same bits, and an answer or our error for every odd argument."""

from __future__ import annotations

import ctypes
import gc
import sys

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.systems import arm, floater, kernel_of, loaded, same_bits, state
from support.systems import chain as system
from whippletree.kernels import entry
from whippletree.kernels.entry import UNIT_TOLERANCE
from whippletree.system import calls

NAMES = ("forward_dynamics", "inverse_dynamics", "bias_force", "mass_matrix")


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the calls that go the long way."""
    taken: list[int] = []
    original = calls.Call._plain_rows

    def counted(self: calls.Call, *arguments: object) -> object:
        taken.append(1)
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(calls.Call, "_plain_rows", counted)
    return taken


def test_supported_here():
    if sys.implementation.name != "cpython":
        pytest.skip("the fast way is for CPython")
    assert entry.supported()


@pytest.mark.parametrize("make", [system, floater])
def test_both_ways_give_the_same_bits(make, long_ways):
    s = make()
    for seed in range(20):
        q, v, tau = state(s, seed)
        fast = [
            s.forward_dynamics(q, v, tau),
            s.inverse_dynamics(q, v, tau),
            s.bias_force(q, v),
            s.mass_matrix(q),
        ]
        assert not long_ways
        slow = [
            s.forward_dynamics(list(q), v, tau),
            s.inverse_dynamics(q, list(v), tau),
            s.bias_force(q, tuple(v)),
            s.mass_matrix(list(q)),
        ]
        assert len(long_ways) == 4
        long_ways.clear()
        for a, b in zip(fast, slow, strict=True):
            assert same_bits(a, b)


def misaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


class Plain(np.ndarray):
    """A subclass with nothing to it."""


ODD = {
    "list": list,
    "tuple": tuple,
    "Fortran order": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: _locked(x.copy()),
    "subclass": lambda x: x.view(Plain),
    "masked": np.ma.array,
    "other bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "misaligned": misaligned,
    "long double": lambda x: x.astype(np.longdouble),
    "from a buffer": lambda x: np.frombuffer(x.tobytes()),
    "a row": lambda x: np.tile(x, (4, 1))[2],
    "a column": lambda x: np.tile(x[:, None], (1, 4))[:, 2],
}


def _locked(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("form", ODD)
def test_odd_arrays_give_the_same_bits(form):
    for s in (system(), floater()):
        q, v, tau = state(s, 5)
        expected = s.forward_dynamics(q, v, tau)
        for which in range(3):
            given = [q, v, tau]
            given[which] = ODD[form](given[which])
            assert same_bits(s.forward_dynamics(*given), expected)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.int8, np.uint16])
def test_other_numbers_are_converted(kind):
    q, v = np.array([1, 0, 2], dtype=kind), np.array([1, 2, 3], dtype=kind)
    assert same_bits(system().forward_dynamics(q, v, q), system().forward_dynamics([1, 0, 2], [1, 2, 3], [1, 0, 2]))


BAD = {
    "too short": (np.zeros(2), "must have 3 numbers"),
    "too long": (np.zeros(4), "must have 3 numbers"),
    "empty": (np.zeros(0), "must have 3 numbers"),
    "a number": (1.0, "must have 3 numbers"),
    "None": (None, "is missing"),
    "text": ("abc", "must hold real numbers"),
    "complex": (np.zeros(3, dtype=complex), "must hold real numbers"),
    "bool": (np.zeros(3, dtype=bool), "must hold real numbers"),
    "objects": (np.array([0.0, None, 1.0], dtype=object), "must hold real numbers"),
    "dates": (np.zeros(3, dtype="datetime64[s]"), "must hold real numbers"),
    "ragged": ([[1.0], [1.0, 2.0]], "cannot be read|must hold real numbers"),
    "NaN": (np.array([0.0, np.nan, 0.0]), r"\[1\] is nan.*joint 1"),
    "infinity": (np.array([0.0, 0.0, -np.inf]), r"\[2\] is -inf.*joint 2"),
    "too big for a double": (
        np.array([0, 0, 1], dtype=np.longdouble) * np.longdouble("1e4000"),
        r"\[2\] is inf",
    ),
}
if np.finfo(np.longdouble).maxexp == 1024:
    del BAD["too big for a double"]


@pytest.mark.parametrize("kind", BAD)
def test_bad_arguments_are_refused(kind):
    value, message = BAD[kind]
    z = np.zeros(3)
    for which, name in enumerate(("q", "v", "tau")):
        if value is None and name == "tau":
            continue  # it may be left out
        given = [z, z, z]
        given[which] = value
        with pytest.raises(wt.StateError, match=message) as caught:
            system().forward_dynamics(*given)
        assert name in str(caught.value)


def test_tau_may_be_left_out():
    z = np.zeros(3)
    expected = system().forward_dynamics(z, z, z)
    assert same_bits(system().forward_dynamics(z, z), expected)
    assert same_bits(system().forward_dynamics(z, z, None), expected)
    assert same_bits(system().forward_dynamics(list(z), z, None), expected)


def test_a_two_dimensional_array_is_a_batch():
    z = np.zeros(3)
    result = system().forward_dynamics(np.zeros((1, 3)), z, z)
    assert result.shape == (1, 3)
    assert same_bits(result[0], system().forward_dynamics(z, z, z))


# ---------------------------------------------------------------------- out=


def test_out_is_returned_and_filled(long_ways):
    q, v, tau = state(system(), 6)
    out = np.full(3, np.nan)
    assert system().forward_dynamics(q, v, tau, out=out) is out
    assert same_bits(out, system().forward_dynamics(q, v, tau))
    matrix = np.full((3, 3), np.nan)
    assert system().mass_matrix(q, out=matrix) is matrix
    assert same_bits(matrix, system().mass_matrix(q))
    assert not long_ways


@pytest.mark.parametrize("which", range(3))
def test_out_may_be_an_input(which):
    given = [x.copy() for x in state(system(), 7)]
    expected = system().forward_dynamics(*given)
    out = given[which]
    assert system().forward_dynamics(*given, out=out) is out
    assert same_bits(out, expected)


@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
def test_out_may_overlap_an_input(shift):
    q, v, tau = state(system(), 8)
    expected = system().forward_dynamics(q, v, tau)
    memory = np.zeros(20)
    inside, out = memory[5:8], memory[5 + shift : 8 + shift]
    inside[:] = v
    system().forward_dynamics(q, inside, tau, out=out)
    assert same_bits(out, expected)


def test_out_may_overlap_a_batch():
    q, v, tau = (x.copy() for x in state(system(), 9, (50,)))
    expected = system().forward_dynamics(q, v, tau)
    assert same_bits(system().forward_dynamics(q, v, tau, out=v), expected)
    memory = np.zeros((60, 3))
    memory[5:55] = q
    v[:] = state(system(), 9, (50,))[1]
    assert same_bits(system().forward_dynamics(memory[5:55], v, tau, out=memory[3:53]), expected)


def test_out_may_be_a_subclass_or_misaligned():
    q, v, tau = state(system(), 10)
    expected = system().forward_dynamics(q, v, tau)
    for out in (np.zeros(3).view(Plain), misaligned(np.zeros(3)), np.ma.zeros(3)):
        assert system().forward_dynamics(q, v, tau, out=out) is out
        assert same_bits(np.asarray(out), expected)
    rows = misaligned(np.zeros((9, 3)))
    system().forward_dynamics(np.tile(q, (9, 1)), v, tau, out=rows)
    assert same_bits(rows, np.tile(expected, (9, 1)))


BAD_OUT = {
    "a list": [0.0] * 3,
    "single": np.zeros(3, dtype=np.float32),
    "whole numbers": np.zeros(3, dtype=np.int64),
    "other bytes": np.zeros(3).astype(np.dtype(np.float64).newbyteorder()),
    "short": np.zeros(2),
    "a matrix": np.zeros((1, 3)),
    "every second": np.zeros(6)[::2],
    "read-only": _locked(np.zeros(3)),
    "text": "out",
    "True": True,
}


@pytest.mark.parametrize("kind", BAD_OUT)
def test_a_bad_out_is_refused(kind):
    z = np.zeros(3)
    with pytest.raises(wt.StateError, match="out="):
        system().forward_dynamics(z, z, z, out=BAD_OUT[kind])
    with pytest.raises(wt.StateError, match="out="):
        system().mass_matrix(z, out=BAD_OUT[kind])


# ---------------------------------------------------------------------- the function itself


def test_the_codes():
    call = system().kernels.kernel("forward_dynamics").entry
    z, out = np.zeros(3), np.empty(3)
    assert call(out, z, z, z) == entry.DONE
    assert call(out, z, z, None) == entry.DONE
    assert call(out, z, z) == entry.DONE
    assert call(out, z, np.full(3, np.nan), z) == entry.NOT_FINITE_INPUT
    assert call(out, z, np.full(3, np.nan)) == entry.NOT_FINITE_INPUT
    assert call(out, z, np.full(3, 1e200), z) == entry.NOT_FINITE_RESULT
    for odd in (
        (),
        (out,),
        (out, z),
        (out, z, z, z, z),
        (out, z, z, z, None),
        (out, None, z, z),
        (out, z, None, z),
        (out, z, None),
        (None, z, z, z),
        (None,),
    ):
        assert call(*odd) == entry.SLOW_PATH
    for odd in (
        object(),
        1,
        "abc",
        np.zeros(4),
        np.zeros((3, 1)),
        np.zeros(3, "f4"),
        np.float64(1.0),
        np.ndarray,
    ):
        assert call(out, odd, z, z) == entry.SLOW_PATH
        assert call(out, z, z, odd) == entry.SLOW_PATH
        assert call(odd, z, z, z) == entry.SLOW_PATH
    assert call(out, z, z, out) == entry.SLOW_PATH
    assert call(out, z, out) == entry.SLOW_PATH
    with pytest.raises(TypeError):
        call(out, z, z, tau=z)


def test_inputs_left_off_at_the_end_take_their_defaults(long_ways):
    s = loaded().build()
    q, v, tau = state(s, 14)
    kernel = s.kernels.kernel("forward_dynamics")
    assert kernel.input_names == ["q", "v", "tau", "parameters"]
    defaults = np.zeros(3), s.description.parameter_values
    for given in ((q, v), (q, v, None), (q, v, tau), (q, v, tau, None), (q, v, None, None), (q, v, None, defaults[1])):
        out, expected = np.full(3, np.nan), np.full(3, np.nan)
        arrays = [None if x is None else np.asarray(x, dtype=np.float64) for x in given]
        assert kernel.entry(out, *arrays) == entry.DONE
        kernel.one([*arrays, *[None] * (4 - len(arrays))], [expected])
        assert same_bits(out, expected)
    assert same_bits(s.forward_dynamics(q, v), s.forward_dynamics(q, v, np.zeros(3)))
    assert same_bits(s.inverse_dynamics(q, v), s.inverse_dynamics(q, v, np.zeros(3)))
    assert not long_ways
    heavy = s.forward_dynamics(q, v, parameters={"payload": 5.0})
    assert not long_ways  # parameters are arrays by then
    assert not same_bits(heavy, s.forward_dynamics(q, v))
    assert same_bits(s.forward_dynamics(q, v, tau), s.forward_dynamics(list(q), v, tau))  # nothing stays behind


def test_an_input_without_a_default_may_not_be_left_off():
    wrenched = system().kernels.kernel("bias_force", wrenches=["tip"])
    assert wrenched.input_names == ["q", "v", "wrench on tip"]
    z, out = np.zeros(3), np.full(3, -7.0)
    assert wrenched.entry(out, z, z, np.zeros(6)) == entry.DONE
    out[:] = -7.0
    assert wrenched.entry(out, z, z) == entry.SLOW_PATH
    assert wrenched.entry(out, z, z, None) == entry.SLOW_PATH
    assert (out == -7.0).all()


def test_matrices_are_checked_side_by_side():
    call, q = system().kernels.kernel("mass_matrix").entry, state(system(), 15)[0]
    out = np.full((3, 3), np.nan)
    assert call(out, q) == entry.DONE
    assert same_bits(out, system().mass_matrix(list(q)))
    for shape in ((9,), (3,), (1, 9), (9, 1), (3, 3, 1), (1, 3, 3), (2, 3), (3, 4), (4, 3), (0, 3), ()):
        wrong = np.full(shape, -7.0)
        assert call(wrong, q) == entry.SLOW_PATH
        assert (wrong == -7.0).all()
    locked = _locked(np.full((3, 3), -7.0))
    for odd in (locked, np.full((3, 3), -7.0, order="F"), np.full((3, 6), -7.0)[:, ::2], np.full((3, 3), -7, "i8")):
        assert call(odd, q) == entry.SLOW_PATH
        assert (odd == -7).all()


def test_a_kernel_with_several_results_has_no_fast_way():
    x = ca.SX.sym("x")
    kernel = kernel_of(ca.Function("f", [x], [2 * x, 3 * x], ["x"], ["y", "z"]))
    assert kernel.entry is None
    two = [np.empty(1), np.empty(1)]
    kernel.one([np.array([5.0])], two)
    assert [float(y[0]) for y in two] == [10.0, 15.0]


# ---------------------------------------------------------------------- quaternions


@pytest.mark.parametrize("where", [0, 7])
@pytest.mark.parametrize("scale", [0.0, 1e-200, 0.9, 1.001, -1.1, 1e200])
def test_a_quaternion_off_the_sphere_is_left_to_the_long_way(where, scale):
    s = floater()
    q, v, tau = state(s, 16)
    call, out = s.kernels.kernel("forward_dynamics").entry, np.full(s.nv, -7.0)
    bad = q.copy()
    bad[where : where + 4] *= scale
    assert call(out, bad, v, tau) == entry.SLOW_PATH
    assert (out == -7.0).all()
    assert call(out, q, v, tau) == entry.DONE
    difference = s.kernels.kernel("difference").entry
    assert difference(out, q, bad) == difference(out, bad, q) == entry.SLOW_PATH
    assert difference(out, q, q) == entry.DONE
    bad[where + 1] = np.nan
    assert call(out, bad, v, tau) == entry.NOT_FINITE_INPUT


def test_only_quaternions_have_unit_length():
    """Numbers beside a quaternion, and those of systems without one, may be of any size."""
    q, v, tau = state(floater(), 17)
    q[4:7], q[11] = 100.0, -50.0
    assert floater().kernels.kernel("forward_dynamics").entry(np.empty(floater().nv), q, v, tau) == entry.DONE
    assert system().kernels.kernel("forward_dynamics").signature.quaternions == ()
    assert floater().kernels.kernel("difference").signature.quaternions == ((0, 0), (0, 7), (1, 0), (1, 7))


@pytest.mark.parametrize("edge", [1 - UNIT_TOLERANCE, 1 + UNIT_TOLERANCE])
def test_all_ways_draw_the_same_line(edge):
    """To the last bit of the tolerance: what one way in accepts, the others accept."""
    s = floater()
    q, v, _ = state(s, 18)
    call, out = s.kernels.kernel("forward_dynamics").entry, np.empty(s.nv)
    rng = np.random.default_rng(18)
    answers = set()
    for _ in range(300):  # rounding puts them on either side of the line
        rim = q.copy()
        rim[0:4] = rng.normal(size=4)
        rim[0:4] *= np.sqrt(edge) / np.linalg.norm(rim[0:4])
        good = call(out, rim, v) == entry.DONE
        answers.add(good)
        for given in (rim, list(rim), rim[None], np.stack([q] * 9 + [rim]), np.stack([q] * 9 + [rim])[:, None]):
            if good:
                assert np.isfinite(s.forward_dynamics(given, v)).all()
            else:
                with pytest.raises(wt.StateError, match="unit quaternion"):
                    s.forward_dynamics(given, v)
    assert answers == {True, False}


def test_references_do_not_leak():
    s, good = system(), state(system(), 11)
    out, odd, none = np.empty(3), [0.0, 0.0, 0.0], None
    call = s.kernels.kernel("forward_dynamics").entry
    watched = [*good, out, odd, none, np.ndarray, np.dtype(np.float64), call]
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(100_000):
        call(out, *good)
    for _ in range(20_000):
        call(out, good[0], good[1], None)  # a default
        call(out, good[0], good[1])  # one left off
        call(out, odd, good[1], good[2])  # the long way
        call(good[0], *good)  # an overlap
        call(good[0])
    for _ in range(20_000):
        s.forward_dynamics(*good, out=out)
    gc.collect()
    after = [sys.getrefcount(x) for x in watched]
    # None and types are shared with everything else: a leak would show as tens of thousands
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 100


def test_the_entry_keeps_what_it_needs_alive():
    call = arm(2, "short-lived").build().kernels.kernel("bias_force").entry
    gc.collect()
    keep = [np.random.default_rng(0).normal(size=1000) for _ in range(100)]
    z, out = np.zeros(2), np.empty(2)
    assert call(out, z, z) == entry.DONE
    assert keep


def test_without_the_fast_way(monkeypatch):
    monkeypatch.setattr(entry, "supported", lambda: False)
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    s = arm(3).build()
    q, v, tau = state(s, 12)
    assert s.kernels.kernel("forward_dynamics").entry is None
    assert same_bits(s.forward_dynamics(q, v, tau), system().forward_dynamics(q, v, tau))
    out = np.empty((3, 3))
    assert s.mass_matrix(q, out=out) is out
    assert same_bits(out, system().mass_matrix(q))
    for value, message in BAD.values():
        with pytest.raises(wt.StateError, match=message):
            s.forward_dynamics(value, v, tau)


def test_supported_looks_at_the_arrays(monkeypatch):
    check = entry.supported.__wrapped__
    assert check()
    for name in ("_DATA", "_NDIM", "_DIMENSIONS", "_DESCRIPTION", "_FLAGS"):
        with monkeypatch.context() as patch:
            patch.setattr(entry, name, getattr(entry, name) + 8)
            if name == "_DIMENSIONS":  # it would be followed as a pointer: point it at something harmless
                patch.setattr(entry, name, entry._DATA)
            assert not check()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
        assert not check()


def test_by_address_through_ctypes():
    kernel = system().kernels.kernel("forward_dynamics")
    assert kernel.input_names == ["q", "v", "tau"]
    assert (kernel.input_sizes, kernel.output_sizes) == ([3, 3, 3], [3])
    inputs, out = [x.copy() for x in state(system(), 13)], np.empty(3)
    work = np.empty(max(kernel.work_size, 1))
    pointer = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(kernel.address)
    given = (pointer * 3)(*(x.ctypes.data_as(pointer) for x in inputs))
    results = (pointer * 1)(out.ctypes.data_as(pointer))
    function(
        ctypes.cast(given, ctypes.c_void_p),
        ctypes.cast(results, ctypes.c_void_p),
        work.ctypes.data,
        kernel.constants_address,
        kernel.tables_address,
    )
    assert same_bits(out, system().forward_dynamics(*inputs))
    assert kernel.default_input("tau").tolist() == [0.0, 0.0, 0.0]
