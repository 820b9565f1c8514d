"""The package as it is installed: a wheel, in an environment that has what it depends on, and not Numba."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROGRAM = """
import whippletree as wt
from whippletree.simulate.steppers import method_names
from whippletree.system.example_systems import four_bar

print(wt.__file__)
for method in method_names():
    fixed = method not in ("dopri5", "dop853", "adams")
    run = four_bar().simulate(0.5, method=method, **({"step": 1e-3} if fixed else {}))
    total = run.energy().total
    print(method, run.t[-1], abs(total - total[0]).max() < 0.1)
"""


def called(*command: object, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["WHIPPLETREE_CACHE"] = str(folder / "cache")
    words = list(map(str, command))
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel in it; what it depends on is borrowed from here."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    called(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, folder=folder)
    venv.create(folder / "environment", with_pip=False)
    python = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    called(*pip, "--python", python, "install", "--no-deps", *folder.glob("*.whl"), folder=folder)
    home = Path(called(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder).strip())
    lent = "\n".join(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    (home / "lent.pth").write_text(f"{lent}\nimport sys; sys.modules['numba'] = None  # as if it were not there\n")
    return python


def test_all_methods_run_without_numba(installed: Path, tmp_path: Path):
    where, *lines = called(installed, "-c", PROGRAM, folder=tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parents[1])
    assert len(lines) >= 7
    assert all(line.endswith(" 0.5 True") for line in lines), lines


def test_the_command_line_runs_a_model_file(installed: Path, tmp_path: Path):
    command = installed.with_name("whippletree")
    called(command, "run", ROOT / "examples" / "quarter_car.yaml", "--csv", "quarter_car.csv", folder=tmp_path)
    assert (tmp_path / "quarter_car.csv").stat().st_size > 1000


def lowest() -> list[str]:
    """What the package depends on here, each at the lowest version that is declared."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    here = sys.platform == "linux" and platform.machine() == "x86_64"
    marked = {one.partition(">=")[0] for one in declared if ";" in one}  # on other systems, another bound holds too
    chosen = [one for one in declared if (";" in one) != (here or one.partition(">=")[0] not in marked)]
    return [one.partition(";")[0].replace(">=", "==") for one in chosen]


@pytest.mark.deep
def test_the_lowest_versions_that_are_declared_work(tmp_path: Path):
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    called(*pip, *lowest(), folder=tmp_path)
    (home,) = (tmp_path / "environment").rglob("site-packages")
    (home / "here.pth").write_text(f"{ROOT / 'src'}\n")
    assert len(called(python, "-c", PROGRAM, folder=tmp_path).splitlines()) >= 8
    command = ("-m", "whippletree", "run", ROOT / "examples" / "quarter_car.yaml", "--csv", "a.csv", "-o", "a.nc")
    called(python, *command, folder=tmp_path)
    assert (tmp_path / "a.nc").stat().st_size > 1000
