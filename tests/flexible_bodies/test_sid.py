"""Standard input data: written and read again, against the body itself; files that are cut off or wrong."""

from __future__ import annotations

import re

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


BENT = {"stations": [(0, 0, 0), (0.6, 0.1, 0), (1, 0.1, 0.3)], "length": None, "modes": 3}
"""A beam in which all motions couple."""


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


# ------------------------------------------------------------------------------------- load-dependent stiffness


def blocks(path) -> dict[str, np.ndarray]:
    """The m0 and m1 of all blocks of a file, read by their lines alone: "Ct m1", "tip phi m1"."""
    found, node, name, sizes = {}, "", "", {}
    for line in path.read_text().splitlines():
        key, _, value = (part.strip() for part in line.partition("="))
        entry = re.fullmatch(r"(m[01])\(([\d, ]+)\)", key)
        if key == "new node":
            node = f"{value} "
        elif key == "end frame":
            node = ""
        elif entry:
            n = sizes["nq"]
            shape = (sizes["nrow"], sizes["ncol"]) if entry[1] == "m0" else (sizes["nrow"], n, sizes["ncol"])
            table = found.setdefault(f"{node}{name} {entry[1]}", np.zeros(shape))
            table[tuple(int(each) - 1 for each in entry[2].split(","))] = float(value.replace("D", "E"))
        elif key in ("nrow", "ncol", "nq"):
            sizes[key] = int(value)
        elif not value:
            name = key
    return found


def rewritten(path, change) -> None:
    """Change the entries of first order of a file: by `change(block, place in it from one, value)`."""
    lines, name = [], ""
    for read in path.read_text().splitlines():
        line = read
        key, _, value = (part.strip() for part in read.partition("="))
        entry = re.fullmatch(r"m1\(([\d, ]+)\)", key)
        name = name if value else key
        if entry:
            place = tuple(int(each) for each in entry[1].split(","))
            line = f"  {key} = {change(name, place, float(value.replace('D', 'E'))):.16E}".replace("E", "D")
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")


def felt(system, w=(0, 0, 0), dw=(0, 0, 0), a=(0, 0, 0), moment=(0, 0, 0), force=(0, 0, 0), step=1e-3):
    """The stiffness that a body feels in a motion of its frame and under a load on its tip, beside that at rest.

    It is the slope of the forces that hold the modal coordinates, by inverse dynamics.
    """
    own, frame, n = system.q_slice("blade"), system.v_slice("frame"), system.nv - 6

    def held(eta, share):
        q, v, rate = system.q0.copy(), np.zeros(system.nv), np.zeros(system.nv)
        q[own], v[frame], rate[frame] = eta, share * np.r_[w, 0, 0, 0], share * np.r_[dw, a]
        wrench = share * np.r_[moment, force]
        return system.inverse_dynamics(q, v, rate, wrenches={"blade.tip": wrench})[system.v_slice("blade")]

    def by_load(eta):
        return held(eta, 1.0) - held(eta, 0.0)

    return np.array([(by_load(step * e) - by_load(-step * e)) / (2 * step) for e in np.eye(n)]).T


def floating(body):
    m = wt.Mechanism("floating", gravity=(0, 0, 0))
    m.free("frame", m.ground, m.body("blade", body))
    return m.build()


def given_stiffness(file, n):
    """The file's own matrices for unit loads: accelerations, angular accelerations, and products of velocities."""
    Ct, Cr, Oe = (file.get(f"{name} m1", np.zeros((n, n, size))) for name, size in (("Ct", 3), ("Cr", 3), ("Oe", 6)))
    return np.moveaxis(Ct, 2, 0), np.moveaxis(Cr, 2, 0), np.moveaxis(Oe, 2, 0)


def any_symmetric(name, place, value):
    """Other numbers, which no beam has, symmetric in the modes where geometric stiffness is."""
    k, l = place[:2] if name in ("Ct", "Oe") else place[1:]
    return value * (1 + 0.3 * np.cos(k * l)) if name in ("Ct", "Oe", "phi", "psi") else value


def not_symmetric(name, place, value):
    return value * (1 + 0.2 * np.sin(place[0] + 2 * place[1])) if name in ("Ct", "Cr", "Oe") else value


@pytest.mark.parametrize("change", [None, any_symmetric, not_symmetric])
def test_the_stiffness_felt_is_that_of_the_file(tmp_path, change) -> None:
    """Under accelerations, angular accelerations and spin, for each unit load, whatever the matrices are."""
    _, path = written(tmp_path, **BENT)
    if change is not None:
        rewritten(path, change)
    body, n = wt.read_sid(path), 3
    system = floating(body)
    shift, turn, spin = given_stiffness(blocks(path), n)
    assert all(np.abs(each).max() > 1e-3 for each in (shift, turn, spin))
    for i, e in enumerate(np.eye(3)):
        assert np.abs(felt(system, a=e) - shift[i]).max() < 1e-11 * np.abs(shift).max()
        assert np.abs(felt(system, dw=e) - turn[i]).max() < 1e-11 * np.abs(turn).max()
    for w in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 0), (0, 1, -1), (2, 0, 1)):
        products = np.r_[np.square(w), w[0] * w[1], w[1] * w[2], w[0] * w[2]]
        assert np.abs(felt(system, w=w) - np.tensordot(products, spin, 1)).max() < 1e-10 * np.abs(spin).max()
    assert body.has_energy == (change is not not_symmetric)
    wt.write_sid(body, tmp_path / "again.SID_FEM")
    for one, other in zip(given_stiffness(blocks(tmp_path / "again.SID_FEM"), n), (shift, turn, spin), strict=True):
        assert np.abs(one - other).max() < 1e-13 * np.abs(other).max()


@pytest.mark.parametrize("change", [None, any_symmetric])
def test_the_stiffness_felt_under_loads_on_nodes_is_that_of_the_file(tmp_path, change) -> None:
    _, path = written(tmp_path, **BENT)
    if change is not None:
        rewritten(path, change)
    system, file = floating(wt.read_sid(path)), blocks(path)
    phi, psi, Psi = file["tip phi m1"], file["tip psi m1"], file["tip psi m0"]
    for load in ((1.0, 0, 0), (0.3, -2, 1)):
        expected = -np.einsum("a,akl->kl", load, phi)
        assert np.abs(felt(system, force=load) - expected).max() < 1e-11 * np.abs(expected).max()
        # a moment keeps its direction: what is not symmetric is -1/2 N . (Psi_l x Psi_k), whatever a file says
        turned = np.einsum("a,akl->kl", load, np.cross(Psi[:, None, :], Psi[:, :, None], axis=0)) / 2
        expected = -np.einsum("a,akl->kl", load, psi) - turned
        assert np.abs(felt(system, moment=load, step=1e-5) - expected).max() < 1e-8 * np.abs(expected).max()


def test_some_of_the_matrices_are_used_alone(tmp_path) -> None:
    """Centrifugal stiffness without any other, as programs for rotors write it."""
    _, path = written(tmp_path, modes=3)
    rewritten(path, lambda name, _, value: 0.0 if name in ("Ct", "phi", "psi") else value)
    body = wt.read_sid(path)
    assert body.stiffens
    assert body.has_energy
    shift, _, spin = given_stiffness(blocks(path), 3)
    assert not shift.any()
    assert np.abs(felt(floating(body), a=(0, 0, 1.0))).max() < 1e-12
    assert np.abs(felt(floating(body), w=(0, 0, 1.0)) - spin[2]).max() < 1e-10 * np.abs(spin).max()


def spinning(body):
    m = wt.Mechanism("rotor", gravity=(0, 0, -9.81))
    hub = m.body("hub", mass=0.3, inertia=(0.1, 0.1, 0.1))
    m.revolute("spin", m.ground, hub, axis="y")
    m.fixed("clamp", hub, m.body("blade", body))
    system = m.build()
    return system, system.simulate(0.3, v={"spin": 60.0})


def test_a_stiffness_that_has_no_energy_is_told(tmp_path) -> None:
    """With symmetric matrices energy is a check, with others a certificate says that it is none."""
    _, path = written(tmp_path, **BENT, damping=None)
    rewritten(path, any_symmetric)
    _, run = spinning(wt.read_sid(path))
    assert run.certificate.ok
    assert "energy" in run.certificate.checked
    assert run.certificate.energy_drift < 1e-8 * run.certificate["energy_scale"]

    rewritten(path, not_symmetric)
    body = wt.read_sid(path)
    system, run = spinning(body)
    assert "used as given: energy is no check" in body.report()
    assert run.certificate.energy_drift > 1e-6 * run.certificate["energy_scale"]
    assert run.certificate.ok
    assert "energy" not in run.certificate.checked
    words = 'energy is no check: the load-dependent stiffness of "blade" is not symmetric, and is used as given'
    assert words in run.certificate.unchecked
    assert "which is no check" in str(run.certificate)
    expected = system.forward_dynamics(run.q[-1], run.v[-1])
    for formulation in ("articulated", "composite", "velocity_transformation", "absolute"):
        found = system.forward_dynamics(run.q[-1], run.v[-1], formulation=formulation)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_what_is_told_twice_and_differs_is_named(tmp_path) -> None:
    for wrong, message in (
        ("J", "J and Oe contradict each other by"),
        ("mdCM", "mdCM and Ct contradict each other by"),
        ("phi", "node tip: phi: its terms of first order are not symmetric in the modes"),
    ):
        _, path = written(tmp_path, modes=3)
        rewritten(path, lambda name, at, value, wrong=wrong: value * (1 + at[1] / 10) if name == wrong else value)
        with pytest.raises(wt.FileError, match=message):
            wt.read_sid(path)
    _, path = written(tmp_path, modes=2)
    whole = path.read_text()
    at = whole.index("           Ge\n")
    path.write_text(whole[:at] + whole[at:].replace("ncol                  =    6", "ncol                  =    5", 1))
    with pytest.raises(wt.FileError, match="Ge"):
        wt.read_sid(path)


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
    for end in range(len("\n".join(lines[:40])), len("\n".join(lines[:42]))):  # within a line
        bad.write_text(path.read_text()[:end])
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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    2   2    :", "    2   " + "2" * 5000 + " :", "no file of standard input data"),
        ("nrow                  =    3", "nrow                  = 3D99", "nobody writes"),
        ("nrow                  =    3", "nrow                  =   -3", "nobody writes"),
        ("m0(  1,  1)", "m0(  1," + "1" * 5000 + ")", "no size and no entry"),
        ("m0(  1,  1)", "m0(  1," + "1" * 30 + ")", "is outside of"),
    ],
)
def test_enormous_numbers_are_named(tmp_path, old: str, new: str, message: str) -> None:
    path = tmp_path / "beam.SID_FEM"
    wt.write_sid(wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2), path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(wt.FileError, match=message):
        wt.read_sid(path)


def test_columns_that_count_axes_slowest_or_modes_slowest_are_told_apart(tmp_path) -> None:
    """A vector product of a mode with itself is zero: by that both orders are one body."""
    _, path = written(tmp_path, modes=4)
    text = path.read_text()
    start, end = text.index("           Ge\n"), text.index("           end Ge")
    entry = re.compile(r"m0\(\s*(\d+),\s*(\d+)\)")
    given = [(int(row), int(column)) for row, column in entry.findall(text[start:end])]
    assert given and all((column - 1) % 4 != row - 1 for row, column in given)  # all modes for x, then for y and z

    def by_mode(found: re.Match[str]) -> str:
        axis, mode = divmod(int(found[2]) - 1, 4)
        return f"m0({int(found[1]):2},{3 * mode + axis + 1:2})"

    other = tmp_path / "other.SID_FEM"
    other.write_text(text[:start] + entry.sub(by_mode, text[start:end]) + text[end:])
    one, two = wt.read_sid(path), wt.read_sid(other)
    assert np.array_equal(one.arrays.array("y1"), two.arrays.array("y1"))
