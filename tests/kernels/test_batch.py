"""Batches: the same bits for a state wherever it stands, however many threads share the work."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import whippletree as wt
from support.systems import arm, floating, same_bits, state
from whippletree.kernels.batch import lane_buffer
from whippletree.kernels.kernel import NotFiniteError
from whippletree.kernels.native import host

BIG = 10_001


@cache
def chain() -> wt.System:
    return arm(3).build()


@cache
def floater() -> wt.System:
    return floating().build()


@cache
def big() -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    given = state(chain(), 1, (BIG,))
    return given, chain().forward_dynamics(*given, threads=1)


@pytest.mark.parametrize("count", range(1, 41))
def test_small_batches_have_the_bits_of_single_states(count):
    for system in (chain(), floater()):
        q, v, tau = state(system, count, (count,))
        batch = system.forward_dynamics(q, v, tau)
        single = np.array([system.forward_dynamics(q[i], v[i], tau[i]) for i in range(count)])
        assert same_bits(batch, single)
        assert same_bits(system.mass_matrix(q), [system.mass_matrix(row) for row in q])


def test_a_big_batch_has_the_bits_of_single_states():
    (q, v, tau), batch = big()
    single = np.array([chain().forward_dynamics(*row) for row in zip(q, v, tau, strict=True)])
    assert same_bits(batch, single)


@pytest.mark.parametrize("threads", [2, 3, 5, 16, 1000])
def test_threads_do_not_change_a_bit(threads):
    given, expected = big()
    assert same_bits(chain().forward_dynamics(*given, threads=threads), expected)


@pytest.mark.parametrize("count", [63, 64, 127, 128, 129, 191, 193, 1000, 1003])
def test_shares_cover_every_state_once(count):
    (q, v, tau), expected = big()
    for threads in (1, 2, 3, 7):
        out = np.full((count, 3), np.nan)
        chain().forward_dynamics(q[:count], v[:count], tau[:count], out=out, threads=threads)
        assert same_bits(out, expected[:count])


def test_place_in_the_batch_does_not_change_a_bit():
    (q, v, tau), expected = big()
    order = np.random.default_rng(2).permutation(BIG)
    assert same_bits(chain().forward_dynamics(q[order], v[order], tau[order]), expected[order])
    for start in range(1, 2 * host().lanes):
        part = slice(start, start + 37)
        assert same_bits(chain().forward_dynamics(q[part], v[part], tau[part]), expected[part])


def test_a_far_state_does_not_change_its_neighbours():
    (q, v, tau), expected = big()
    q = q[:40].copy()
    q[7, 1], q[20, 0], q[33] = 1e9, -3e200, 1e12
    result = chain().forward_dynamics(q, v[:40], tau[:40])
    near = np.delete(np.arange(40), [7, 20, 33])
    assert same_bits(result[near], expected[near])
    for far in (7, 20, 33):
        assert same_bits(result[far], chain().forward_dynamics(q[far], v[far], tau[far]))


def test_nothing_is_written_beyond_the_batch():
    system = chain()
    for count in range(1, 2 * host().lanes + 2):
        q = state(system, 3, (count,))[0]
        memory = np.full((count + 40) * 9, -7.0)
        out = memory[20 * 9 : 20 * 9 + count * 9].reshape(count, 3, 3)
        system.mass_matrix(q, out=out)
        assert (memory[: 20 * 9] == -7.0).all()
        assert (memory[20 * 9 + count * 9 :] == -7.0).all()
        assert same_bits(out, system.mass_matrix(q))


def test_one_vector_for_all_states():
    (q, v, tau), _ = big()
    system = chain()
    q, v, tau = q[:77], v[0], tau[0]
    expected = system.forward_dynamics(q, np.tile(v, (77, 1)), np.tile(tau, (77, 1)))
    assert same_bits(system.forward_dynamics(q, v, tau), expected)
    assert same_bits(system.forward_dynamics(q[0], np.tile(v, (77, 1)), tau)[5], expected[0])
    assert same_bits(system.forward_dynamics(q, v), system.forward_dynamics(q, v, np.zeros(3)))


def test_batches_of_batches():
    (q, v, tau), _ = big()
    system = chain()
    q, v = q[:24].reshape(4, 6, 3), v[:6]
    result = system.forward_dynamics(q, v, tau[:4, None])
    assert result.shape == (4, 6, 3)
    for i in range(4):
        for j in range(6):
            assert same_bits(result[i, j], system.forward_dynamics(q[i, j], v[j], tau[i]))


def test_an_empty_batch():
    assert chain().forward_dynamics(np.zeros((0, 3)), np.zeros(3)).shape == (0, 3)
    assert chain().mass_matrix(np.zeros((2, 0, 3))).shape == (2, 0, 3, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("threads", [1, 3])
def test_an_input_that_is_not_finite_is_found(bad, threads):
    (q, v, tau), _ = big()
    for position in (0, 1, 7, 8, 5000, 9999, BIG - 1):
        for which, name in enumerate(("q", "v", "tau")):
            arrays = [q, v, tau]
            arrays[which] = arrays[which].copy()
            arrays[which][position, 2] = bad
            with pytest.raises(wt.StateError) as caught:
                chain().forward_dynamics(*arrays, threads=threads)
            message = str(caught.value)
            assert f"{name}[2] in state {position} is {bad}" in message
            assert 'joint "joint 2"' in message


@pytest.mark.parametrize("count", [1, 5, 8, 9, 300])
def test_a_result_that_is_not_finite_is_found(count):
    system, width = chain(), host().lanes
    q, v, _ = state(system, 4, (count,))
    for position in {0, count // 2, count - 1}:
        fast = v.copy()
        fast[position] = 1e200
        with pytest.raises(wt.DynamicsError, match="not finite"):
            system.forward_dynamics(q, fast)
        outputs = [np.empty((count, 3))]
        with pytest.raises(NotFiniteError) as caught:
            system.kernel("forward_dynamics").many([q, fast, None], outputs, count, 1)
        assert caught.value.where == "result"
        assert caught.value.state <= position < caught.value.state + width


def test_scratch_memory_is_large_enough_and_no_larger():
    assert lane_buffer([3, 3], [9], 8, 0) == 8 * 15 + 9
    assert lane_buffer([], [], 4, 5) == 20


def test_many_python_threads_at_once():
    """Kernels are re-entrant: one system, single states and batches from every thread."""
    system = chain()
    (q, v, tau), expected = big()

    def work(k: int) -> bool:
        rows = slice(97 * k, 97 * k + 150)
        good = True
        for i in range(20):
            good &= same_bits(system.forward_dynamics(q[rows], v[rows], tau[rows], threads=1 + i % 3), expected[rows])
            at = 97 * k + i
            good &= same_bits(system.forward_dynamics(q[at], v[at], tau[at]), expected[at])
            good &= same_bits(system.forward_dynamics(list(q[at]), v[at], tau[at]), expected[at])
        return good

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(32)))


def test_many_python_threads_at_the_first_call():
    """The first call traces and compiles: sixteen threads may be the first."""
    expected = arm(3, "first").build().forward_dynamics(np.ones(3), np.ones(3))
    for name in ("again", "and again"):
        system = arm(3, name).build()
        with ThreadPoolExecutor(16) as pool:
            calls = [pool.submit(system.forward_dynamics, np.ones(3), np.ones(3)) for _ in range(16)]
            calls += [pool.submit(system.mass_matrix, np.ones((9, 3))) for _ in range(8)]
            assert all(same_bits(call.result(), expected) for call in calls[:16])


def _child(queue: multiprocessing.Queue) -> None:
    (q, v, tau), expected = big()
    queue.put(same_bits(chain().forward_dynamics(q, v, tau, threads=2), expected))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    (q, v, tau), _ = big()
    chain().forward_dynamics(q, v, tau, threads=2)  # the parent's threads are up
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,), daemon=True)
    child.start()
    assert queue.get(timeout=60)
    child.join(30)
    assert child.exitcode == 0


def test_more_threads_than_processors():
    (q, v, tau), expected = big()
    many = 4 * (os.cpu_count() or 1) + 1
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(chain().forward_dynamics, q, v, tau, threads=many) for _ in range(8)]
        assert all(same_bits(call.result(), expected) for call in calls)


@cache
def long() -> wt.System:
    """Return a chain that is long enough for loops in the place of straight lines."""
    return arm(50, "long").build()


@pytest.mark.parametrize("count", [1, 7, 8, 9, 19, 257])
def test_loops_give_the_same_bits_in_every_place(count):
    s = long()
    assert s.kernel("forward_dynamics").work_size > 0
    q, v, tau = state(s, 5, (count,))
    batch = s.forward_dynamics(q, v, tau, threads=1)
    assert same_bits(batch, [s.forward_dynamics(*row) for row in zip(q, v, tau, strict=True)])
    assert same_bits(batch, [s.forward_dynamics(list(a), b, c) for a, b, c in zip(q, v, tau, strict=True)])
    assert same_bits(s.forward_dynamics(q, v, tau, threads=3), batch)
    order = np.random.default_rng(2).permutation(count)
    assert same_bits(s.forward_dynamics(q[order], v[order], tau[order]), batch[order])


def test_loops_from_many_threads_at_once():
    """Scratch memory belongs to the call."""
    s = long()
    q, v, tau = state(s, 6, (200,))
    expected = s.forward_dynamics(q, v, tau, threads=1)

    def work(k: int) -> bool:
        rows = slice(3 * k, 3 * k + 130)
        good = same_bits(s.forward_dynamics(q[rows], v[rows], tau[rows], threads=2), expected[rows])
        for i in range(10 * k, 10 * k + 10):
            good &= same_bits(s.forward_dynamics(q[i], v[i], tau[i]), expected[i])
            good &= same_bits(s.forward_dynamics(list(q[i]), v[i], tau[i]), expected[i])
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))
