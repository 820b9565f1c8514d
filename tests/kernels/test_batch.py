"""Batches: the same bits for a state wherever it stands, however many threads share the work."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import sys
import threading
import time
import weakref
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.systems import arm, chain, floater, floating, kernel_of, run_many, run_one, same_bits, state
from whippletree.foundation.once import present_lock
from whippletree.kernels import kernel as kernels
from whippletree.kernels import threads as helpers
from whippletree.kernels.batch import CHUNK, batch_words, lane_buffer
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel, NotFiniteError
from whippletree.kernels.lowering import StraightLine
from whippletree.kernels.native import LLVM, compile_ir, host, load_code

BIG = 10_001


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


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("make", [chain, floater])
def test_batches_of_every_size(make, threads):
    """Chunks, blocks and their remainders: sizes 1 to 200 cross each of their edges."""
    system = make()
    assert 3 * CHUNK < 200
    q, v, tau = state(system, 6, (200,))
    expected = np.array([system.forward_dynamics(*row) for row in zip(q, v, tau, strict=True)])
    masses = np.array([system.mass_matrix(row) for row in q])
    for count in range(1, 201):
        memory = np.full((count + 1, system.nv), -7.0)
        system.forward_dynamics(q[:count], v[:count], tau[:count], out=memory[:count], threads=threads)
        assert same_bits(memory[:count], expected[:count])
        assert (memory[count] == -7.0).all()
        assert same_bits(system.mass_matrix(q[:count], threads=threads), masses[:count])


_CALLER = """
define void @call{pad}(ptr %batch, ptr %words, ptr %buffer) {{
  %above = alloca [{pad} x i64], align 16
  store volatile i64 0, ptr %above
  call void %batch(ptr %words, ptr %buffer, i64 1)
  ret void
}}
"""


def test_lanes_run_on_the_stack_of_any_caller():
    """Vectors that wait on the stack are read as aligned, which callers by address do not promise."""
    system, pads = chain(), (2, 4, 6, 8, 10, 12, 14, 16)
    q, v, tau = state(system, 5, (host().lanes,))
    expected = system.forward_dynamics(q, v, tau, threads=1)
    kernel = system.kernels.kernel("forward_dynamics")
    callers = load_code(compile_ir("".join(_CALLER.format(pad=pad) for pad in pads)), [f"call{pad}" for pad in pads])
    part, pointer = kernel._many, ctypes.c_void_p
    buffer = kernel.take_buffer(kernel.batch_buffer)
    for pad in pads:
        result = np.zeros_like(expected)
        rows = [(a.ctypes.data, 8 * a.shape[1]) for a in (q, v, tau, result)]
        words = array("q", batch_words(len(q), part.constants_address, part.tables_address, rows[:3], rows[3:]))
        call = ctypes.CFUNCTYPE(None, *[pointer] * 3)(callers.addresses[f"call{pad}"])
        call(part.code.addresses["batch"], words.buffer_info()[0], buffer.ctypes.data)
        assert same_bits(result, expected)


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
            system.kernels.kernel("forward_dynamics").many([q, fast, None], outputs, count, 1)
        assert caught.value.where == "result"
        assert caught.value.state <= position < caught.value.state + width


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 3, 8, 9, 64, 65, 200])
def test_a_quaternion_off_the_sphere_is_found(count, threads):
    system = floater()
    q, v, tau = state(system, 7, (count,))
    expected = system.forward_dynamics(q, v, tau)
    kernel, width = system.kernels.kernel("forward_dynamics"), host().lanes
    for position in {0, count // 2, count - 1}:
        for start, joint in ((0, "flight"), (7, "socket")):
            bad = q.copy()
            bad[position, start : start + 4] *= 1.001
            with pytest.raises(wt.StateError) as caught:
                system.forward_dynamics(bad, v, tau, threads=threads)
            message = str(caught.value)
            assert f"q[{start}:{start + 4}] in state {position} is not a unit quaternion" in message
            assert f'joint "{joint}"' in message
            assert "configuration(q)" in message
            with pytest.raises(NotFiniteError) as native:  # the machine code has noticed it, not only Python
                kernel.many([bad, v, tau], [np.empty((count, system.nv))], count, threads)
            assert native.value.where == "input"
            assert native.value.state <= position < native.value.state + width
    assert same_bits(system.forward_dynamics(q, v, tau, threads=threads), expected)


def test_one_quaternion_for_all_states_is_checked():
    system = floater()
    q, v, _ = state(system, 8)
    rows = np.tile(v, (70, 1))
    assert same_bits(system.forward_dynamics(q, rows)[69], system.forward_dynamics(q, v))
    q[7:11] *= 1.001
    with pytest.raises(wt.StateError, match=r'q\[7:11\] is not a unit quaternion.*"socket"'):
        system.forward_dynamics(q, rows)


def test_batches_of_different_sizes_are_not_mixed():
    """An empty one among them as well: none of its states is read."""
    system = chain()
    q, v, tau = state(system, 9, (5,))
    for sizes in ((0, 5), (5, 0), (0, 64), (2, 5), (5, 2)):
        a, b = np.zeros((sizes[0], 3)), np.zeros((sizes[1], 3))
        with pytest.raises(wt.StateError, match="do not fit together"):
            system.forward_dynamics(a, b)
        with pytest.raises(wt.StateError, match="do not fit together"):
            system.forward_dynamics(a, np.zeros(3), b)
    assert system.forward_dynamics(np.zeros((0, 3)), v[:1]).shape == (0, 3)
    assert same_bits(system.forward_dynamics(q[:1], v, tau)[4], system.forward_dynamics(q[0], v[4], tau[4]))


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


def test_one_kernel_may_be_made_for_one_state_and_for_batches_at_once(monkeypatch):
    """Each form keeps the constants of its own code, though the other is written while it compiles."""

    class TwoFaced:
        """A program that differs with its form, so that constants of the wrong form show."""

        work_size, tables = 0, StraightLine.tables

        def __init__(self, scalar: StraightLine, lanes: StraightLine) -> None:
            self._faces, self._last = (scalar, lanes), scalar

        @property
        def constants(self) -> np.ndarray:
            return self._last.constants

        def ir(self, *, width: int, **options: object) -> str:
            self._last = self._faces[width > 1]
            return self._last.ir(width=width, **options)

    x = ca.SX.sym("x")
    faces = [ca.Function("f", [x], [factor * x], ["x"], ["y"]) for factor in (2.5, 7.5)]
    compile_ir = kernels.compile_ir
    for first, second in (("_one", "_many"), ("_many", "_one")):
        plain = kernel_of(faces[0])
        program = TwoFaced(*(StraightLine(f) for f in faces))
        kernel = Kernel("test", plain.signature, lambda program=program: program, None)
        texts: list[str] = []

        def slow(text: str, texts=texts, kernel=kernel, second=second, **options: object) -> bytes:
            texts.append(text)
            if len(texts) == 1:
                getattr(kernel, second)
            return compile_ir(text, **options)

        monkeypatch.setattr(kernels, "compile_ir", slow)
        getattr(kernel, first)
        assert len(texts) == 2
        assert run_one(kernel, [2.0])[0].tolist() == [5.0]
        assert run_many(kernel, np.full((9, 1), 2.0))[0].ravel().tolist() == [15.0] * 9


# ---------------------------------------------------------------------- what is compiled


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every form of a kernel that is made or loaded is added."""
    made: list[str] = []
    original = Kernel._part

    def noted(self: Kernel, form: str) -> object:
        made.append(form)
        return original(self, form)

    monkeypatch.setattr(Kernel, "_part", noted)
    return made


@pytest.mark.parametrize("make", [arm, floating])
def test_batches_alone_do_not_compile_the_code_for_one_state(make, forms):
    system = make(name="batches only").build()
    q, v, tau = state(system, 10, (9,))
    first = system.forward_dynamics(q, v, tau)
    system.forward_dynamics(q, v, tau, out=np.empty_like(first))
    system.forward_dynamics(q, v[0])
    system.forward_dynamics(q[0], v)
    system.forward_dynamics(q.tolist(), v, tau)
    system.forward_dynamics(q.tolist(), v.tolist())
    system.forward_dynamics(q[0], [list(row) for row in v])
    system.forward_dynamics(q.reshape(3, 3, -1), v.reshape(3, 3, -1))
    with pytest.raises(wt.StateError, match="finite"):
        system.forward_dynamics(q, np.full_like(v, np.nan))
    assert forms == ["many"]
    system.mass_matrix(q)
    system.pose(q, system.description.bodies[0].name)
    system.energy(q, v)
    assert forms == ["many"] * 4
    assert same_bits(system.forward_dynamics(q[0], v[0], tau[0]), first[0])
    assert forms == ["many"] * 4 + ["one"]
    assert same_bits(system.forward_dynamics(q, v, tau), first)
    assert same_bits(system.forward_dynamics(list(q[0]), v[0], tau[0]), first[0])
    assert forms == ["many"] * 4 + ["one"]


def test_single_states_alone_do_not_compile_the_code_for_batches(forms):
    system = arm(2, "singles only").build()
    system.forward_dynamics([0.1, 0.2], [0.0, 0.0])
    system.forward_dynamics(np.zeros(2), np.zeros(2))
    system.forward_dynamics(np.zeros(2), np.zeros(2), out=np.empty(2))
    assert forms == ["one"]


# ---------------------------------------------------------------------- helpers


@pytest.fixture
def busy() -> Iterator[threading.Event]:
    """Keep every helper busy until the event is set."""
    release = threading.Event()
    chain().forward_dynamics(*big()[0], threads=2)  # the helpers are up
    at_work = threading.Barrier(len(helpers._HELPERS) + 1)

    def block() -> None:
        at_work.wait(30)
        release.wait(60)

    for _ in helpers._HELPERS:
        helpers.help_with(block)
    at_work.wait(30)
    yield release
    release.set()
    drain()


def drain() -> None:
    """Wait until every helper has come to the end of what was asked of it so far."""
    together = threading.Barrier(len(helpers._HELPERS) + 1)
    for _ in helpers._HELPERS:
        helpers.help_with(lambda: together.wait(30))
    together.wait(30)


def test_busy_helpers_are_not_waited_for(busy):
    (q, v, tau), expected = big()
    out = np.full_like(expected, np.nan)
    for count in (65, 128, 1000, BIG):
        got = chain().forward_dynamics(q[:count], v[:count], tau[:count], out=out[:count], threads=2)
        assert same_bits(got, expected[:count])
    assert not busy.is_set()


def test_a_helper_that_comes_late_finds_nothing_to_do(busy):
    (q, v, tau), expected = big()
    out = np.full_like(expected, np.nan)
    chain().forward_dynamics(q, v, tau, out=out, threads=5)
    assert same_bits(out, expected)
    out[:] = -7.0
    busy.set()
    drain()
    assert (out == -7.0).all()
    assert same_bits(chain().forward_dynamics(q, v, tau, threads=2), expected)


def test_what_a_late_helper_needs_stays_alive_and_is_let_go():
    class Watched(np.ndarray):
        """An array that can be watched."""

    (q, v, tau), _ = big()
    chain().forward_dynamics(q, v, tau, threads=2)
    kernel = chain().kernels.kernel("forward_dynamics")
    release, blocked = threading.Event(), threading.Barrier(len(helpers._HELPERS) + 1)

    def block() -> None:
        blocked.wait(30)
        release.wait(60)

    for _ in helpers._HELPERS:
        helpers.help_with(block)
    blocked.wait(30)
    given = [x[:200].copy().view(Watched) for x in (q, v, tau)]
    out = np.empty((200, 3)).view(Watched)
    watched = [weakref.ref(x) for x in (*given, out)]
    kernel.many(given, [out], 200, 3)
    del given, out
    gc.collect()
    assert all(w() is not None for w in watched)  # the helpers' tasks hold them
    release.set()
    late = time.monotonic() + 60
    while any(w() is not None for w in watched) and time.monotonic() < late:
        time.sleep(0.01)  # and no further task, which would take the place of the last
    assert all(w() is None for w in watched)


def _never(task: Callable[[], object]) -> None:
    """Help as a helper does that never comes."""


def _before(task: Callable[[], object]) -> None:
    """Do all the work before the caller begins."""
    task()


def _later(task: Callable[[], object]) -> None:
    """Come in the middle, or when all is done."""
    threading.Timer(0.0005, task).start()


def _at_once(task: Callable[[], object]) -> None:
    """Begin at the same time as the caller."""
    threading.Thread(target=task).start()


@pytest.mark.parametrize("help_with", [_never, _before, _later, _at_once])
@pytest.mark.parametrize("count", [65, 129, 1000, BIG])
def test_the_result_does_not_depend_on_when_help_comes(monkeypatch, help_with, count):
    monkeypatch.setattr(kernels, "listening", lambda: 0)
    monkeypatch.setattr(kernels, "help_with", help_with)
    (q, v, tau), expected = big()
    for threads in (2, 3):
        out = np.full((count, 3), np.nan)
        chain().forward_dynamics(q[:count], v[:count], tau[:count], out=out, threads=threads)
        assert same_bits(out, expected[:count])
        bad = v[:count].copy()
        bad[count - 1, 1] = np.inf
        with pytest.raises(wt.StateError, match=rf"v\[1\] in state {count - 1} is inf"):
            chain().forward_dynamics(q[:count], bad, tau[:count], threads=threads)


def test_a_helper_that_is_held_up_in_the_middle_is_waited_for(monkeypatch):
    """It has claimed states: the caller may not return before they are done."""
    s = long()
    rows = tuple(np.tile(x, (4, 1)) for x in state(s, 11, (500,)))
    truth = s.forward_dynamics(*rows, threads=1)

    def race(task: Callable[[], object]) -> None:
        helper = threading.Thread(target=task)
        helper.start()
        time.sleep(0.001)  # it has begun

    monkeypatch.setattr(kernels, "listening", lambda: 0)
    monkeypatch.setattr(kernels, "help_with", race)
    for _ in range(5):
        out = np.full_like(truth, np.nan)
        s.forward_dynamics(*rows, out=out, threads=2)
        assert same_bits(out, truth)


def test_a_task_that_fails_does_not_end_a_helper():
    (q, v, tau), expected = big()
    chain().forward_dynamics(q, v, tau, threads=2)
    before = list(helpers._HELPERS)

    def fail() -> None:
        raise MemoryError

    for _ in range(3 * len(before)):
        helpers.help_with(fail)
    drain()
    assert before == helpers._HELPERS
    assert all(helper.is_alive() for helper in before)
    assert same_bits(chain().forward_dynamics(q, v, tau, threads=2), expected)


def test_no_thread_can_be_started(monkeypatch):
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    (q, v, tau), expected = big()
    monkeypatch.setattr(helpers, "_HELPERS", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert same_bits(chain().forward_dynamics(q, v, tau, threads=3), expected)
    assert not helpers._HELPERS


# ---------------------------------------------------------------------- processes

forks = pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")


def _child(queue: multiprocessing.Queue) -> None:
    (q, v, tau), expected = big()
    fresh = not helpers._HELPERS
    good = same_bits(chain().forward_dynamics(q, v, tau, threads=2), expected)
    drain()  # they answer
    queue.put((fresh, good, all(h.is_alive() for h in helpers._HELPERS) and bool(helpers._HELPERS)))


def _compiling_child(queue: multiprocessing.Queue) -> None:
    system = arm(2, f"made in {os.getpid()}").build()
    q, v, _ = state(system, 12, (300,))
    batch = system.forward_dynamics(q, v, threads=2)
    queue.put((same_bits(batch[7], system.forward_dynamics(q[7], v[7])),))


def fork(target: Callable[[multiprocessing.Queue], None]) -> None:
    """Run a function in a forked process, and check that all it says is true."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=target, args=(queue,), daemon=True)
    child.start()
    try:
        assert all(queue.get(timeout=60))
        child.join(30)
        assert child.exitcode == 0
    finally:
        child.kill()


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    (q, v, tau), expected = big()
    chain().forward_dynamics(q, v, tau, threads=2)  # the parent's threads are up
    fork(_child)
    assert same_bits(chain().forward_dynamics(q, v, tau, threads=2), expected)
    drain()


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_the_helpers_are_busy(busy):
    (q, v, tau), expected = big()
    chain().forward_dynamics(q, v, tau, threads=5)  # leaves tasks for the helpers
    fork(_child)
    assert same_bits(chain().forward_dynamics(q, v, tau, threads=2), expected)


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_locks_are_held():
    """They belong to threads that the child does not have."""
    chain().forward_dynamics(*big()[0], threads=2)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with helpers._LOCK, chain()._engine.lock, LLVM, present_lock():
            held.set()
            over.wait(60)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        assert held.wait(60)
        try:
            fork(_child)
            fork(_compiling_child)
        finally:
            over.set()


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forks_in_the_middle_of_batches():
    given, expected = big()
    over = threading.Event()

    def work() -> bool:
        good = True
        while not over.is_set():
            good &= same_bits(chain().forward_dynamics(*given, threads=2), expected)
        return good

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        try:
            for _ in range(4):
                fork(_child)
        finally:
            over.set()
        assert result.result()


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
    assert s.kernels.kernel("forward_dynamics").work_size > 0
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


def test_batches_beyond_the_counter_go_in_parts(monkeypatch):
    """A batch larger than one go can count is cut in halves, each as it would be alone."""
    system = arm().build()
    q, v, tau = (np.random.default_rng(5).uniform(-1, 1, (1000, system.nv)) for _ in range(3))
    expected = system.forward_dynamics(q, v, tau, threads=1)
    monkeypatch.setattr(kernels, "_MOST", 130)
    assert same_bits(system.forward_dynamics(q, v, tau, threads=2), expected)
    broadcast = system.forward_dynamics(q, v[0], tau, threads=2)
    assert same_bits(broadcast, np.array([system.forward_dynamics(a, v[0], b) for a, b in zip(q, tau, strict=True)]))
    q[777, 2] = np.nan
    with pytest.raises(wt.StateError, match="777"):
        system.forward_dynamics(q, v, tau)


def test_many_outputs() -> None:
    """More outputs than a block of code holds, most of them zero: the same one by one and in lanes."""
    x = ca.SX.sym("x", 2)
    factors = np.where(np.arange(1500) % 7 == 0, np.arange(1500.0), 0.0)
    function = ca.Function("f", [x], [ca.densify(factors * x[0] + (factors > 0) * ca.sin(x[1]))])
    signature = Signature((("x", 2),), (("y", 1500),), (1500,), ())
    kernel = Kernel("many", signature, lambda: StraightLine(function), None)
    states = np.random.default_rng(0).normal(size=(9, 2))
    one = np.empty(1500)
    for row in states:
        kernel.one([row], [one])
        assert np.abs(one - function(row).full().ravel()).max() < 1e-12 * 1500
    assert np.array_equal(run_many(kernel, states)[0][-1], one)


def test_outputs_that_are_mostly_zero():
    """Zeros are written by a loop, whatever was there before, also after the loop's last turn."""
    x = ca.SX.sym("x", 3)
    y = ca.SX.zeros(203)
    y[5], y[100], y[202] = x[0] * x[1], ca.sin(x[2]), x[0]
    function = ca.Function("f", [x], [y])
    kernel = Kernel("zeros", Signature((("x", 3),), (("y", 203),), (203,), ()), lambda: StraightLine(function), None)
    given = np.random.default_rng(0).normal(size=(37, 3))
    wanted = np.zeros((37, 203))
    wanted[:, 5], wanted[:, 100], wanted[:, 202] = given[:, 0] * given[:, 1], np.sin(given[:, 2]), given[:, 0]
    many, one = np.full((37, 203), 7.0), np.full((37, 203), 7.0)
    kernel.many([given], [many], 37, 1)
    for k in range(37):
        kernel.one([given[k]], [one[k]])
    assert same_bits(one, many)
    np.testing.assert_allclose(one, wanted, rtol=1e-15, atol=0)
