"""Model files of others, each read, built and compared in a child process whose time and memory are limited.

A child takes many files in turn and says what it has found, one line of JSON a file; whatever a file does to it, the
next child goes on behind it:

    python -m support.examined_files arm.urdf hand.xml
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

__all__ = ["PACKAGES", "SECONDS", "Finding", "Source", "examined", "folders_of", "sources"]

PACKAGES = {
    "example-robot-data": "cmeel.prefix/share/example-robot-data",
    "pybullet": "pybullet_data",
    "dm_control": "dm_control",
    "gymnasium": "gymnasium",
    "robosuite": "robosuite",
    "metaworld": "metaworld",
    "drake": "pydrake",
    "newton": "newton",
    "opensim": "opensim",
    "mujoco": "mujoco",
}
"""The packages of the extra `robots`, and the folders in which they keep their models."""

SECONDS = 20
"""What reading, building and the first acceleration may take, of the processor's time."""

COMPARING = 60
"""What the comparison may take beside."""

MEMORY = 6 << 30
"""What a child may take of memory, in bytes; numerical libraries reserve much that they do not use."""

SUFFIXES = {".urdf", ".sdf", ".world", ".xml", ".mjcf", ".osim", ".xacro", ".adm", ".usd", ".usda", ".usdc", ".usdz"}
_HEAD = 20_000
_OUTERMOST = re.compile(rb"<\s*(robot|sdf|gazebo|mujoco|mujocoinclude|OpenSimDocument)\b")


@dataclass
class Finding:
    """What became of a file: `aside` says why it counts neither way, `refused` and `raw` what was said of it.

    Of one that is built, `refused` says why it has no acceleration where it starts.
    """

    path: str
    format: str
    bodies: int = 0
    read: bool = False
    built: bool = False
    seconds: float = 0.0
    refused: str = ""
    raw: str = ""
    aside: str = ""
    uncompared: str = ""
    named: str = ""
    differences: dict[str, float] = field(default_factory=dict)
    whole: bool = True

    @property
    def agrees(self) -> bool:
        """All differences are small."""
        return all(value <= 1e-9 for value in self.differences.values())


@dataclass(frozen=True)
class Source:
    """A model file, the package that it is from, what it is called there, and its format."""

    package: str
    label: str
    path: Path
    format: str


def sources() -> list[Source]:
    """The model files of the packages that are installed, and of the folders that WHIPPLETREE_MODELS names."""
    site = [Path(entry) for entry in sys.path if entry.endswith("-packages")]
    folders = [(name, one / place) for name, place in PACKAGES.items() for one in site if (one / place).is_dir()]
    given = os.environ.get("WHIPPLETREE_MODELS", "").split(os.pathsep)
    folders += [(Path(one).name, Path(one)) for one in given if one and Path(one).is_dir()]
    return [
        Source(name, str(path.relative_to(folder)), path, kind)
        for name, folder in folders
        for path, kind in model_files(folder)
    ]


def format_of(path: Path) -> str:
    """Which format a file has, by its content; nothing for what is no model.

    >>> format_of(Path(__file__))
    ''
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith((b"#usda", b"PXR-USDC")) or path.suffix == ".usdz":
        return "USD"
    if path.suffix == ".adm":
        return "Adams"
    found = _OUTERMOST.search(re.sub(rb"<!--.*?-->", b"", head, flags=re.DOTALL))
    if found is None:
        return ""
    word = found[1].decode()
    if word == "robot":
        return "xacro" if path.suffix == ".xacro" or b"<xacro:" in head else "URDF"
    return {"sdf": "SDF", "gazebo": "SDF", "OpenSimDocument": "OpenSim"}.get(word, "MJCF")


def model_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder whose name and content are those of a model, with their formats."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            kind = format_of(path)
            if kind:
                yield path, kind


def examined(files: Sequence[Source]) -> Iterator[Finding]:
    """Examine files in children, one after another."""
    root = str(Path(__file__).resolve().parents[1])
    env = os.environ | {"PYTHONPATH": os.pathsep.join([root, str(Path(root).parent / "src")])}
    waiting = [*files]
    while waiting:
        command = [sys.executable, "-m", "support.examined_files", *(str(one.path) for one in waiting[:200])]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            found = None
            for line in child.stdout:
                if not line.startswith("finding "):
                    continue
                found = Finding(**json.loads(line.removeprefix("finding ")))
                if found.whole:
                    yield found
                    waiting.pop(0)
                    found = None
            child.communicate()
        if child.returncode == 0 or not waiting:
            continue
        one = waiting.pop(0)
        yield _ended(found or Finding(str(one.path), one.format), child.returncode)


def _ended(found: Finding, code: int) -> Finding:
    """What is known of a file at which a child has ended."""
    how = f"signal {-code}" if code < 0 else f"exit {code}"
    if found.built:
        found.whole, found.uncompared = True, f"the comparison ended by {how}"
    else:
        found.seconds, found.raw = float(SECONDS), f"the process ended by {how}"
    return found


def _say(found: Finding) -> None:
    print("finding", json.dumps(asdict(found)), flush=True)


def _examine(path: Path) -> None:
    """Read, build and compare one file in this process, and say what was found."""
    import whippletree as wt

    kind = format_of(path)
    found = Finding(str(path), kind)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    start = time.process_time()
    try:
        model = wt.read(path, xacro=kind == "xacro", search=folders_of(path))
        found.read = True
        system = model.build()
        found.built, found.bodies = True, len(system.description.bodies)
        if system.nv:
            system.forward_dynamics(system.q0, system.v0)
    except wt.WhippletreeError as error:
        found.refused = str(error).replace(str(path), path.name)
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        found.raw = f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:200]}"
    found.seconds = time.process_time() - start
    signal.setitimer(signal.ITIMER_PROF, 0)
    if found.built:
        _say(replace(found, whole=False))
    from support.file_owners import beside_owner

    signal.setitimer(signal.ITIMER_PROF, COMPARING)
    beside_owner(path, found, model if found.built else None)  # type: ignore[possibly-undefined]
    signal.setitimer(signal.ITIMER_PROF, 0)
    _say(found)


def folders_of(path: Path) -> list[str]:
    """The folders in which the files that a file names may be: those of its package."""
    known = [one for one in path.parents if one.parent.name in ("site-packages", "share")]
    return [str(known[0])] if known else []


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    for argument in sys.argv[1:]:
        _examine(Path(argument))
