"""A file format from outside the package: declared here, registered, and then like any other.

It is for pendulums that hang on each other, a line for each: its name, length, mass and the name of what it hangs on.

    swings
    upper 0.5 2.0 ground
    lower 0.4 1.0 upper

Each is a thin rod on a hinge about y. Nothing in the package knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.cli import main
from whippletree.elements.joints import Revolute
from whippletree.files.formats import FileFormat, ModelContent, register, unregister
from whippletree.files.neutral_model import WORLD, NeutralJoint, NeutralLink, NeutralModel
from whippletree.files.poses import with_axis
from whippletree.files.writable_model import WritableModel
from whippletree.spatial.placement import Placement

TEXT = "swings\nupper 0.5 2.0 ground\n\nlower 0.4 1.0 upper\n"
HINGE = with_axis((0, 1, 0))


def recognises(content: ModelContent) -> bool:
    return content.head.split(b"\n")[0].strip() == b"swings"


def read(content: ModelContent) -> NeutralModel:
    """Fill the neutral model: links with their masses, and the joints between them."""
    model = NeutralModel("swings", content.name)
    lengths = {"ground": 0.0}
    for number, line in enumerate(content.data.decode().splitlines()[1:], 2):
        if not line.strip():
            continue
        try:
            name, length, mass, on = line.split()
            at, lengths[name] = lengths[on], float(length)
            rod = wt.rod(length=lengths[name], mass=float(mass)).moved(at=(0, 0, -lengths[name] / 2))
        except (ValueError, KeyError) as error:
            raise wt.FileError(
                f"{content.name}:{number}: no pendulum: {error}", file=content.name, line=number
            ) from None
        model.links[name] = NeutralLink(name, rod.drawn_as(()), number)
        seat = Placement(point=(0.0, 0.0, -at)) @ HINGE
        parent = WORLD if on == "ground" else on
        model.add_joint(NeutralJoint(f"hinge of {name}", Revolute(), parent, name, seat, HINGE, number))
    return model


def write(whole: WritableModel) -> str:
    """Return the text; what is no such pendulum is told by its name, all of it at once."""
    lines, length = ["swings"], {"ground": 0.0}
    for entry, body in zip(whole.tree.values(), whole.bodies(), strict=True):
        use = entry.use
        if use.on_child != HINGE or use.on_parent != Placement(point=(0.0, 0.0, -length.get(use.parent, 0.0))) @ HINGE:
            whole.lacks(f'joint "{use.name}", which is not at the end of its rod')
        if entry.damping or entry.friction or entry.stiffness:
            whole.lacks(f'what acts at joint "{use.name}"')
        length[body.name] = -2.0 * float(body.properties.com[2])
        lines.append(f"{body.name} {length[body.name]!r} {float(body.properties.mass)!r} {use.parent}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def registered() -> Iterator[FileFormat]:
    """The declaration: this is all there is to it."""
    swings = register(FileFormat("Swings", recognises, read, (".swing",), write))
    yield swings
    unregister(swings)


def by_hand() -> wt.System:
    m = wt.Mechanism("by hand")
    upper = m.body("upper", wt.rod(length=0.5, mass=2.0, at=(0, 0, -0.25)))
    lower = m.body("lower", wt.rod(length=0.4, mass=1.0, at=(0, 0, -0.2)))
    m.revolute("A", m.ground, upper, axis="y")
    m.revolute("B", upper, lower, at=(0, 0, -0.5), axis="y")
    return m.build()


def test_it_is_read_by_its_content(registered: FileFormat, tmp_path: Path) -> None:
    path = tmp_path / "clock.txt"
    path.write_text(TEXT, encoding="utf-8")
    q, v = np.array([0.3, -0.4]), np.array([1.0, 0.5])
    wanted = by_hand().forward_dynamics(q, v)
    for source in (path, TEXT):
        assert wt.read(source).build().forward_dynamics(q, v) == pytest.approx(wanted, rel=1e-12)
    assert wt.read(path).lines["lower"] == 4


def test_it_is_written_by_the_end_of_its_name(registered: FileFormat, tmp_path: Path) -> None:
    path = tmp_path / "clock.swing"
    wt.write(wt.read(TEXT), path)
    assert path.read_text(encoding="utf-8").split() == TEXT.split()
    assert main(["convert", str(path), str(tmp_path / "clock.yaml")]) == 0
    assert main(["convert", str(tmp_path / "clock.yaml"), str(tmp_path / "again.swing")]) == 0
    q = np.array([0.3, -0.4])
    again = wt.read(tmp_path / "again.swing").build()
    assert again.mass_matrix(q) == pytest.approx(by_hand().mass_matrix(q), rel=1e-12)


def test_what_is_wrong_is_told_in_words(registered: FileFormat, tmp_path: Path) -> None:
    with pytest.raises(wt.FileError, match=r"<text>:2: no pendulum: 'roof'"):
        wt.read("swings\nupper 0.5 2.0 roof\n")
    m = wt.Mechanism("others")
    m.revolute("A", m.ground, m.body("bar", wt.rod(length=1.0, mass=1.0)), axis="x")
    m.torsion_spring("return", "A", stiffness=1.0)
    m.body("stone", mass=1.0)
    m.free("flight", m.ground, "stone")
    m.load("wind", "stone", force=(1, 0, 0))
    with pytest.raises(wt.FileError) as caught:
        wt.write(m, tmp_path / "others.swing")
    for what in ('force "wind"', 'joint "A"', 'what acts at joint "A"', 'joint "flight"'):
        assert what in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_declarations_are_checked(registered: FileFormat) -> None:
    with pytest.raises(ValueError, match='there is a format "Swings" already'):
        register(registered)
    with pytest.raises(ValueError, match=r"'\.urdf' must be new \(it is that of URDF\)"):
        register(FileFormat("Others", recognises, read, (".urdf",)))


def test_without_registration_nobody_knows_it(tmp_path: Path) -> None:
    with pytest.raises(wt.FileError):
        wt.read(TEXT)
    with pytest.raises(wt.FileError, match=r"<swings> is no model that is known here: read are .*URDF"):
        wt.read("<swings>\n</swings>")
    with pytest.raises(wt.FileError, match=r"OpenSim is read and not written: .* must end in .*\.urdf.*\.yaml"):
        wt.write(wt.Mechanism("m"), tmp_path / "m.osim")
