"""Writing is interrupted: by a disk that is full, by an end without warning. The old file or the new one is there."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.foundation.whole_files import replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files, and signals, are POSIX")

MODEL = """
import itertools, sys
import whippletree as wt

def arm(radius):
    m = wt.Mechanism("arm")
    section = wt.circle(radius=radius)
    m.body("link", wt.beam(length=1.0, section=section, material=wt.steel, modes=6, elements=12))
    m.fixed("root", m.ground, "link")
    return m

kinds = [arm(0.01), arm(0.02)]
bodies = [m.describe().body("link").kind for m in kinds]
"""

ENDLESS = (
    MODEL
    + """
for k in itertools.count():
    wt.write(kinds[k % 2], "model.yaml")
    wt.write_sid(bodies[k % 2], "body.sid")
    if k == 1:
        print("begun", flush=True)
"""
)

FULL = (
    MODEL
    + """
import os, pathlib, resource, signal
files = lambda: {p.name: p.read_bytes() for p in pathlib.Path().iterdir()}
wt.write(kinds[0], "model.yaml")
wt.write_sid(bodies[0], "body.sid")
before = files()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
for write, given, name in ((wt.write, kinds[1], "model.yaml"), (wt.write_sid, bodies[1], "body.sid")):
    try:
        write(given, name)
    except wt.FileError as error:
        assert name in str(error) and "File too large" in str(error), error
    else:
        raise AssertionError("nothing was raised")
    assert files() == before
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
wt.write(kinds[1], "model.yaml")
print("survived")
"""
)


def test_a_full_disk_leaves_the_old_model_and_the_old_sid(tmp_path: Path) -> None:
    given = [sys.executable, "-c", FULL]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.strip() == "survived", done.stderr


def test_a_kill_leaves_the_old_files_or_the_new_ones(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(MODEL, space)
    wanted = [m.describe() for m in space["kinds"]]
    texts = []
    for body in space["bodies"]:
        wt.write_sid(body, tmp_path / "body.sid")
        texts.append((tmp_path / "body.sid").read_bytes())
    rng = np.random.default_rng()
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=tmp_path, stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"begun\n"
        for _ in range(20):  # stopped at any moment, it is as if it were killed there
            time.sleep(float(rng.uniform(0.0, 0.02)))
            child.send_signal(signal.SIGSTOP)
            assert wt.read(tmp_path / "model.yaml").mechanism.describe() in wanted
            assert (tmp_path / "body.sid").read_bytes() in texts
            child.send_signal(signal.SIGCONT)
        child.kill()
        child.wait()
    assert wt.read(tmp_path / "model.yaml").mechanism.describe() in wanted
    assert (tmp_path / "body.sid").read_bytes() in texts
    (tmp_path / ".model.link.0123456789ab.npz.01234567.whippletree-part").write_bytes(b"half")
    for left in tmp_path.glob(".*.whippletree-part"):
        os.utime(left, (0, 0))
    for kind, body in zip(space["kinds"], space["bodies"], strict=True):
        wt.write(kind, tmp_path / "model.yaml")
        wt.write_sid(body, tmp_path / "body.sid")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 3 and len([*tmp_path.glob("*.npz")]) == 1, left


def test_what_another_program_writes_just_now_stays(tmp_path: Path) -> None:
    now, others = ".a.txt.01234567.whippletree-part", ".a.txt.01234567.part"
    (tmp_path / now).write_bytes(b"half")
    (tmp_path / others).write_bytes(b"of another program")
    os.utime(tmp_path / others, (0, 0))
    replace_file(tmp_path / "a.txt", lambda file: file.write(b"whole"))
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", now, others}


def test_a_full_folder_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    m = wt.Mechanism("m")
    m.body("link", wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2, elements=2))
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with pytest.raises(wt.FileError, match=r"model\.yaml: the file cannot be written: No space left"):
        wt.write(m, tmp_path / "model.yaml")
    assert [*tmp_path.iterdir()] == []


def test_the_data_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (order.append("sync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("move"), move(a, b)))
    replace_file(tmp_path / "a", lambda file: file.write(b"1"))
    assert order == ["sync", "move"]
    with contextlib.suppress(KeyboardInterrupt):
        replace_file(tmp_path / "a", lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_bytes() == b"1"
