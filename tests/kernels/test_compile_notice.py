"""What is written on a terminal while something is compiled for longer than a second."""

from __future__ import annotations

import io
import logging
import signal
import sys
import threading
import time

import pytest

from whippletree.kernels import compile_notice, native
from whippletree.kernels.compile_notice import compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("WHIPPLETREE_NOTICES", raising=False)
    return stream


def test_what_takes_long_says_what_and_how_long_before_it_begins(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with compiling("derivatives", 4.2):
        assert terminal.getvalue().strip() == "whippletree: compiling derivatives, about 4 s"
    assert terminal.getvalue().count("whippletree") == 1


def test_what_is_quick_says_nothing(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with compiling("derivatives", 0.3) as notice:
        notice.expect(0.2)
    assert terminal.getvalue() == ""


def test_how_long_it_takes_may_show_on_the_way(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with compiling("derivatives") as notice:
        assert terminal.getvalue() == ""
        notice.expect(12.0)
        notice.expect(3.0)
    assert terminal.getvalue().strip() == "whippletree: compiling derivatives, about 10 s"


def test_what_takes_longer_than_expected_says_so_when_a_second_has_passed(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(compile_notice, "_PATIENCE", 0.05)
    with compiling("derivatives"):
        for _ in range(200):
            time.sleep(0.02)
            if terminal.getvalue():
                break
    assert terminal.getvalue().strip() == "whippletree: compiling derivatives"


def test_it_is_silent_without_a_terminal_and_when_switched_off(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("WHIPPLETREE_NOTICES", "off")
    with compiling("derivatives", 4.2):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.delenv("WHIPPLETREE_NOTICES")
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with compiling("derivatives", 4.2):
        pass
    assert file.getvalue() == ""


def test_the_log_hears_in_advance_of_what_takes_longer_than_two_seconds(caplog):
    caplog.set_level(logging.INFO, "whippletree")
    with compiling("energies", 1.0), compiling("derivatives") as notice:
        assert not caplog.records
        notice.expect(12.0)
        notice.expect(3.0)
        assert [record.getMessage() for record in caplog.records] == ["derivatives: about 10 s to come"]


def test_an_interrupt_ends_the_wait_for_a_compilation():
    released = threading.Event()

    def compiles_until_released() -> bytes:
        signal.raise_signal(signal.SIGINT)
        assert released.wait(60.0)
        return b""

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background takes away
    try:
        with pytest.raises(KeyboardInterrupt):
            native._interruptible(compiles_until_released)
    finally:
        released.set()
        signal.signal(signal.SIGINT, before)


def test_a_fault_of_the_compiler_is_told():
    with pytest.raises(RuntimeError, match="expected instruction"):
        native.compile_ir("define void @f() { nonsense }")
