"""Beams against closed forms, a geometrically exact beam, and each other in different reference frames."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import whippletree as wt
from whippletree.flexible_bodies.beam_elements import BeamElements
from whippletree.flexible_bodies.beam_mesh import beam_mesh
from whippletree.flexible_bodies.beams import _BeamModel
from whippletree.flexible_bodies.mode_options import read_mode_options
from whippletree.viewer.skins import skin_of

SLENDER = wt.circle(radius=2e-4)  # rotary inertia, which the closed forms leave out, is 1e-7 of the rest
E, RHO, G = wt.steel.youngs_modulus, wt.steel.density, wt.steel.shear_modulus
PACE = np.sqrt(E * SLENDER.second_moment_y / (RHO * SLENDER.area))

ROOTS = {
    "clamped-free": [1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467],
    "free-free": [4.730040744862704, 7.853204624095838, 10.995607838001671, 14.137165491257464],
    "pinned-pinned": [np.pi, 2 * np.pi, 3 * np.pi, 4 * np.pi],
    "clamped-clamped": [4.730040744862704, 7.853204624095838, 10.995607838001671, 14.137165491257464],
}


def matrices(body) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and inertia of the modal coordinates at rest, and all of the mass matrix."""
    n = body.n_own
    return body.arrays.array("stiffness"), np.array(ca.DM(body.mass_matrix(ca.SX.zeros(n))))


def frequencies(body) -> np.ndarray:
    K, M = matrices(body)
    return np.sqrt(1 / eigh(M[6:, 6:], K, eigvals_only=True)[::-1])


def nodal(elements: int):
    """A cantilever in nodal displacements: K and M of bending in the plane of x and y, and its freedoms (2 a node)."""
    places = {"root": 0.0, "tip": 1.0}
    mesh = beam_mesh(1.0, None, "x", None, SLENDER, wt.steel, elements, False, places)
    options = read_mode_options("beam", 1, None, False, "eigenmodes", "cantilever", places)
    structure = _BeamModel(mesh, options, lumped=False).structure
    plane = np.sort(np.concatenate([np.arange(7, structure.size, 6), np.arange(11, structure.size, 6)]))
    return (matrix.toarray()[np.ix_(plane, plane)] for matrix in (structure.stiffness, structure.mass))


def held(elements: int, ends: str) -> np.ndarray:
    if ends == "clamped-free":
        return frequencies(wt.beam(length=1.0, section=SLENDER, material=wt.steel, elements=elements, modes=8))[::2]
    references = {"free-free": "free", "pinned-pinned": "chord"}
    if ends in references:
        body = wt.beam(
            length=1.0, section=SLENDER, material=wt.steel, elements=elements, modes=8, reference=references[ends]
        )
        return frequencies(body)[::2]
    K, M = nodal(elements)
    return np.sqrt(1 / eigh(M[:-2, :-2], K[:-2, :-2], eigvals_only=True)[::-1])


@pytest.mark.parametrize("ends", ROOTS)
def test_bending_frequencies(ends: str) -> None:
    exact = np.array(ROOTS[ends]) ** 2 * PACE
    error = held(20, ends)[:4] / exact - 1
    assert np.abs(error[:3]).max() < 1e-4
    assert abs(error[3]) < 3e-4
    coarse = held(10, ends)[:4] / exact - 1
    assert 12 < coarse[2] / error[2] < 20  # the fourth power of two


def test_a_round_beam_has_the_same_modes_in_both_planes() -> None:
    body = wt.beam(length=1.0, section=SLENDER, material=wt.steel, modes=4)
    found = body.arrays.array("tip translation")
    assert np.array_equal(found != 0, [[False] * 4, [True, False, True, False], [False, True, False, True]])


def test_extension_and_torsion() -> None:
    section = wt.circle(radius=0.02)
    body = wt.beam(length=1.0, section=section, material=wt.steel, elements=20, highest_frequency=2500)
    tip = body.arrays.array("tip translation"), body.arrays.array("tip rotation")
    found = frequencies(body)
    axial, twist = found[tip[0][0] != 0], found[tip[1][0] != 0]
    assert np.abs(axial / (np.pi / 2 * np.sqrt(E / RHO)) - 1).max() < 3e-4
    assert abs(twist[0] / (np.pi / 2 * np.sqrt(G / RHO)) - 1) < 3e-4


def test_mass_at_the_tip() -> None:
    K, M = nodal(20)
    ratio = 0.7
    M[-2, -2] += ratio * RHO * SLENDER.area

    def residual(b: float) -> float:
        return 1 + np.cos(b) * np.cosh(b) + ratio * b * (np.cos(b) * np.sinh(b) - np.sin(b) * np.cosh(b))

    exact = brentq(residual, 0.5, 1.8) ** 2 * PACE
    found = np.sqrt(1 / eigh(M, K, eigvals_only=True)[-1])
    assert abs(found / exact - 1) < 1e-6


def deflection(body, force: np.ndarray, frame: str = "tip") -> tuple[np.ndarray, np.ndarray]:
    """Translation and rotation at an interface under [moment; force] at the tip, to first order."""
    phi, psi = body.arrays.array("tip translation"), body.arrays.array("tip rotation")
    eta = np.linalg.solve(body.arrays.array("stiffness"), psi.T @ force[:3] + phi.T @ force[3:])
    return body.arrays.array(f"{frame} translation") @ eta, body.arrays.array(f"{frame} rotation") @ eta


@pytest.mark.parametrize("options", [{"modes": 2, "attachment": "tip"}, {"modes": "all"}, {"modes": "nodal"}])
@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
def test_static_deflection_at_the_tip(options: dict, theory: str) -> None:
    section = wt.rectangle(width=0.02, height=0.05)
    body = wt.beam(length=0.8, section=section, material=wt.aluminium, elements=4, theory=theory, **options)
    E, G, L = wt.aluminium.youngs_modulus, wt.aluminium.shear_modulus, 0.8
    u, theta = deflection(body, np.array([2.0, 0.0, 0.0, 3.0, 5.0, -7.0]))
    sheared = theory == "timoshenko"
    sides = [
        F * L**3 / (3 * E * moment) + (F * L / (k * G * section.area) if sheared else 0)
        for F, moment, k in (
            (5.0, section.second_moment_z, section.shear_factor_y),
            (-7.0, section.second_moment_y, section.shear_factor_z),
        )
    ]
    assert np.allclose(u, [3.0 * L / (E * section.area), *sides], rtol=1e-8, atol=0)
    turned = [7.0 * L**2 / (2 * E * section.second_moment_y), 5.0 * L**2 / (2 * E * section.second_moment_z)]
    assert np.allclose(theta, [2.0 * L / (G * section.torsion_constant), *turned], rtol=1e-8, atol=0)


def test_section_forces_under_a_tip_load() -> None:
    body = wt.beam(length=2.0, section=wt.circle(radius=0.01), material=wt.steel, elements=5, modes=0, attachment="tip")
    phi = body.arrays.array("tip translation")
    eta = np.linalg.solve(body.arrays.array("stiffness"), phi.T @ np.array([10.0, 3.0, -4.0]))
    found = body.drawn.array("section_forces") @ eta
    x = np.linspace(0, 2, 6)
    assert np.allclose(found[:, 0], 10.0)
    assert np.allclose(found[:, 1], 3.0)
    assert np.allclose(found[:, 2], -4.0)
    assert np.allclose(found[:, 4], 4.0 * (2 - x), atol=1e-8)
    assert np.allclose(found[:, 5], 3.0 * (2 - x), atol=1e-8)


@pytest.mark.rest
@pytest.mark.parametrize("by", ["axis", "stations"])
@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z", (1.0, 2.0, -2.0), (-1.0, -2.0, 2.0)])
def test_the_section_lies_the_same_along_an_axis_and_its_opposite(axis, by: str) -> None:
    """Deflections, section forces, frames and the drawn surface, for a flat section whose y is known in body axes."""
    section, L = wt.rectangle(width=0.01, height=0.05), 1.5
    along = np.array(axis, dtype=float) if not isinstance(axis, str) else np.eye(3)["xyz".index(axis[-1])]
    x = (-1.0 if axis in ("-x", "-y", "-z") else 1.0) * along / np.linalg.norm(along)
    y = np.roll(along, 1) if isinstance(axis, str) else np.array([0.0, 1.0, 1.0]) / np.sqrt(2)
    z = np.cross(x, y)
    given = {"length": L, "axis": axis} if by == "axis" else {"stations": [0 * x, 0.4 * L * x, L * x]}
    if not isinstance(axis, str):
        given["across"] = y
    body = wt.beam(section=section, material=wt.steel, elements=4, modes=2, attachment="tip", **given)
    force = 10.0 * x + 3.0 * y - 4.0 * z
    u, theta = deflection(body, np.concatenate([2.0 * x, force]))
    stiff_y, stiff_z = E * section.second_moment_z, E * section.second_moment_y
    moved = 10.0 * L / (E * section.area) * x + L**3 / 3 * (3.0 / stiff_y * y - 4.0 / stiff_z * z)
    assert np.allclose(u, moved, rtol=1e-8, atol=1e-8 * np.linalg.norm(moved))
    turned = 2.0 * L / (G * section.torsion_constant) * x + L**2 / 2 * (4.0 / stiff_z * y + 3.0 / stiff_y * z)
    assert np.allclose(theta, turned, rtol=1e-8, atol=1e-8 * np.linalg.norm(turned))

    push = body.arrays.array("tip rotation").T @ (2.0 * x) + body.arrays.array("tip translation").T @ force
    found = body.drawn.array("section_forces") @ np.linalg.solve(body.arrays.array("stiffness"), push)
    assert np.allclose(found[0], [10.0, 3.0, -4.0, 2.0, 4.0 * L, 3.0 * L], rtol=1e-7)  # y of +x and of -x are the same

    rotation, origin = (np.array(ca.DM(part)) for part in body.pose("tip", ca.SX.zeros(body.n_own)))
    assert np.allclose(rotation, np.eye(3), atol=1e-12)
    assert np.allclose(origin.ravel(), L * x, atol=1e-12)
    surface = skin_of(body, 0, 1e-3, 0).points
    assert np.allclose([np.ptp(surface @ side) for side in (x, y, z)], [L, 0.01, 0.05], atol=1e-9)
    triangles = surface[skin_of(body, 0, 1e-3, 0).triangles]
    volume = np.einsum("ti,ti->", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6
    assert np.isclose(volume, L * section.area)  # seen from outside, not from within


@pytest.mark.parametrize("axis", ["x", "-x", "y", "-y", "z", "-z", (1, 2, -2)])
def test_inertia_of_the_undeformed_beam(axis) -> None:
    section = wt.rectangle(width=0.1, height=0.3)
    body = wt.beam(length=2.0, section=section, material=wt.steel, elements=3, modes=3, axis=axis)
    m = RHO * section.area * 2.0
    if isinstance(axis, str):
        box = wt.box((2.0, 0.1, 0.3), m, axis=axis)
        x = np.eye(3)["xyz".index(axis[-1])]
        J = np.array(box.inertia) + m * (x @ x * np.eye(3) - np.outer(x, x))
        assert np.allclose(matrices(body)[1][:3, :3], J, rtol=1e-12, atol=1e-9)
    assert np.allclose(matrices(body)[1][3:6, 3:6], m * np.eye(3))


def test_tapered_beam_against_integrals() -> None:
    """A cone in tension: u = F L / (pi E r0 r1), with sections that converge to it."""
    r0, r1 = 0.02, 0.01
    stations = [wt.circle(radius=r0 + (r1 - r0) * s) for s in np.linspace(0, 1, 25)]
    body = wt.beam(length=1.0, section=stations, material=wt.steel, elements=24, modes=2, attachment="tip")
    u, _ = deflection(body, np.array([0, 0, 0, 1e3, 1.0, 0]))
    assert abs(u[0] * np.pi * E * r0 * r1 / 1e3 - 1) < 1e-3
    assert abs(u[1] * 3 * np.pi * E * r0**3 * r1 / 4 - 1) < 1e-3  # F L^3 / (3 E I0) r0 / r1


def test_curved_beam_against_castigliano() -> None:
    """A quarter circle, clamped at one end, pulled at the other across its plane."""
    R, section = 1.0, wt.circle(radius=0.01)
    angle = np.linspace(0, np.pi / 2, 33)
    body = wt.beam(
        stations=R * np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1),
        section=section,
        material=wt.steel,
        elements=32,
        modes=1,
        attachment="tip",
    )
    u, _ = deflection(body, np.array([0, 0, 0, 0, 0, 1.0]))
    EI, GJ = E * section.second_moment_y, G * section.torsion_constant
    exact = R**3 * (np.pi / (4 * EI) + (3 * np.pi / 4 - 2) / GJ)
    assert abs(u[2] / exact - 1) < 1e-3


@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
def test_second_order_displacements_are_those_of_the_exact_beam(theory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The poses of interfaces differ from a geometrically exact beam with the same strains in third order only."""
    seen: list[BeamElements] = []
    real = BeamElements.fields
    monkeypatch.setattr(BeamElements, "fields", lambda self, at=None: seen.append(self) or real(self, at))
    body = wt.beam(
        length=1.0,
        section=wt.rectangle(width=0.02, height=0.03),
        material=wt.steel,
        elements=1,
        modes="all",
        theory=theory,
        axis="z",
    )
    element = seen[0]
    rest = np.array([body.drawn.array("translation")[1], body.drawn.array("rotation")[1]]).reshape(6, -1)
    eta = np.random.default_rng(0).normal(size=6) * body.amplitudes(0.1, 0.1)

    def exact(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        freedoms = np.concatenate([np.zeros(6), rest @ eta])

        def slope(s: float, y: np.ndarray) -> np.ndarray:
            strain = real(element, np.array([s]))[2][0, 0] @ freedoms
            axes = element.axes[0]
            R = Rotation.from_quat(y[3:])
            k, (x, y_, z, w) = axes @ strain[3:], y[3:]
            turned = np.array(
                [
                    w * k[0] + y_ * k[2] - z * k[1],
                    w * k[1] + z * k[0] - x * k[2],
                    w * k[2] + x * k[1] - y_ * k[0],
                    -x * k[0] - y_ * k[1] - z * k[2],
                ]
            )
            return np.concatenate([R.apply(axes @ (np.array([1.0, 0, 0]) + strain[:3])), turned / 2])

        end = solve_ivp(slope, (0, 1), [0, 0, 0, 0, 0, 0, 1.0], rtol=1e-11, atol=1e-13).y[:, -1]
        return end[:3], Rotation.from_quat(end[3:]).as_matrix()

    errors = []
    for share in (1.0, 0.5):
        R, p = (np.array(ca.DM(part)) for part in body.pose("tip", ca.SX(share * eta)))
        p_exact, R_exact = exact(share * eta)
        errors.append([np.abs(p[:, 0] - p_exact).max(), np.abs(R - R_exact).max()])
    assert np.all(np.abs(np.log2(np.array(errors[0]) / np.array(errors[1])) - 3) < 0.2)


@pytest.mark.parametrize("reference", ["free", "chord"])
def test_complete_bases_in_other_frames_have_the_same_linear_model(reference: str) -> None:
    """Clamped at its root in the engine, a beam has the same frequencies in whichever frame it is described."""
    found = []
    for each in ("cantilever", reference):
        m = wt.Mechanism("clamped", gravity=(0, 0, 0))
        body = wt.beam(
            length=1.0,
            section=wt.rectangle(width=0.02, height=0.03),
            material=wt.steel,
            elements=2,
            modes="all",
            reference=each,
            stiffening=False,
        )
        m.fixed("clamp", m.ground, m.body("link", body), at_child="root")
        system = m.build()
        M = system.mass_matrix(np.zeros(system.nq))
        found.append(np.sqrt(1 / eigh(M, body.arrays.array("stiffness"), eigvals_only=True)[::-1]))
    assert np.abs(found[1] / found[0] - 1).max() < 1e-10


def test_craig_bampton_and_free_modes_agree_where_both_are_complete() -> None:
    common = {"length": 1.0, "section": wt.circle(radius=0.01), "material": wt.steel, "elements": 3}
    free = wt.beam(**common, modes="all")
    both = wt.beam(**common, modes=12, reduction="craig-bampton")
    assert np.abs(frequencies(both) / frequencies(free) - 1).max() < 1e-9


def test_lumped_mass_converges_to_consistent() -> None:
    lumped = wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, elements=20, modes=2, mass="lumped")
    consistent = wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, elements=20, modes=2)
    assert np.abs(frequencies(lumped) / frequencies(consistent) - 1).max() < 5e-3
    assert np.allclose(matrices(lumped)[1][3, 3], matrices(consistent)[1][3, 3])


@pytest.mark.parametrize("damping", [0.02, [0.02, 0.02], {"mass": 0.5, "stiffness": 1e-4}])
def test_damping(damping) -> None:
    body = wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2, damping=damping)
    omega = frequencies(body)
    found = np.diag(body.arrays.array("damping"))
    wanted = 0.5 + 1e-4 * omega**2 if isinstance(damping, dict) else 0.04 * omega
    assert np.allclose(found, wanted)


def test_a_beam_swings_like_a_pendulum_and_keeps_its_energy() -> None:
    m = wt.Mechanism("pendulum")
    link = m.body("link", wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2))
    m.revolute("A", m.ground, link, axis="y")
    run = m.build().simulate(0.5, tolerance=1e-9)
    energy = run.energy()
    assert np.ptp(energy.total) < 1e-7 * np.ptp(energy.kinetic)
    assert energy.strain.max() > 0


def test_substructures_bend_like_the_elastica() -> None:
    """A slender cantilever under a tip force of 2 E I / L^2, against the nonlinear boundary value problem."""
    section = wt.circle(radius=0.005)
    P = 2.0 * E * section.second_moment_y  # of one metre
    sag = solve_bvp(
        lambda s, y: np.array([y[1], -2.0 * np.cos(y[0])]),
        lambda root, tip: np.array([root[0], tip[1]]),
        np.linspace(0, 1, 101),
        np.array([np.linspace(0, 0.7, 101), np.linspace(1, 0, 101)]),
        tol=1e-8,
    )
    angle = sag.sol(np.linspace(0, 1, 2001))[0]
    exact = np.array([np.trapezoid(np.cos(angle), dx=5e-4), np.trapezoid(np.sin(angle), dx=5e-4)])
    m = wt.Mechanism("arc", gravity=(0, 0, 0))
    link = m.body("link", wt.beam(length=1.0, section=section, material=wt.steel, elements=8, substructures=4))
    m.fixed("clamp", m.ground, link)
    m.load("pull", "link.tip", force=(0, P, 0))
    s = m.build()
    tip = s.pose(s.equilibrium().q, "link.tip")[:2, 3]
    assert np.abs(tip / exact - 1).max() < 0.01


def test_substructures_have_the_names_of_the_whole() -> None:
    """Joints reach the parts by the names of the beam; linear frequencies are those of the beam in one piece."""
    given = {"length": 1.0, "section": wt.circle(radius=0.01), "material": wt.steel, "elements": 6}
    m = wt.Mechanism("m", gravity=(0, 0, 0))
    chain = m.body("link", wt.beam(**given, substructures=3, interfaces={"mid": 0.5}))
    assert chain.name == "link"
    m.fixed("clamp", m.ground, chain)
    m.revolute("by name", "link.mid", m.body("one", mass=1e-9, inertia=(1e-9, 1e-9, 1e-9)), axis="x")
    m.revolute("at", chain, m.body("two", mass=1e-9, inertia=(1e-9, 1e-9, 1e-9)), at="tip", axis="x")
    found = m.describe()
    assert [found.joint(name).parent for name in ("by name", "at", "link.2 weld")] == [
        "link.2.mid",
        "link.3.tip",
        "link.1.end",
    ]
    with pytest.raises(wt.ModelError, match=r"link\.2"):
        m.body("link.2", mass=1.0)
    pieces = wt.beam(**given, substructures=3)
    assert [part.n_own for part in pieces.parts] == [6, 6, 6]


BAD = [
    ({"substructures": 2, "reference": "free"}, "welded root to tip"),
    ({"substructures": 0}, "substructures must be a whole number"),
    ({"substructures": 2, "attachment": "mid"}, "there is no interface 'mid'"),
    ({"length": -1.0}, "length must be positive"),
    ({"length": float("nan")}, "length must be finite"),
    ({"length": None}, "either length or stations"),
    ({"section": 3}, "section must be a Section"),
    ({"material": "steel"}, "material must be a Material"),
    ({"elements": 0}, "elements must be a whole number"),
    ({"elements": 10**9}, "elements must be at most 5000"),
    ({"substructures": 10**9}, "substructures must be at most 5000"),
    ({"modes": 61}, "61 are asked for, but there are only 60"),
    ({"modes": "some"}, '"all" or "nodal"'),
    ({"modes": 3, "highest_frequency": 10}, "either modes or highest_frequency"),
    ({"highest_frequency": 1e-3}, "there is no mode up to 0.001 Hz; the lowest has"),
    ({"reference": "root"}, "reference must be one of"),
    ({"theory": "rayleigh"}, "theory must be one of"),
    ({"mass": "heavy"}, "mass must be one of"),
    ({"damping": -0.1}, "must not be negative"),
    ({"damping": [0.1, 0.1]}, "one for each of the 6 modes"),
    ({"interfaces": {"tip": 0.4}}, 'name other than "root", "tip"'),
    ({"interfaces": {"far": 1.4}}, '"far" must be between 0'),
    ({"attachment": "mid"}, "there is no interface 'mid'"),
    ({"modes": "nodal", "reference": "free"}, "single nodal displacements"),
    ({"length": None, "stations": [(0, 0, 0)]}, "at least 2 points"),
    ({"length": None, "stations": [(0, 0, 0), (0, 0, 0), (1, 0, 0)]}, "same place"),
    ({"elements": 300, "modes": "nodal"}, "1800 coordinates"),
    ({"elements": 10, "modes": "nodal", "stiffening": True}, "60 nodal coordinates have no second-order"),
    ({"axis": "w"}, "axis must be"),
    ({"section": [SLENDER]}, "need one section, or as many"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_named(change: dict, message: str) -> None:
    given = {"length": 1.0, "section": SLENDER, "material": wt.steel} | change
    with pytest.raises(wt.WhippletreeError) as caught:
        wt.beam(**given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: wt.circle(radius=0), "circle: radius must be positive"),
        (lambda: wt.tube(radius=0.01, wall=0.02), "the wall is"),
        (lambda: wt.rectangle(width=1, height=-1), "rectangle: height must be positive"),
        (lambda: wt.section(area=1, second_moment_y=0, second_moment_z=1, torsion_constant=1), "second_moment_y"),
        (lambda: wt.Material(density=0, youngs_modulus=1), "density must be positive"),
        (lambda: wt.Material(density=1, youngs_modulus=1, poisson_ratio=0.5), "between -1 and 0.5"),
    ],
)
def test_bad_sections_and_materials_are_named(make, message: str) -> None:
    with pytest.raises(wt.ModelError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(("density", "modulus"), [(7850, 210), (7.85, 2.1e11), (7.85e-9, 2.1e5)])
def test_materials_in_other_units_are_warned_about(density: float, modulus: float) -> None:
    with pytest.warns(UserWarning, match="speed of sound of .* which no material has"):
        wt.Material(density=density, youngs_modulus=modulus)


def test_what_is_left_out_with_many_modes_is_told() -> None:
    """Beyond twelve modes, inertia is known to first order; stations still move like interfaces at their place."""
    given = {"length": 1.0, "section": SLENDER, "material": wt.steel}
    few, many = (wt.beam(**given, modes=n) for n in (12, 13))
    assert "inertia to order 2" in few.report()
    assert "inertia to order 1" in many.report()
    assert "inertia to order 2" in wt.beam(**given, modes=13, stiffening=False).report()
    eta = many.coordinate_scales() * np.linspace(-0.5, 0.5, 13)
    tip = ca.DM(many.pose("tip", ca.SX(eta))[1]).full()[:, 0]
    assert np.allclose(many.motion(eta).displacement[-1], tip - [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize(("length", "radius"), [(0.001, 0.02), (1.0, 20.0)])
def test_sections_in_other_units_are_warned_about(length: float, radius: float) -> None:
    with pytest.warns(UserWarning, match="which is no beam: frequencies will be absurd"):
        wt.beam(length=length, section=wt.circle(radius=radius), material=wt.steel, modes=2)


def test_a_beam_like_a_thread_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="like a thread: frequencies will be absurd"):
        wt.beam(length=1000.0, section=wt.circle(radius=0.01), material=wt.steel, modes=2)
