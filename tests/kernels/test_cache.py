"""The disk cache: what it saves, what it survives, and what it refuses to load."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from support.systems import arm, loaded, same_bits, state
from whippletree.cli import main
from whippletree.kernels import cache as caches
from whippletree.kernels import kernel as kernels
from whippletree.kernels.cache import DiskCache, default_folder, open_cache
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.native import host
from whippletree.system import engine as systems
from whippletree.system.equations import Equations

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that the environment names as the cache, not made yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(path))
    return path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the list to which every trace and every compilation adds its name."""
    done: list[str] = []
    trace, roll, compile_ir = Equations.trace, Equations.roll, kernels.compile_ir

    def rolled(self: Equations, request: object) -> object:
        done.append("trace")
        return roll(self, request)  # type: ignore[arg-type]

    def traced(self: Equations, request: object) -> object:
        done.append("trace")
        return trace(self, request)  # type: ignore[arg-type]

    def compiled(text: str, *arguments: object, **options: object) -> bytes:
        done.append("compile")
        return compile_ir(text, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Equations, "trace", traced)
    monkeypatch.setattr(Equations, "roll", rolled)
    monkeypatch.setattr(kernels, "compile_ir", compiled)
    return done


def use(name: str = "arm", **options: object) -> list[np.ndarray]:
    """Build an arm and use it for one state and for a batch."""
    system = arm(2, name).build(**options)
    q, v, tau = state(system, 1)
    return [system.forward_dynamics(q, v, tau), system.forward_dynamics(np.stack([q] * 9), v, tau)]


def files(folder: Path) -> list[Path]:
    return sorted((folder / "kernels").iterdir())


def agree(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(same_bits(x, y) for x, y in zip(a, b, strict=True))


# ---------------------------------------------------------------------- what it saves


def test_a_warm_start_neither_traces_nor_compiles(folder, made):
    first = use()
    assert {"trace", "compile"} <= set(made)
    made.clear()
    assert agree(use(), first)
    assert not made


def test_a_warm_start_of_loops(folder, made):
    z = np.zeros(50)
    first = arm(50, "long").build().forward_dynamics(z, z)
    assert {"trace", "compile"} <= set(made)
    made.clear()
    assert same_bits(arm(50, "long").build().forward_dynamics(z, z), first)
    assert not made


def test_a_warm_start_in_another_process(folder):
    expected = use()
    program = """
import sys
import whippletree as wt
from whippletree.kernels import kernel, native
from whippletree.system import equations

def refuse(*arguments, **options):
    raise SystemExit("a warm start should not come here")

equations.Equations.trace = equations.Equations.roll = equations.make_node_tree = refuse
kernel.compile_ir = native.compile_ir = refuse
from support.systems import arm, state
system = arm(2).build()
sys.stdout.write(system.forward_dynamics(*state(system, 1)).tobytes().hex())
"""
    result = run(program)
    assert result.returncode == 0, result.stderr
    assert result.stdout == expected[0].tobytes().hex()


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program with the tests' helpers at hand."""
    paths = os.pathsep.join([str(Path(wt.__file__).parents[1]), str(Path(__file__).parents[1])])
    variables = {**os.environ, "PYTHONPATH": paths, **environment}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)


def test_another_value_of_a_parameter_needs_no_compilation(folder, made):
    q, v, tau = np.ones(3), np.ones(3), np.ones(3)
    loaded().build().forward_dynamics(q, v, tau)
    made.clear()
    description = loaded().describe()
    heavier = tuple(replace(p, value=2 * p.value) for p in description.parameters)
    system = wt.System(replace(description, parameters=heavier))
    result = system.forward_dynamics(q, v, tau)
    assert not made
    given = {"payload": 4.0, "g": 19.62}
    assert same_bits(result, loaded().build().forward_dynamics(q, v, tau, parameters=given))


def test_a_folded_system_has_code_of_its_own(folder, made):
    q = np.ones(3)
    loaded().build().forward_dynamics(q, q, q)
    made.clear()
    loaded().build(fold=True).forward_dynamics(q, q, q)
    assert "compile" in made


def test_off(monkeypatch, tmp_path, made):
    monkeypatch.chdir(tmp_path)
    for word in ("off", "OFF", " off ", "0", "none"):
        monkeypatch.setenv("WHIPPLETREE_CACHE", word)
        assert open_cache() is None
    use()
    made.clear()
    use()
    assert "compile" in made
    assert not list(tmp_path.iterdir())


def test_size_and_clear(folder):
    use()
    cache = DiskCache(folder)
    count, size = cache.size()
    assert count == len(files(folder)) == 3  # the choice of a formulation, and code in two forms
    assert size == sum(f.stat().st_size for f in files(folder))
    (folder / "kernels" / "left behind.part").write_bytes(b"half")
    cache.clear()
    assert cache.size() == (0, 0)
    assert not files(folder)


@posix
def test_what_is_made_is_private(folder):
    old = os.umask(0)
    try:
        use()
    finally:
        os.umask(old)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "kernels").stat().st_mode & 0o777 == 0o700
    assert {f.stat().st_mode & 0o777 for f in files(folder)} == {0o600}
    assert {f.suffix for f in files(folder)} == {".wt"}


# ---------------------------------------------------------------------- what it survives


DAMAGE = {
    "empty": lambda data: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"x",
    "only the magic": lambda data: data[:14],
    "another magic": lambda data: b"WHIPPLETREE 9\n" + data[14:],
    "a flipped bit in the checksum": lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
    "a flipped bit in the contents": lambda data: data[:60] + bytes([data[60] ^ 4]) + data[61:],
    "a flipped bit in the code": lambda data: data[:-100] + bytes([data[-100] ^ 128]) + data[-99:],
    "another file": lambda data: b"\x7fELF" + bytes(5000),
}


@pytest.mark.parametrize("kind", [*list(DAMAGE)[:2], *rest(list(DAMAGE)[2:])])
def test_a_damaged_file_is_made_again(folder, made, kind):
    expected = use()
    good = [f.read_bytes() for f in files(folder)]
    for file in files(folder):
        file.write_bytes(DAMAGE[kind](file.read_bytes()))
    made.clear()
    with pytest.warns(wt.CacheWarning, match="damaged"):
        assert agree(use(), expected)
    assert "compile" in made
    made.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert agree(use(), expected)
    assert not made
    assert [len(f.read_bytes()) for f in files(folder)] == [len(g) for g in good]


def test_files_that_changed_places_are_made_again(folder, made):
    expected = [use(name) for name in ("arm", "other arm")], [arm(k).build().mass_matrix(np.zeros(k)) for k in (2, 3)]
    texts = [file.read_bytes() for file in files(folder)]
    for file, text in zip(files(folder), [*texts[1:], texts[0]], strict=True):
        file.write_bytes(text)
    made.clear()
    with pytest.warns(wt.CacheWarning, match="damaged"):
        found = [use(name) for name in ("arm", "other arm")], [arm(k).build().mass_matrix(np.zeros(k)) for k in (2, 3)]
    assert all(agree(a, b) for a, b in zip(found[0], expected[0], strict=True))
    assert agree(found[1], expected[1])
    assert "compile" in made


def test_a_folder_that_is_removed_is_made_again(folder):
    system = arm(2).build()
    q, v, tau = state(system, 1)
    first = system.forward_dynamics(q, v, tau)
    shutil.rmtree(folder)
    assert system.mass_matrix(q).shape == (system.nv, system.nv)
    assert files(folder)
    assert same_bits(system.forward_dynamics(q, v, tau), first)


def test_a_folder_in_the_place_of_a_file(folder):
    expected = use()
    victim = files(folder)[0]
    victim.unlink()
    victim.mkdir()
    with pytest.raises(wt.CacheError, match="WHIPPLETREE_CACHE"):
        use()
    DiskCache(folder).clear()
    assert files(folder) == [victim]  # which is nothing of ours
    victim.rmdir()
    assert agree(use(), expected)


@pytest.mark.rest
def test_processes_at_the_same_time(folder):
    program = """
import sys
from support.systems import arm, state
import numpy as np
system = arm(2).build()
q, v, tau = state(system, 1)
one = system.forward_dynamics(q, v, tau)
many = system.forward_dynamics(np.stack([q] * 9), v, tau)
assert (many == one).all()
sys.stdout.write(one.tobytes().hex())
"""
    paths = os.pathsep.join([str(Path(wt.__file__).parents[1]), str(Path(__file__).parents[1])])
    variables = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-W", "error", "-c", program]
    started = [
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    results = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0] * 4, results
    assert {out for out, _ in results} == {use()[0].tobytes().hex()}
    assert len(files(folder)) == 3
    assert not list((folder / "kernels").glob("*.part"))


def test_a_writer_that_dies_leaves_nothing(folder, monkeypatch):
    cache = DiskCache(folder)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        cache.store("key", {"code": b"1"})
    assert not files(folder)


def test_a_full_disk(folder, monkeypatch):
    cache = DiskCache(folder)
    quiet = DiskCache(folder, required=False)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(wt.CacheError, match=r"No space left.*WHIPPLETREE_CACHE"):
        cache.store("key", {"code": b"1"})
    with pytest.warns(wt.CacheWarning, match="No space left"):
        quiet.store("key", {"code": b"1"})
    assert not files(folder)


# ---------------------------------------------------------------------- what it refuses


def test_code_is_loaded_if_nothing_is_wrong_with_it(folder):
    """The tests below would not show anything if planted code were not loaded even from a good file."""
    expected = use()
    plant(folder)
    assert not agree(use(), expected)


def plant(folder: Path) -> None:
    """Replace every entry by another system's code: whoever loads it gets other numbers."""
    victims = files(folder)
    other = arm(2, "other")
    other.gravity = (0.0, 0.0, 1e3)
    system = other.build()
    system.forward_dynamics(np.zeros(2), np.zeros(2))
    system.forward_dynamics(np.zeros((9, 2)), np.zeros(2))
    planted = [caches._decode(f.stem, f.read_bytes()) for f in files(folder) if f not in victims]
    for file in victims:
        entry = caches._decode(file.stem, file.read_bytes())
        file.write_bytes(next(caches._encode(file.stem, p) for p in planted if p.get("meta") == entry.get("meta")))
    for file in files(folder):
        if file not in victims:
            file.unlink()


@posix
@pytest.mark.parametrize("mode", [0o644, 0o606, *rest([0o640, 0o660, 0o666, 0o601])])
def test_a_file_open_to_others_is_not_loaded(folder, made, mode):
    expected = use()
    plant(folder)
    for file in files(folder):
        file.chmod(mode)
    made.clear()
    assert agree(use(), expected)
    assert "compile" in made
    assert {f.stat().st_mode & 0o777 for f in files(folder)} == {0o600}


@posix
def test_a_link_is_not_followed(folder, tmp_path, made):
    expected = use()
    plant(folder)
    planted = [f.read_bytes() for f in files(folder)]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in files(folder):
        target = file.rename(elsewhere / file.name)
        file.symlink_to(target)
    made.clear()
    assert agree(use(), expected)
    assert "compile" in made
    assert not any(f.is_symlink() for f in files(folder))
    assert [f.read_bytes() for f in sorted(elsewhere.iterdir())] == planted  # nor written through


@posix
def test_a_pipe_is_not_waited_for(folder):
    expected = use()
    for file in files(folder):
        file.unlink()
        os.mkfifo(file, 0o600)
    assert agree(use(), expected)


@posix
def test_a_file_of_another_user_is_not_loaded(folder, made, monkeypatch):
    expected = use()
    cache = DiskCache(folder)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert all(caches._read_private(f) is None for f in files(folder))
    with pytest.raises(wt.CacheError, match="another user"):
        DiskCache(folder)
    monkeypatch.undo()
    assert cache.folder == folder
    assert agree(use(), expected)


@posix
@pytest.mark.parametrize(
    ("which", "mode"), [("", 0o770), ("", 0o702), ("kernels", 0o750), ("kernels", 0o701), ("kernels", 0o777)]
)
def test_a_folder_open_to_others_is_refused(folder, which, mode):
    use()
    (folder / which).chmod(mode)
    with pytest.raises(wt.CacheError, match=r"open to other users.*chmod 700.*WHIPPLETREE_CACHE"):
        use()
    (folder / which).chmod(0o700)
    use()


@posix
def test_a_link_to_a_folder_is_refused(folder, tmp_path):
    use()
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(wt.CacheError, match="not a folder"):
        DiskCache(tmp_path / "link")


def test_a_file_in_the_place_of_the_folder(folder):
    folder.write_text("I was here first")
    with pytest.raises(wt.CacheError, match=r"cache.*WHIPPLETREE_CACHE"):
        use()
    folder.unlink()
    folder.mkdir(mode=0o700)
    (folder / "kernels").write_text("and I")
    with pytest.raises(wt.CacheError, match=r"cache.*WHIPPLETREE_CACHE"):
        use()


def test_a_read_only_folder(folder, monkeypatch):
    use()
    allowed = os.access
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: "cache" not in str(path) and allowed(path, mode))
        with pytest.raises(wt.CacheError, match=r"read-only.*WHIPPLETREE_CACHE"):
            use()
    if os.name == "posix" and os.geteuid() != 0:  # nothing is read-only to root
        (folder / "kernels").chmod(0o500)
        with pytest.raises(wt.CacheError, match="read-only"):
            use()
        (folder / "kernels").chmod(0o700)


def test_a_folder_that_cannot_be_made(folder, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(wt.CacheError, match=r"cannot be made.*Permission denied"):
        use()


def test_a_folder_that_becomes_read_only_later(folder, monkeypatch):
    system = arm(2).build()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(wt.CacheError, match=r"cannot be written.*Read-only file system.*WHIPPLETREE_CACHE"):
        system.forward_dynamics(np.zeros(2), np.zeros(2))


def test_a_home_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("WHIPPLETREE_CACHE", "~no such user/cache")
    with pytest.raises(wt.CacheError, match="WHIPPLETREE_CACHE"):
        open_cache()


# ---------------------------------------------------------------------- the default folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with nothing named in the environment."""
    monkeypatch.delenv("WHIPPLETREE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "xdg"


def test_the_default_folder(home, monkeypatch):
    assert default_folder() == home / "whippletree"
    use()
    assert len(files(home / "whippletree")) == 3
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert default_folder() == Path("/home/me/.cache/whippletree")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_folder() == Path("/home/me/Library/Caches/whippletree")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert default_folder() == Path("/local/whippletree")


def test_a_default_folder_that_fails_is_only_warned_about(home):
    home.mkdir()
    (home / "whippletree").write_text("I was here first")
    with pytest.warns(wt.CacheWarning, match=r"will not be kept.*WHIPPLETREE_CACHE"):
        first = use()
    assert np.isfinite(first[0]).all()


def test_no_home_at_all_is_only_warned_about(home, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.warns(wt.CacheWarning, match="will not be kept"):
        use()


def test_a_default_folder_that_fails_later_is_only_warned_about(home, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.warns(wt.CacheWarning, match="No space left"):
        use()


# ---------------------------------------------------------------------- keys


def compiles(made: list[str], mechanism: wt.Mechanism | None = None, **options: object) -> bool:
    """Tell whether a system has to be compiled."""
    made.clear()
    system = (mechanism or arm(2)).build(**options)
    q, v, _ = state(system, 1)
    system.forward_dynamics(q, v)
    return "compile" in made


def test_the_key_follows_the_processor_and_the_versions(folder, made, monkeypatch):
    assert compiles(made)
    assert not compiles(made)
    machine = host()
    for change in (
        {"features": machine.features + ",+nothing"},
        {"cpu": machine.cpu + "x"},
        {"versions": "llvmlite 99"},
        {"triple": "other"},
    ):
        other = replace(machine, **change)
        assert other.key() != machine.key()
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "host", lambda other=other: other)
            assert compiles(made), change
    assert not compiles(made)


def test_the_key_follows_the_source(folder, made, monkeypatch):
    assert compiles(made)
    monkeypatch.setattr(systems, "source_key", lambda: "another version")
    assert compiles(made)


def test_the_key_follows_the_description(folder, made):
    assert compiles(made)
    changed = arm(2)
    changed.gravity = (0.0, 0.0, -1.62)
    assert compiles(made, changed)
    heavier = arm(2)
    heavier.fixed("weld", "link 1", heavier.body("more", mass=1e-9))
    assert compiles(made, heavier)
    assert compiles(made, arm(2, prescribed=(0,)))
    assert compiles(made, arm(3))
    assert not compiles(made, arm(2))


def test_the_key_follows_the_function_and_its_options(folder):
    system = arm(2).build()
    variants = [
        system.kernels.kernel("forward_dynamics", formulation="articulated"),
        system.kernels.kernel("forward_dynamics", formulation="composite"),
        system.kernels.kernel("forward_dynamics", wrenches=["tip"]),
        system.kernels.kernel("forward_dynamics", wrenches=["link 1"]),
        system.kernels.kernel("inverse_dynamics"),
        system.kernels.kernel("pose", frame="tip"),
        system.kernels.kernel("pose", frame="link 1"),
        loaded().build().kernels.kernel("forward_dynamics"),
        loaded().build(fold=True).kernels.kernel("forward_dynamics"),
    ]
    keys = {(k.key, k.signature) for k in variants}
    assert len(keys) == len(variants)
    again = arm(2).build().kernels.kernel("pose", frame="tip")
    assert isinstance(again, Kernel)
    assert again.key == variants[5].key


def test_what_was_used_least_recently_goes_first(folder: Path) -> None:
    cache = DiskCache(folder)
    for k in range(4):
        cache.store(f"key {k}", {"code": bytes(1000)})
        os.utime(cache.path(f"key {k}"), (k * 1e5, k * 1e5))
    assert cache.load("key 0") is not None  # which is a use
    size = cache.size()[1] // 4
    assert cache.prune(2 * size) == (2, 2 * size)
    assert [cache.load(f"key {k}") is not None for k in range(4)] == [True, False, False, True]


def test_the_cache_stays_bounded_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "LIMIT", 20_000)
    cache = DiskCache(folder)
    for k in range(60):
        cache.store(f"key {k}", {"code": bytes(1000)})
        os.utime(cache.path(f"key {k}"), (k + 1, k + 1))
    assert 10_000 < cache.size()[1] <= 20_000
    assert cache.load("key 59") is not None
    assert cache.load("key 0") is None


def test_half_files_of_dead_processes_go_and_others_stay(folder: Path) -> None:
    cache = DiskCache(folder)
    old, new = (folder / "kernels" / f"{name}.part" for name in ("old", "new"))
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.prune()
    assert not old.exists()
    assert new.exists()


LOADING = """
import sys
from pathlib import Path
from whippletree.kernels.cache import DiskCache
cache = DiskCache(Path(sys.argv[1]))
print("ready", flush=True)
found = missing = 0
for turn in range(300):
    for k in range(5):
        entry = cache.load(f"key {k}")
        if entry is None:
            missing += 1
            cache.store(f"key {k}", {"code": bytes([k]) * 5000})
        else:
            assert entry == {"code": bytes([k]) * 5000}
            found += 1
print(found, missing)
"""


def test_pruning_beside_a_process_that_loads_costs_it_a_compile_at_most(folder: Path) -> None:
    cache = DiskCache(folder)
    command = [sys.executable, "-W", "error", "-c", LOADING, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        while other.poll() is None:
            cache.prune(0)
        out, err = other.communicate()
    assert other.returncode == 0, err
    found, missing = map(int, out.split())
    assert missing > 5
    assert found + missing == 1500


def test_the_command_prunes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = DiskCache(folder)
    for k in range(3):
        cache.store(f"key {k}", {"code": bytes(1_000_000)})
    assert main(["cache", "prune", "--to", "1.5"]) == 0
    assert "Removed 2 entries, 2.0 MB" in capsys.readouterr().out
    assert cache.size()[0] == 1
    with pytest.raises(SystemExit):
        main(["cache", "prune", "--to", "much"])
