"""Robots from files: ``python benchmarks/robot_files.py [--packages a b] [--json file] [--again]``

Every model file of the packages of the extra `robots`, and of the folders that WHIPPLETREE_MODELS names, is read, built
and compared with the library that owns its format: masses, poses of bodies, and accelerations at three random states,
by gravity and velocities alone and with actuators; by MuJoCo for MJCF, Pinocchio for URDF and expanded xacro, Drake for
SDF, OpenSim for its own; by Newton for USD, which says masses, inertias and poses only. A table by package and format,
and below it every file that was refused, differs or has no acceleration where it starts, in the words it got. Then come
the files that count neither way, with the reason: fragments meant for inclusion, files that their own library refuses,
files whose parts are not in the package.

Each file is examined in a child process with limits of time and memory, the children are niced, one at a time; what was
found is kept in a file (`--json`), and a rerun examines only what is not in it or was not right (all with `--again`).

At last come the two bars of the first acceleration: of URDFs with an empty cache and with a warm one, and of a humanoid
with 29 joints and armature as MJCF beside the same as URDF.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from support.examined_files import Finding, Source, examined, sources  # noqa: E402

DEFAULT = ["g1_29dof_rev_1_0"]
COLD, WARM, MJCF = 2.0, 0.6, 1.3  # seconds, and times as long as from URDF
SHARE, SECONDS = 0.97, 20.0  # of all files that count, built; of the processor's time for each
KEPT = Path(tempfile.gettempdir()) / "whippletree_robot_files.json"
PROBE = """
import sys, time, warnings
begin = time.process_time()
import whippletree as wt
warnings.simplefilter("ignore")
start = time.process_time()
model = wt.read(sys.argv[1])
read = time.process_time()
s = model.build()
s.forward_dynamics(s.q0, s.v0)
end = time.process_time()
print(read - start, end - start, end - begin, len(model.mechanism.describe().bodies), s.nv)
"""


# ---------------------------------------------------------------------------------------------------------
# All files


def found_before(place: Path) -> dict[str, Finding]:
    """What an earlier run has kept."""
    if not place.is_file():
        return {}
    return {one["path"]: Finding(**one) for one in json.loads(place.read_text(encoding="utf-8"))}


def examine(all_files: Sequence[Source], place: Path, again: bool) -> dict[str, Finding]:
    """Examine the files of which nothing good is known, and keep what was found."""
    known = {} if again else found_before(place)
    right = {path for path, one in known.items() if one.built and one.agrees and one.seconds <= SECONDS}
    waiting = [one for one in all_files if str(one.path) not in right]
    for k, found in enumerate(examined(waiting), 1):
        known[found.path] = found
        if k % 50 == 0 or k == len(waiting):
            print(f"  {k} of {len(waiting)} files", file=sys.stderr)
            place.write_text(json.dumps([asdict(one) for one in known.values()]), encoding="utf-8")
    return known


def row(name: str, kind: str, group: Sequence[Finding]) -> str:
    counted = [one for one in group if not one.aside]
    compared = [one for one in counted if one.differences]
    cells = [
        name,
        kind,
        len(group),
        len(group) - len(counted),
        sum(one.read for one in counted),
        sum(one.built for one in counted),
        len(compared),
        sum(one.agrees for one in compared),
        f"{max((one.seconds for one in counted), default=0.0):.1f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def remarks(counted: Sequence[tuple[Source, Finding]]) -> Iterator[str]:
    """Every file that was refused, differs or does not move at its start, in words."""
    for file, one in counted:
        name = f"{file.package} {file.label}"
        if one.raw:
            yield f"- raw error: {name}: {one.raw}"
        elif not one.built:
            yield f"- refused: {name}: {one.refused}"
        elif one.refused:
            yield f"- no acceleration at its start: {name}: {one.refused}"
        if one.built and not one.agrees:
            off = ", ".join(f"{what} {value:.0e}" for what, value in one.differences.items() if value > 1e-9)
            yield f"- differs: {name}: {off}; its report: {one.named or 'NOTHING'}"


def print_table(files: Sequence[Source], known: dict[str, Finding]) -> None:
    print("| package | format | files | aside | read | built | compared | agree to 1e-9 | slowest, s |")
    print("|---|---|---|---|---|---|---|---|---|")
    pairs = [(file, known[str(file.path)]) for file in files]
    for package in dict.fromkeys(file.package for file in files):
        for kind in dict.fromkeys(file.format for file in files if file.package == package):
            print(row(package, kind, [one for file, one in pairs if (file.package, file.format) == (package, kind)]))
    print(row("all", "", [one for _, one in pairs]))
    counted = [(file, one) for file, one in pairs if not one.aside]
    built = sum(one.built for _, one in counted) / max(len(counted), 1)
    unnamed = sum(bool(one.built and not one.agrees and not one.named) for _, one in counted)
    raw, slow = sum(bool(one.raw) for _, one in counted), sum(one.seconds > SECONDS for _, one in counted)
    moving = [one for _, one in counted if one.built and not one.refused]
    print(f"\nof those built, {len(moving)} have an acceleration where they start, the slowest ", end="")
    print(f"after {max((one.seconds for one in moving), default=0.0):.1f} s of the processor's time")
    print(f"built {100 * built:.1f} % of {len(counted)} (>= {100 * SHARE:g} %: {verdict(built >= SHARE)}), ", end="")
    print(
        f"differences without a word {unnamed} ({verdict(not unnamed)}), raw errors {raw} ({verdict(not raw)}), ",
        end="",
    )
    print(f"beyond {SECONDS:g} s {slow} ({verdict(not slow)})\n")
    print("\n".join(remarks(counted)))
    print("\nbuilt and not compared:")
    print_reasons((file, one.uncompared) for file, one in counted if one.built and not one.differences)
    print("\nwhat counts neither way:")
    print_reasons((file, one.aside) for file, one in pairs if one.aside)


def print_reasons(given: Iterable[tuple[Source, str]]) -> None:
    """Every reason once, with its files."""
    by_reason: dict[str, list[str]] = {}
    for file, reason in given:
        by_reason.setdefault(reason, []).append(f"{file.package} {file.label}")
    for reason, names in by_reason.items():
        print(f"- {reason} ({len(names)}): {', '.join(names)}")


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


# ---------------------------------------------------------------------------------------------------------
# The first acceleration


def probe(path: Path, cache: str) -> tuple[float, float, float, int, int]:
    """Read one file in a new process."""
    env = os.environ | {"WHIPPLETREE_CACHE": cache, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PROBE, str(path)]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    read, whole, imported, bodies, freedoms = done.stdout.split()
    return float(read), float(whole), float(imported), int(bodies), int(freedoms)


def least(path: Path) -> tuple[list[tuple[float, float, float, int, int]], list[tuple[float, float, float, int, int]]]:
    """Three processes with an empty cache, and three that find the compiled code."""
    cold, warm = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(probe(path, cache))
            warm.append(probe(path, cache))
    return cold, warm


def print_first_accelerations(names: Sequence[str]) -> None:
    """Seconds of CPU of reading, and of that together with building and the first forward dynamics.

    The import of the package does not count, and is in the last two columns.
    """
    from support.robot_files import all_robots

    print(f"\n{'robot':28} bodies  v   read   cold   warm   with the import")
    for path in all_robots():
        if path.stem not in names:
            continue
        cold, warm = least(path)
        read = min(one[0] for one in [*cold, *warm])
        first, later = min(one[1] for one in cold), min(one[1] for one in warm)
        imported = [min(one[2] for one in times) for times in (cold, warm)]
        words = [verdict(value <= bar) for value, bar in ((first, COLD), (later, WARM))]
        print(
            f"{path.stem:28} {cold[0][3]:5} {cold[0][4]:3} {read:6.3f} {first:6.2f} {later:6.2f}   "
            f"{imported[0]:6.2f} {imported[1]:6.2f}   cold <= {COLD:g} s {words[0]}, warm <= {WARM:g} s {words[1]}"
        )


def humanoid() -> dict[str, str]:
    """The G1 humanoid without its meshes as URDF, and as MJCF, as MuJoCo writes it, with armature at every joint."""
    import mujoco

    from support.robot_files import all_robots

    (path,) = (path for path in all_robots() if path.stem == DEFAULT[0])
    root = ElementTree.parse(path).getroot()
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for one in link.findall(tag):
                link.remove(one)
    for one in root.findall("mujoco"):
        root.remove(one)
    urdf = ElementTree.tostring(root, encoding="unicode")
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    for joint in spec.joints:
        joint.armature = 0.01
    spec.compile()
    return {"humanoid.urdf": urdf, "humanoid.xml": spec.to_xml()}


def print_humanoid() -> None:
    """A humanoid with armature beside the same without, from the other format."""
    with tempfile.TemporaryDirectory() as folder:
        times, freedoms = {}, 0
        for name, text in humanoid().items():
            place = Path(folder) / name
            place.write_text(text, encoding="utf-8")
            cold, _ = least(place)
            times[name], freedoms = min(one[1] for one in cold), cold[0][4]
    ratio = times["humanoid.xml"] / times["humanoid.urdf"]
    print(
        f"\nhumanoid with {freedoms} joints: {times['humanoid.urdf']:.2f} s from URDF, {times['humanoid.xml']:.2f} s "
        f"from MJCF with armature: {ratio:.2f} times (<= {MJCF:g}: {verdict(ratio <= MJCF)})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Robots from files, beside the libraries that own their formats.")
    parser.add_argument("robots", nargs="*", default=DEFAULT, help="URDFs whose first acceleration is timed")
    parser.add_argument("--packages", nargs="*", help="only these packages")
    parser.add_argument("--json", type=Path, default=KEPT, help="where findings are kept, default %(default)s")
    parser.add_argument("--again", action="store_true", help="examine all files, not only those that were not right")
    parser.add_argument("--part", choices=("files", "times"), help="only the table, or only the bars of time")
    given = parser.parse_args()
    if given.part != "times":
        files = [one for one in sources() if not given.packages or one.package in given.packages]
        print_table(files, examine(files, given.json, given.again))
    if given.part != "files":
        print_first_accelerations(given.robots)
        print_humanoid()


if __name__ == "__main__":
    main()
