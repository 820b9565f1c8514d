"""The command line: what it prints, and how it ends."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.cli import main
from whippletree.cli.arm import describe_arm
from whippletree.cli.cache import size_in_words

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(folder))
    return folder


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"whippletree {wt.__version__}\n"


@pytest.mark.parametrize("words", [["info"], ["check", "examples/iftomm/bricard.yaml"]])
def test_nobody_reads_what_is_printed(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "whippletree", *words]
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


class Full(io.StringIO):
    """A stream onto a disk that is full."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_ends_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["info"]) == 2
    assert capsys.readouterr().err == (
        f"whippletree: the output could not be written: [Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}\n"
    )


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("info", "demo", "cache"))


@pytest.mark.parametrize("arguments", [["nonsense"], ["cache"], ["cache", "nonsense"], ["info", "-x"]])
def test_wrong_words_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: whippletree" in capsys.readouterr().err


def test_info(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    rows = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    rows = {name.strip(): value.strip() for name, value in rows.items()}
    assert rows["whippletree"] == wt.__version__
    assert rows["Python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert rows["lanes"].split()[0] in ("4", "8")
    assert rows["fused multiply-add"] in ("yes", "no")
    assert "llvmlite" in rows["compiler"]
    assert "LLVM" in rows["compiler"]
    assert rows["NumPy"] == np.__version__
    assert rows["CasADi"]
    assert rows["cache"] == f"{cache} (0 entries, 0.0 kB)"


def test_info_counts_what_is_kept(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = describe_arm().build()
    system.energy(system.q0, system.v0)
    main(["info"])
    assert f"{cache} (1 entry, " in capsys.readouterr().out


@pytest.mark.parametrize("value", ["off", "none"])
def test_info_says_why_the_cache_is_off(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WHIPPLETREE_CACHE", value)
    assert main(["info"]) == 0
    assert f"off: the environment variable WHIPPLETREE_CACHE is {value!r}" in capsys.readouterr().out


def test_info_says_why_a_named_folder_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(file))
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert f"cannot be used: the folder for compiled code, {file}" in out


def test_info_says_why_the_default_folder_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "whippletree"
    file.write_text("not a folder")
    monkeypatch.delenv("WHIPPLETREE_CACHE", raising=False)
    monkeypatch.setattr("whippletree.kernels.cache.default_folder", lambda: file)
    assert main(["info"]) == 0
    assert "off: compiled code will not be kept" in capsys.readouterr().out


def test_cache_clear(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = describe_arm().build()
    system.energy(system.q0, system.v0)
    assert len(list(cache.rglob("*.wt"))) == 1
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("Removed 1 entry, ")
    assert not list(cache.rglob("*.wt"))


def test_cache_clear_without_a_cache(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    assert main(["cache", "clear"]) == 0
    assert "nothing to clear" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["cache", "clear"], ["demo"]])
def test_an_error_is_one_line_and_exit_code_2(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(file))
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("whippletree: the folder for compiled code")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("cache")
def test_demo_tells_what_it_computes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "arm"]) == 0
    out = capsys.readouterr().out
    system = describe_arm().build()
    for name in system.joint_names:
        assert f"  {name} " in out
    for phrase in (
        "from import",
        "Kinetic energy",
        "multiplications",
        "one state",
        "10000 states, 1 thread ",
    ):
        assert phrase in out
    assert "nan" not in out


def test_the_command_runs_in_a_process_of_its_own(cache: Path) -> None:
    command = [sys.executable, "-c", "import sys; from whippletree.cli import main; sys.exit(main(['info']))"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(cache) in finished.stdout


def test_sizes_in_words() -> None:
    assert size_in_words(0, 0) == "0 entries, 0.0 kB"
    assert size_in_words(2, 999_949) == "2 entries, 999.9 kB"
    assert size_in_words(2, 1_500_000) == "2 entries, 1.5 MB"
