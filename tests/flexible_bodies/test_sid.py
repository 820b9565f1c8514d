"""Standard input data: written and read again, against the body itself; files that are cut off or wrong."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import whippletree as wt


def written(tmp_path, **options):
    given = {"length": 1.0, "section": wt.rectangle(width=0.02, height=0.03), "material": wt.steel, "elements": 4}
    body = wt.beam(**given | {"modes": 5, "damping": 0.01} | options)
    path = tmp_path / "beam.SID_FEM"
    wt.write_sid(body, path)
    return body, path


@pytest.mark.parametrize("reference", ["cantilever", "free"])
@pytest.mark.parametrize("stiffening", [False, True])
def test_round_trip(tmp_path, reference: str, stiffening: bool) -> None:
    """Everything of first order comes back: inertia, velocity forces, interfaces, stiffness and damping."""
    body, path = written(tmp_path, reference=reference, stiffening=stiffening)
    again = wt.read_sid(path)
    assert again.stiffens == body.stiffens == stiffening
    assert "inertia to order 1" in again.report()
    for name in ("stiffness", "damping", "mass", "y0"):
        assert np.allclose(body.arrays.array(name), again.arrays.array(name), rtol=1e-12, atol=1e-12)
    n, rows = body.n_own, 9 + 3 * body.n_own
    assert np.allclose(body.arrays.array("y1")[:rows], again.arrays.array("y1")[:rows], atol=1e-12)
    assert np.allclose(body.arrays.array("y2")[:9], again.arrays.array("y2")[:9], atol=1e-12)
    eta = np.linspace(-1e-3, 1e-3, n)
    for frame in ("root", "tip"):
        for one, other in zip(body.pose(frame, ca.SX(eta)), again.pose(frame, ca.SX(eta)), strict=True):
            assert np.allclose(np.array(ca.DM(one)), np.array(ca.DM(other)), atol=1e-13)
    wt.write_sid(again, tmp_path / "again.SID_FEM")
    third = wt.read_sid(tmp_path / "again.SID_FEM")
    assert np.allclose(third.arrays.array("y1"), again.arrays.array("y1"), atol=1e-12)


def test_both_move_alike(tmp_path) -> None:
    """A spinning cantilever has the same frequencies from its file, stiffening included."""
    body, path = written(tmp_path, modes=3)
    found = []
    for each in (body, wt.read_sid(path)):
        m = wt.Mechanism("rotor", gravity=(0, 0, 0))
        hub = m.body("hub", mass=1.0, inertia=(1, 1, 1))
        m.revolute("spin", m.ground, hub, axis="z")
        m.fixed("clamp", hub, m.body("blade", each))
        system = m.build()
        v = system.velocities({"spin": 20.0})
        q = np.full(system.nq, 1e-5)
        found.append(system.bias_force(q, v))
    assert np.allclose(*found, rtol=1e-6)


def test_entries_as_others_write_them(tmp_path) -> None:
    """Unit and zero structures, missing damping, lower-case exponents."""
    _, path = written(tmp_path, stiffening=False, damping=None)
    lines = path.read_text().splitlines()
    text = "\n".join(line.replace("D+", "d+") for line in lines)
    start, end = text.index("           De"), text.index("           end De")
    path.write_text(text[:start] + text[end + len("           end De\n") :])
    again = wt.read_sid(path)
    assert not again.arrays.array("damping").any()


def test_cut_off_and_wrong_files_are_named(tmp_path) -> None:
    _, path = written(tmp_path, modes=2)
    lines = path.read_text().splitlines()
    bad = tmp_path / "bad.SID_FEM"
    for share in (0.02, 0.2, 0.5, 0.9, 0.995):
        bad.write_text("\n".join(lines[: int(share * len(lines))]))
        with pytest.raises(wt.FileError, match="cut off"):
            wt.read_sid(bad)
    for old, new, message in (
        ("    2   2    :No.", "    2   3    :No.", "nelastq is"),
        ("    2   2    :No.", "    5   2    :No.", "5 nodes are announced"),
        (" part", " apart", "no file of standard input data"),
        ("nrow                  =    6", "nrow                  =   six", "this is no number"),
        ("m0(  1,  1)", "m0(  9,  1)", "is outside of"),
        ("new node", "old node", "a node begins with new node"),
        ("           J\n", "           K\n", "no size and no entry"),
    ):
        whole = "\n".join(lines)
        assert old in whole
        bad.write_text(whole.replace(old, new, 1))
        with pytest.raises(wt.FileError) as caught:
            wt.read_sid(bad)
        assert message in str(caught.value)
    whole = "\n".join(lines)
    start, end = whole.index("           Ke"), whole.index("           De")
    bad.write_text(whole[:start] + whole[end:])
    with pytest.raises(wt.FileError, match="the block Ke is missing"):
        wt.read_sid(bad)
    with pytest.raises(wt.FileError, match="No such file"):
        wt.read_sid(tmp_path / "none.SID_FEM")
    with pytest.raises(wt.ModelError, match="give a flexible body"):
        wt.write_sid(3, bad)
    lumped, _ = wt.beam(length=1, section=wt.circle(radius=0.01), material=wt.steel, modes=1, mass="lumped"), None
    with pytest.raises(wt.ModelError, match="lumped"):
        wt.write_sid(lumped, bad)


@pytest.mark.parametrize("path", [None, 3, "", "no such file", "two\0parts", "."])
def test_what_is_no_file_is_told(path):
    for read in (lambda: wt.read_sid(path), lambda: wt.read_abaqus(path, path, path)):
        with pytest.raises(wt.FileError):
            read()
