"""Bodies from finite-element matrices: a solid of bricks, dense eigenvalues, beams; bad matrices."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh

import whippletree as wt

E, NU, RHO = 2e11, 0.3, 7800.0


def bricks(nx: int, ny: int, nz: int, size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, stiffness and nodes of a block of trilinear bricks, by Gauss's rule of 2 x 2 x 2 points."""
    grid = [np.linspace(0, L, n + 1) for L, n in zip(size, (nx, ny, nz), strict=True)]
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*grid, indexing="ij")], axis=1)
    number = np.arange(len(nodes)).reshape(nx + 1, ny + 1, nz + 1)
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    h = np.array(size) / (nx, ny, nz)
    lame, mu = E * NU / ((1 + NU) * (1 - 2 * NU)), E / (2 * (1 + NU))
    D = np.diag([2 * mu] * 3 + [mu] * 3)
    D[:3, :3] += lame
    Ke, Me = np.zeros((24, 24)), np.zeros((24, 24))
    for point in signs / np.sqrt(3):
        terms = 1 + signs * point
        N = terms.prod(axis=1) / 8
        dN = np.stack([signs[:, i] * np.delete(terms, i, 1).prod(axis=1) / 8 * 2 / h[i] for i in range(3)])
        B = np.zeros((6, 24))
        for i, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))):
            B[i, a::3] += dN[b]
            if a != b:
                B[i, b::3] += dN[a]
        weight = h.prod() / 8
        Ke += weight * B.T @ D @ B
        Me += weight * RHO * np.kron(np.outer(N, N), np.eye(3))
    K, M = (np.zeros((nodes.size, nodes.size)) for _ in range(2))
    for i, j, k in np.ndindex(nx, ny, nz):
        corners = number[i : i + 2, j : j + 2, k : k + 2].ravel()
        freedoms = (3 * corners[:, None] + np.arange(3)).ravel()
        K[np.ix_(freedoms, freedoms)] += Ke
        M[np.ix_(freedoms, freedoms)] += Me
    return M, K, nodes


M, K, NODES = bricks(4, 1, 1, (1.0, 0.2, 0.1))
ENDS = {"left": np.flatnonzero(NODES[:, 0] == 0.0), "right": np.flatnonzero(NODES[:, 0] == 1.0)}


def frequencies(body) -> np.ndarray:
    return np.sqrt(np.diag(body.arrays.array("stiffness")))


def test_free_modes_are_those_of_the_matrices() -> None:
    exact = np.sqrt(eigh(K, M, eigvals_only=True)[6:16])
    body = wt.flexible(
        M, K, NODES, interfaces=ENDS, coupling="average", reduction="eigenmodes", reference="free", modes=10
    )
    assert np.abs(frequencies(body) / exact - 1).max() < 1e-9


def test_clamped_modes_are_those_of_the_matrices() -> None:
    kept = np.flatnonzero(np.repeat(NODES[:, 0] > 0, 3))
    exact = np.sqrt(eigh(K[np.ix_(kept, kept)], M[np.ix_(kept, kept)], eigvals_only=True)[:8])
    body = wt.flexible(M, K, NODES, interfaces={"left": ENDS["left"]}, reduction="eigenmodes", modes=8)
    assert np.abs(frequencies(body) / exact - 1).max() < 1e-9


@pytest.mark.parametrize("reference", ["cantilever", "free", "chord"])
@pytest.mark.parametrize("coupling", ["rigid", "average"])
def test_sparse_factors_find_the_same_modes(reference: str, coupling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"interfaces": ENDS, "modes": 5, "reference": reference, "coupling": coupling}
    dense = wt.flexible(M, K, NODES, **given)
    monkeypatch.setattr("whippletree.flexible_bodies.modal_reduction.FEW", 10)
    few = wt.flexible(sparse.csr_array(M), sparse.coo_matrix(K), NODES, **given)
    assert few.n_own == dense.n_own
    assert np.abs(frequencies(few) / frequencies(dense) - 1).max() < 1e-9


@pytest.mark.parametrize("coupling", ["rigid", "average"])
def test_craig_bampton_is_exact_for_loads_at_its_interfaces(coupling: str) -> None:
    """Static modes give the same displacement as the whole matrices do."""
    given = {"interfaces": ENDS, "coupling": coupling}
    few, all_of_them = (wt.flexible(M, K, NODES, modes=modes, **given) for modes in (0, "all"))
    load = np.random.default_rng(0).normal(size=6)
    found = []
    for body in (few, all_of_them):
        W = np.vstack([body.arrays.array("right translation"), body.arrays.array("right rotation")])
        found.append(W @ np.linalg.solve(body.arrays.array("stiffness"), W.T @ load))
    assert np.allclose(*found, rtol=1e-8)


def test_inertia_is_that_of_the_block_and_of_its_points() -> None:
    """The mass matrix in deformed shapes, against the sum over all nodes with the consistent scalar mass matrix."""
    body = wt.flexible(M, K, NODES, interfaces=ENDS, modes=3, reference="free")
    n = body.n_own
    rng = np.random.default_rng(1)
    eta = rng.uniform(-1, 1, n) * body.amplitudes(0.05, 0.05)
    found = np.array(ca.DM(body.mass_matrix(ca.SX(eta))))
    phi = body.drawn.array("translation")
    r = NODES + phi @ eta
    J = np.concatenate(
        [
            -np.cross(r[:, :, None], np.eye(3)[None], axis=1) @ np.eye(3),
            np.tile(np.eye(3), (len(r), 1, 1)),
            phi,
        ],
        axis=2,
    ).reshape(-1, 6 + n)
    assert np.allclose(found, J.T @ M @ J, rtol=1e-9, atol=1e-9 * np.abs(found).max())
    assert np.isclose(found[3, 3], RHO * 0.02)


def test_matrices_of_beams_with_six_freedoms_give_the_beam() -> None:
    """The nodal matrices of a beam, read as finite-element matrices, are the beam again."""
    from whippletree.flexible_bodies.beam_mesh import beam_mesh
    from whippletree.flexible_bodies.beams import _BeamModel
    from whippletree.flexible_bodies.mode_options import read_mode_options

    section, places = wt.rectangle(width=0.05, height=0.02), {"root": 0.0, "tip": 1.0}
    mesh = beam_mesh(1.0, None, "x", None, section, wt.steel, 6, False, places)
    options = read_mode_options("beam", 5, None, False, "eigenmodes", "cantilever", places)
    structure = _BeamModel(mesh, options, lumped=False).structure
    body = wt.flexible(
        structure.mass,
        structure.stiffness,
        mesh.nodes,
        interfaces={"root": [0], "tip": [6]},
        modes=5,
        reduction="eigenmodes",
    )
    beam = wt.beam(length=1.0, section=section, material=wt.steel, elements=6, modes=5, stiffening=False)
    at_rest = [np.array(ca.DM(each.mass_matrix(ca.SX.zeros(5)))) for each in (body, beam)]
    assert np.allclose(*at_rest, atol=1e-9)
    assert np.allclose(body.arrays.array("tip rotation"), beam.arrays.array("tip rotation"), atol=1e-7)


def test_millimetres() -> None:
    """Matrices in mm, t, s, N are those in SI units: forces per mm are 1e-3 of forces per m, and t 1e-3 of kg."""
    body = wt.flexible(M * 1e-3, K * 1e-3, NODES * 1e3, interfaces=ENDS, modes=3, units="mm")
    same = wt.flexible(M, K, NODES, interfaces=ENDS, modes=3)
    assert np.allclose(frequencies(body), frequencies(same))
    assert np.allclose(body.arrays.array("right position"), same.arrays.array("right position"))


def test_abaqus_files(tmp_path) -> None:
    """Both formats of the matrix files, with nodes in any order and a node set."""
    text = ["*Heading", "** a block", "*Node"]
    order = np.random.default_rng(2).permutation(len(NODES))
    text += [f"{10 * (i + 1)}, {x}, {y}, {z}" for i, (x, y, z) in zip(order, NODES[order], strict=True)]
    text += ["*Nset, nset=LEFT", ", ".join(str(10 * (i + 1)) for i in ENDS["left"])]
    text += ["*Nset, nset=ALL, generate", f"10, {10 * len(NODES)}, 10", "*End Part"]
    (tmp_path / "block.inp").write_text("\n".join(text))
    for name, matrix in (("MASS1", M), ("STIF1", K)):
        i, j = np.nonzero(matrix)
        rows = [f"{a + 1} {b + 1}  {matrix[a, b]:.17e}" for a, b in zip(i, j, strict=True)]
        (tmp_path / f"block_{name}.mtx").write_text("\n".join(rows))
        rows = [
            f"{10 * (a // 3 + 1)}, {a % 3 + 1}, {10 * (b // 3 + 1)}, {b % 3 + 1}, {matrix[a, b]:.17e}"
            for a, b in zip(i, j, strict=True)
            if a >= b
        ]
        (tmp_path / f"labels_{name}.mtx").write_text("\n".join(rows))
    for stem in ("block", "labels"):
        found = wt.read_abaqus(tmp_path / f"{stem}_MASS1.mtx", tmp_path / f"{stem}_STIF1.mtx", tmp_path / "block.inp")
        assert np.allclose(found.mass.toarray(), M, rtol=1e-14)
        assert np.allclose(found.stiffness.toarray(), K, rtol=1e-14, atol=1e-14 * K.max())
        assert np.array_equal(found.nodes, NODES)
        assert np.array_equal(found.sets["LEFT"], ENDS["left"])
        assert len(found.sets["ALL"]) == len(NODES)
    cut = (tmp_path / "block_MASS1.mtx").read_text()[:-60]
    (tmp_path / "cut.mtx").write_text(cut + "\n3 ")
    with pytest.raises(wt.FileError, match="cut off"):
        wt.read_abaqus(tmp_path / "cut.mtx", tmp_path / "block_STIF1.mtx", tmp_path / "block.inp")
    with pytest.raises(wt.FileError, match=r"no \*NODE section"):
        wt.read_abaqus(tmp_path / "cut.mtx", tmp_path / "cut.mtx", tmp_path / "cut.mtx")
    with pytest.raises(wt.FileError, match="No such file"):
        wt.read_abaqus(tmp_path / "none.mtx", tmp_path / "none.mtx", tmp_path / "block.inp")


def changed(matrix: np.ndarray, entries: dict) -> np.ndarray:
    new = matrix.copy()
    for where, value in entries.items():
        new[where] = value
    return new


LEFT = ENDS["left"]
WAVE = np.linalg.eigh(K)[1][:, 20]
BAD = [
    ({"stiffness": changed(K, {(0, 5): 1e12})}, "stiffness is not symmetric: entry"),
    ({"mass": changed(M, {(4, 4): -5.0})}, "mass is indefinite"),
    ({"stiffness": -K}, "stiffness is indefinite"),
    ({"mass": -M}, "mass has no positive entry on its diagonal"),
    ({"interfaces": {"all": range(20)}, "modes": 1}, "there is none: interfaces or the frame hold all that has mass"),
    ({"stiffness": K + 1e-3 * K.max() * np.eye(len(K))}, "boundary conditions in it"),
    ({"stiffness": changed(K, {(0, 0): np.nan})}, "not finite"),
    ({"mass": M[:-3, :-3]}, "mass is 57 x 57, but stiffness is 60 x 60"),
    ({"nodes": NODES[:-1]}, "nodes are missing"),
    ({"nodes": np.roll(NODES, 3, axis=0)}, "in another order"),
    ({"nodes": changed(NODES, {(3, 1): np.inf})}, "point 3 is not finite"),
    ({"interfaces": {"left": []}}, 'interface "left": it has no nodes'),
    ({"interfaces": {}}, "at least one interface"),
    ({"interfaces": {"left": [0, 99]}}, "there is no node 99"),
    ({"interfaces": {"left": [0.5]}}, "whole numbers"),
    ({"interfaces": {"left": [0, 4, 8]}}, "nodes are in a line"),
    ({"interfaces": {"left": [0]}}, "at one place"),
    ({"interfaces": {"a": LEFT, "b": LEFT}}, "in the rigid interfaces"),
    ({"interfaces": {"left": {"knots": [1]}}}, 'give "nodes"'),
    ({"modes": 1000}, "1000 are asked for, but there are only"),
    ({"modes": "nodal"}, "is for beams"),
    ({"mass": M * 1e-9}, "kg/m^3, which no structure has"),
    ({"stiffness": K * 1e6}, "Hz in a body of"),
    ({"reference": "chord", "interfaces": {"left": LEFT}}, "two interfaces"),
    ({"units": "inch"}, "units must be one of"),
    ({"mass": "heavy"}, "must be a matrix of numbers"),
    ({"stiffness": K * (1 + 0.01j)}, "stiffness is complex, and must be real"),
    ({"stiffness": K - 0.6 * K.max() * np.outer(WAVE, WAVE)}, "stiffness is indefinite: a displacement would release"),
    ({"nodes": np.zeros_like(NODES)}, "all nodes are at the same place"),
    ({"nodes": NODES * [1, 0, 0]}, "all nodes are in a line"),
    ({"reduction": "eigenmodes", "attachment": 3}, "attachment must be True, or names"),
    ({"surface": [[0, 1, 99]]}, "surface: there is no node 99; there are 20"),
    ({"surface": "box"}, "surface must be triangles (T, 3)"),
    ({"stress": {"positions": [[0, 0, 0]], "matrix": np.eye(3)}}, "stress: matrix must have the shape (6, 60)"),
    ({"stress": 3}, 'stress must be {"positions"'),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_matrices_are_named(change: dict, message: str) -> None:
    given = {"mass": M, "stiffness": K, "nodes": NODES, "interfaces": ENDS, "modes": 2} | change
    with pytest.raises(wt.WhippletreeError) as caught:
        wt.flexible(**given)
    assert message in str(caught.value)


def test_a_structure_that_is_much_too_soft_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="hardly anything is that soft for its mass"):
        wt.flexible(M, K * 1e-14, NODES, interfaces=ENDS, modes=2)


def test_loose_nodes_and_loose_parts_are_named() -> None:
    more = np.vstack([NODES, [[2.0, 0, 0]]])
    wider = [np.pad(each, (0, 3)) for each in (M, K)]
    with pytest.raises(wt.ModelError, match="1 nodes have no stiffness, such as node 20"):
        wt.flexible(*wider, more, interfaces=ENDS)
    twice = [np.kron(np.eye(2), each) for each in (M, K)]
    apart = np.vstack([NODES, NODES + np.array([2.0, 0, 0])])
    with pytest.raises(wt.ModelError, match="can move without strain"):
        wt.flexible(*twice, apart, interfaces=ENDS)


def test_stress_of_a_block_that_is_pulled() -> None:
    """Stress from strain at the middle of the first brick, and in millimetres the same stress in pascals."""
    middle = NODES.mean(axis=0)
    G = np.linalg.lstsq(np.c_[np.ones(len(NODES)), NODES - middle], np.eye(len(NODES)), rcond=None)[0][1:]  # (3, N)
    matrix = np.zeros((6, 3 * len(NODES)))
    matrix[0, 0::3] = E * G[0]  # E du/dx, of the linear field that fits best
    given = {"interfaces": ENDS, "modes": 2}
    pull = {}
    for units, unit in (("m", 1.0), ("mm", 1e-3)):
        stress = {"positions": [middle / unit], "matrix": matrix * unit**3}  # N/mm^2 for a displacement in mm
        tonnes = M / (1e3 if units == "mm" else 1.0)
        body = wt.flexible(tonnes, K * unit, NODES / unit, units=units, stress=stress, **given)
        m = wt.Mechanism("pulled", gravity=(0, 0, 0))
        m.body("block", body)
        m.fixed("hold", m.ground, "block.left")
        m.load("pull", "block.right", force=(1e5, 0, 0))
        s = m.build()
        rest = s.equilibrium()
        run = wt.Trajectory(s, [0.0], rest.q[None], rest.v[None])
        found = run.stress("block")
        assert np.allclose(found.positions, [middle])
        stretch = run.deformation("block").displacement[0]
        assert found.values[0, 0, 0] == pytest.approx(E * G[0] @ stretch[:, 0], rel=1e-9)
        assert found.von_mises[0, 0] == pytest.approx(abs(found.values[0, 0, 0]))
        pull[units] = found.values[0, 0, 0]
    assert pull["mm"] == pytest.approx(pull["m"], rel=1e-6)
    assert pull["m"] == pytest.approx(1e5 / (0.2 * 0.1), rel=0.1)
    plain = wt.flexible(M, K, NODES, **given)
    m = wt.Mechanism("plain")
    m.fixed("hold", m.ground, m.body("block", plain))
    s = m.build()
    with pytest.raises(wt.ModelError, match='body "block" was described without stress modes: give stress='):
        wt.Trajectory(s, [0.0], s.q0[None], s.v0[None]).stress("block")


@pytest.mark.parametrize(
    ("node", "numbers", "row", "message"),
    [
        ("9" * 30, "1", "1 1 1.0", "block.inp"),
        ("9" * 5000, "1", "1 1 1.0", "block.inp"),
        ("1", "1, " + "9" * 30, "1 1 1.0", "block.inp"),
        ("1", "1", "1" * 30 + " 1 1.0", "must be whole numbers"),
        ("1", "1", "1.5 1 1.0", "must be whole numbers"),
        ("1", "1", "1" * 30 + ", 1, 1, 1, 1.0", "must be whole numbers"),
    ],
)
def test_enormous_labels_of_abaqus_are_named(tmp_path, node: str, numbers: str, row: str, message: str) -> None:
    text = (
        f"*Node\n{node}, 0, 0, 0\n*Nset, nset=ALL, generate\n{numbers}\n"
        if "," in numbers
        else f"*Node\n{node}, 0, 0, 0\n"
    )
    (tmp_path / "block.inp").write_text(text, encoding="utf-8")
    (tmp_path / "m.mtx").write_text(f"{row}\n", encoding="utf-8")
    with pytest.raises(wt.FileError, match=message):
        wt.read_abaqus(tmp_path / "m.mtx", tmp_path / "m.mtx", tmp_path / "block.inp")
