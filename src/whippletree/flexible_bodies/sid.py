"""Wallrapp's standard input data (SID) of flexible bodies: read, and written, as text (`.SID_FEM`).

Every quantity of a file is a Taylor series in the modal coordinates, m0 + m1 q, with m1(row, mode, column). In the
letters of `flexible_data`, with r = x + Phi eta + ..., they are

    mdCM = int r,  J = int (r^2 1 - r r^T) as [xx yy zz xy xz yz],  Ct = (int dr/deta)^T,  Cr = (int r x dr/deta)^T,
    Me = int Phi^T Phi,  Gr_l = -2 int x~ Phi_l~,  Ge_l = 2 int (Phi_l x Phi_k), all modes for x, then for y and z,
    Oe = -1/2 w^T (dJ/deta) w for [w_x^2 w_y^2 w_z^2 w_x w_y w_y w_z w_x w_z]

(Wallrapp, Mechanics of Structures and Machines 22, 1994; Schwertassek and Wallrapp 1999). Geometric stiffness is in the
m1 of Ct, Cr and Oe and of the nodes' phi and psi. There are as many matrices as integrals of second-order
displacements,

    Ct: int G (3),    Cr: int x~ G (3),    Oe: int x^a G^b + x^b G^a (6),    phi: G (3),    psi: H (3 at each node)

so any of them, some or all, are such integrals if they are symmetric, and the stiffness is exactly the file's. What is
not symmetric in Ct, Cr and Oe is used as given (`GeometricStiffness`): the part of Cr that is not is in any case
int Phi_l x Phi_k, which Ge tells as well. Inertia is known to first order, as far as the file goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.elements.bodies.flexible_data import GeometricStiffness, Interface, Invariants, Stations
from whippletree.elements.bodies.modal_inertia import SKEW_STIFFNESS
from whippletree.errors import FileError, ModelError
from whippletree.flexible_bodies.flexible_input import Array, file_text, write_text
from whippletree.flexible_bodies.flexible_tolerances import CONTRADICTION, SYMMETRIC
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown

__all__ = ["read_sid", "write_sid"]

PRODUCTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
"""The products of angular velocities, in the order of Oe."""

MOMENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""The moments of inertia, in the order of J."""

MOST_ENTRIES = 100_000_000
"""Entries of a matrix with its first derivatives: more do not fit anywhere."""

CROSS = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    CROSS[_i, _j, _k], CROSS[_i, _k, _j] = 1.0, -1.0


@dataclass
class _Taylor:
    """A matrix of a file: m0 (rows, columns), and m1 (rows, modes, columns) if its order is one."""

    m0: Array
    m1: Array | None = None


@dataclass
class _SidFile:
    """The content of a file, by the file's own names."""

    mass: float = 0.0
    n: int = 0
    names: list[str] = field(default_factory=list)
    nodes: dict[str, dict[str, _Taylor]] = field(default_factory=dict)
    matrices: dict[str, _Taylor] = field(default_factory=dict)


@user_facing
def read_sid(path: str | Path) -> FlexibleBody:
    """Return the flexible body of a file of standard input data; its interfaces are called like the file's nodes.

    Its inertia is known to first order in the modal coordinates. Geometric stiffness that is in the file is used as
    given; where its matrices are not symmetric no energy belongs to them, and certificates say so.
    """
    text = file_text(path)
    found = _Parser(str(path), text).file()
    try:
        return _body(found)
    except ModelError as error:
        raise FileError(f"{path}: {error}", file=str(path)) from None


# ------------------------------------------------------------------------------------------------ reading text


class _Parser:
    """The lines of a file, one after another."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.at = 0

    def fail(self, message: str) -> FileError:
        if self.at >= len(self.lines) and "cut off" not in message:
            message += ". This is the file's last line: the file may be cut off, get it whole"
        return FileError(f"{self.path}:{self.at}: {message}", file=self.path, line=self.at)

    def line(self) -> str:
        """Return the next line that is not empty."""
        while self.at < len(self.lines):
            self.at += 1
            text = self.lines[self.at - 1].strip()
            if text:
                return text
        raise self.fail("the file ends here, but its data does not: it is cut off, get it whole")

    def block(self, name: str) -> Iterator[str]:
        """Return the lines up to the end of a block."""
        while True:
            text = self.line()
            if text.split()[:2] == ["end", name]:
                return
            yield text

    def file(self) -> _SidFile:
        """Read the whole file."""
        head = self.line()
        counts = re.match(r"(\d{1,6})\s+(\d{1,6})\b", head)
        if counts is None or self.line() != "part":
            raise self.fail("this is no file of standard input data: numbers of nodes and modes come first, then part")
        if not self.line().startswith("new modal"):
            raise self.fail("after part comes new modal")
        found = _SidFile(n=int(counts[2]))
        for text in self.block("modal"):
            if text == "refmod":
                self._refmod(found)
            elif text == "frame":
                self._frames(found)
            else:
                found.matrices[text] = self._taylor(text, found.n)
        if len(found.nodes) != int(counts[1]):
            here = len(found.nodes)
            raise self.fail(f"{counts[1]} nodes are announced, but there are {here}: the file may be cut off")
        return found

    def _refmod(self, found: _SidFile) -> None:
        for text in self.block("refmod"):
            key, _, value = (part.strip() for part in text.partition("="))
            if key == "mass":
                found.mass = self._number(value)
            elif key == "nelastq" and int(self._number(value)) != found.n:
                raise self.fail(f"nelastq is {value}, but {found.n} modes are announced in the first line")

    def _frames(self, found: _SidFile) -> None:
        for text in self.block("frame"):
            if not text.startswith("new node"):
                raise self.fail(f"a node begins with new node, not with {shown(text)}")
            name = text.partition("=")[2].strip()
            if not name or name in found.nodes:
                raise self.fail(f"nodes need names that differ, got {shown(name)}")
            found.nodes[name] = {
                each: self._taylor(each, found.n) for each in self.block("node") if not each.startswith("rframe")
            }

    def _taylor(self, name: str, n: int) -> _Taylor:
        """Return a matrix with its first derivatives."""
        sizes: dict[str, int] = {}
        entries: list[tuple[str, list[int], float]] = []
        for text in self.block(name):
            key, equals, value = (part.strip() for part in text.partition("="))
            place = re.fullmatch(r"(m0|m1|mn)\s*\(([\d\s,]{1,60})\)", key)
            if place is not None:
                entries.append((place[1], [int(each) - 1 for each in place[2].split(",")], self._number(value)))
            elif equals and key in ("order", "nrow", "ncol", "nq", "nqn", "structure"):
                sizes[key] = int(self._number(value))
            else:
                raise self.fail(f"{name}: this is no size and no entry: {shown(text)}")
        missing = {"order", "nrow", "ncol", "structure"} - set(sizes)
        if missing:
            raise self.fail(f"{name}: {', '.join(sorted(missing))} is missing")
        if min(sizes["nrow"], sizes["ncol"]) < 0 or sizes["nrow"] * sizes["ncol"] * max(n, 1) > MOST_ENTRIES:
            raise self.fail(f"{name}: nobody writes {sizes['nrow']:g} rows and {sizes['ncol']:g} columns")
        m0 = np.zeros((sizes["nrow"], sizes["ncol"]))
        if sizes["structure"] == 4:
            m0 = np.eye(*m0.shape)
        m1 = np.zeros((sizes["nrow"], n, sizes["ncol"])) if sizes["order"] else None
        for part, index, entry in entries:
            target = m0 if part == "m0" else m1
            if target is None or part == "mn":
                raise self.fail(f"{name}: {part} does not belong to order {sizes['order']}")
            if len(index) != target.ndim or any(
                i < 0 or i >= size for i, size in zip(index, target.shape, strict=True)
            ):
                raise self.fail(f"{name}: {part}({', '.join(str(i + 1) for i in index)}) is outside of {target.shape}")
            target[tuple(index)] = entry
        if sizes["structure"] == 2:  # symmetric, one triangle
            m0 = np.where(m0 == 0.0, m0.T, m0)
        return _Taylor(m0, m1)

    def _number(self, text: str) -> float:
        try:
            value = float(text.replace("D", "E").replace("d", "e"))
        except ValueError:
            raise self.fail(f"this is no number: {shown(text)}") from None
        if not np.isfinite(value):
            raise self.fail(f"this is no finite number: {shown(text)}")
        return value


# ------------------------------------------------------------------------------------------------ from a file


def _body(found: _SidFile) -> FlexibleBody:
    n, need = found.n, _needed(found)
    if n < 1 or found.mass <= 0.0:
        raise ModelError(f"a flexible body has mass and modes, but this one has {found.mass:g} kg and {n} modes")
    if "ksigma" in found.matrices and np.any(found.matrices["ksigma"].m0):
        raise ModelError("ksigma: initial stress is not supported")
    for name in ("Me", "Ke", "De"):
        if name in found.matrices and found.matrices[name].m1 is not None and np.any(found.matrices[name].m1):
            raise ModelError(f"{name}: terms of first order are not supported: they belong to no linear material")
    places = {name: _interface(name, node, n) for name, node in found.nodes.items()}
    where = np.array([each.position for each in places.values()])
    orders = {part: _of_all(places, part, n) for part in ("second_order", "second_order_rotation")}
    bent = orders if any(np.any(each) for each in orders.values()) else {}
    size = float(np.linalg.norm(np.ptp(where, axis=0))) or float(np.sqrt(need("J", 6, 1).m0.max() / found.mass))
    return FlexibleBody.from_arrays(
        stiffness=need("Ke", n, n).m0,
        damping=found.matrices["De"].m0 if "De" in found.matrices else None,
        interfaces=places,
        inertia=_invariants(found, need),
        geometric_stiffness=_not_symmetric(found, need),
        stations=Stations(where, *(_of_all(places, part, n) for part in ("translation", "rotation")), **bent),
        size=size,
        inertia_order=1,
        stiffens=_stiffens(found.matrices),
    )


def _of_all(places: dict[str, Interface], part: str, n: int) -> Array:
    """Return a part of all interfaces, zeros where one has none."""
    orders = part.startswith("second_order")
    none = np.zeros((3, n, n) if orders else (3, n))
    return np.array([none if getattr(each, part) is None else getattr(each, part) for each in places.values()])


def _not_symmetric(found: _SidFile, need: Callable[[str, int, int], _Taylor]) -> GeometricStiffness:
    """Return the geometric stiffness of a file without its symmetric parts."""
    n = found.n
    shift, turning, spin = (
        np.zeros((columns, n, n)) if taylor.m1 is None else np.moveaxis(taylor.m1, 2, 0)
        for taylor, columns in ((need("Ct", n, 3), 3), (need("Cr", n, 3), 3), (need("Oe", n, 6), 6))
    )
    if np.any(turning):
        turning = turning - np.moveaxis(_gyroscopic(found, turning), 2, 0)
    odd = [(each - each.swapaxes(1, 2)) / 2 for each in (shift, turning, spin)]
    sizes = [np.abs(each).max(initial=0.0) for each in (shift, turning, spin)]
    return GeometricStiffness(
        *(part * (np.abs(part).max(initial=0.0) > SYMMETRIC * size) for part, size in zip(odd, sizes, strict=True))
    )


def _gyroscopic(found: _SidFile, turning: Array) -> Array:
    """Return int Phi_l x Phi_k (n, n, 3) from Ge, or else from the skew part of dCr_k/deta_l (3, n, n)."""
    n, Ge = found.n, found.matrices.get("Ge")
    if Ge is not None and Ge.m0.shape != (n, 3 * n):
        raise ModelError(f"the block Ge must be {n} x {3 * n}, but it is {Ge.m0.shape[0]} x {Ge.m0.shape[1]}")
    if Ge is not None and np.any(Ge.m0):
        return _by_pairs(Ge.m0, n) / 2
    return np.moveaxis(turning - turning.swapaxes(1, 2), 0, 2) / 2


def _by_pairs(Ge: Array, n: int) -> Array:
    """Return Ge as (n, n, 3); the slowest index of its columns is the axis, in files of some programs the mode.

    Which it is shows in int Phi_l x Phi_l, which is zero; only the part that is a vector product is kept.
    """
    by_axis, by_mode = Ge.reshape(n, 3, n).swapaxes(1, 2), Ge.reshape(n, n, 3)
    own = [np.abs(np.einsum("llc->lc", each)).max(initial=0.0) for each in (by_axis, by_mode)]
    off = [np.abs(each + each.swapaxes(0, 1)).max(initial=0.0) for each in (by_axis, by_mode)]
    smallest = SYMMETRIC * np.abs(Ge).max(initial=0.0)
    chosen = by_axis
    by_diagonal = own[0] > smallest >= own[1]
    if by_diagonal or (own[0] <= smallest and own[1] <= smallest and off[1] < off[0]):
        chosen = by_mode
    return np.asarray((chosen - chosen.swapaxes(0, 1)) / 2)


def _stiffens(matrices: dict[str, _Taylor]) -> bool:
    """Tell whether a file has geometric stiffness.

    It is in the first-order terms of Ct, or of Oe, beside what the modes have there: their trace is 2 Me, and tension
    makes it smaller.
    """
    if matrices["Ct"].m1 is not None and np.any(matrices["Ct"].m1):
        return True
    Oe, Me = matrices["Oe"], matrices["Me"].m0
    if Oe.m1 is None:
        return False
    trace = -Oe.m1[:, :, :3].sum(axis=2) / 2
    return bool(np.linalg.eigvalsh((trace + trace.T) / 2 - Me)[0] < -SYMMETRIC * np.abs(Me).max())


def _needed(found: _SidFile) -> Callable[[str, int, int], _Taylor]:
    def need(name: str, rows: int, columns: int) -> _Taylor:
        if name not in found.matrices:
            raise ModelError(f"the block {name} is missing: the file may be cut off")
        shape = found.matrices[name].m0.shape
        if shape != (rows, columns):
            raise ModelError(f"the block {name} must be {rows} x {columns}, but it is {shape[0]} x {shape[1]}")
        return found.matrices[name]

    return need


def _interface(name: str, node: dict[str, _Taylor], n: int) -> Interface:
    shapes = {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}
    for part, shape in shapes.items():
        if part not in node or node[part].m0.shape != shape:
            raise ModelError(f"node {name}: {part} must be there, {shape[0]} x {shape[1]}")
    return Interface(
        node["origin"].m0[:, 0],
        axes=node["AP"].m0,
        translation=node["phi"].m0,
        rotation=node["psi"].m0,
        second_order=_bend(node["phi"], f"node {name}: phi"),
        second_order_rotation=_bend(node["psi"]),
    )


def _bend(taylor: _Taylor, named: str = "") -> Array | None:
    """Return the second-order displacements (3, n, n) that a shape function of first order stands for.

    They are symmetric: a node's velocity is the rate of its place. What is not symmetric in rotations follows from Psi,
    and tells nothing.
    """
    if taylor.m1 is None or not np.any(taylor.m1):
        return None
    across = taylor.m1.swapaxes(1, 2)
    if named and np.abs(taylor.m1 - across).max() > CONTRADICTION * np.abs(taylor.m1).max():
        raise ModelError(
            f"{named}: its terms of first order are not symmetric in the modes, so that no place of the node has them "
            f"as its slope; write the file with their symmetric part"
        )
    return np.asarray((taylor.m1 + across) / 2)


def _invariants(found: _SidFile, need: Callable[[str, int, int], _Taylor]) -> Invariants:
    n = found.n
    first, J, Ct, Cr = need("mdCM", 3, 1), need("J", 6, 1), need("Ct", n, 3), need("Cr", n, 3)
    Me, Oe = need("Me", n, n), need("Oe", n, 6)
    grows = np.zeros((n, n, 3)) if Cr.m1 is None else Cr.m1  # dCr_k/deta_l
    # int x^a Phi^b: what J (or Oe) and Cr say about its symmetric and its other part
    grown = -_tensors(2 * Oe.m0, PRODUCTS)  # dJ/deta_k
    if J.m1 is not None and np.any(J.m1):
        grown = _told_twice("J", "Oe", _tensors(J.m1[:, :, 0].T, MOMENTS), grown)
    if first.m1 is not None and np.any(first.m1):
        _told_twice("mdCM", "Ct", first.m1[:, :, 0], Ct.m0.T)
    cross = _sides(grown) / 2 + np.einsum("abi,ki->abk", CROSS, Cr.m0) / 2
    # of int Phi^a_k Phi^b_l the trace is Me; its part beside the diagonal is in Cr, the rest in Oe
    odd, even = _gyroscopic(found, np.moveaxis(grows, 2, 0)), (grows + grows.swapaxes(0, 1)) / 2
    modes = np.einsum("ab,kl->abkl", np.eye(3), Me.m0) / 3 + np.einsum("abi,kli->ablk", CROSS, odd) / 2
    bent = np.einsum("abi,kli->abkl", CROSS, even) / 2
    wanted = np.zeros((3, 3, n, n))
    if Oe.m1 is not None:
        second = -_tensors(2 * (Oe.m1 + Oe.m1.swapaxes(0, 1)).reshape(n * n, 6) / 2, PRODUCTS)
        wanted = _sides(second).reshape(3, 3, n, n) / 2
    bent += wanted - np.einsum("ab,kl->abkl", np.eye(3), Me.m0) / 3
    return Invariants(
        mass=found.mass,
        first=first.m0[:, 0],
        second=_sides(_tensors(J.m0.T, MOMENTS))[:, :, 0],
        mode_first=Ct.m0.T,
        mode_second_order=None if Ct.m1 is None else np.moveaxis((Ct.m1 + Ct.m1.swapaxes(0, 1)) / 2, 2, 0),
        cross=cross,
        cross_second_order=bent,
        modes=modes,
    )


def _told_twice(name: str, other: str, one: Array, two: Array) -> Array:
    """Return the slope of a block, which another block repeats; refuse a file in which the two differ."""
    if np.any(two) and np.abs(one - two).max() > CONTRADICTION * np.abs(two).max():
        share = 100 * np.abs(one - two).max() / np.abs(two).max()
        raise ModelError(
            f"{name} and {other} contradict each other by {share:.3g} %: the slope of {name} with the modal "
            f"coordinates is also in {other}; write the file again from one and the same mesh"
        )
    return one


def _tensors(rows: Array, order: tuple[tuple[int, int], ...]) -> Array:
    """Return symmetric tensors (m, 3, 3) from rows of six; with products of velocities, off-diagonals come once."""
    halved = order is PRODUCTS
    found = np.zeros((len(rows), 3, 3))
    for column, (a, b) in enumerate(order):
        value = rows[:, column] / (2 if halved and a != b else 1)
        found[:, a, b] = found[:, b, a] = value
    return found


def _sides(inertia: Array) -> Array:
    """Return tr(J) / 2 1 - J (3, 3, m): the second moments of which J (m, 3, 3) are the moments of inertia."""
    trace = np.trace(inertia, axis1=1, axis2=2)
    return np.moveaxis(trace[:, None, None] / 2 * np.eye(3) - inertia, 0, 2)


# ------------------------------------------------------------------------------------------------ to a file


@user_facing
def write_sid(body: FlexibleBody, path: str | Path) -> None:
    """Write a flexible body as a file of standard input data; its interfaces become the file's nodes.

    A file holds inertia to first order in the modal coordinates. Second-order displacements are written as geometric
    stiffness.

    >>> import tempfile
    >>> from whippletree.flexible_bodies import beam, circle, steel
    >>> link = beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_sid(link, Path(folder, "link.SID_FEM"))
    ...     read_sid(Path(folder, "link.SID_FEM"))
    FlexibleBody(2 modes, interfaces: root, tip)
    """
    if not isinstance(body, FlexibleBody):
        raise ModelError(f"write_sid: give a flexible body, such as a beam, got {shown(body)}")
    if "node 0 inertia" in body.arrays:
        raise ModelError("write_sid: a file holds no lumped nodes; make the body with a consistent mass")
    write_text(path, "\n".join(_lines(body)) + "\n")


def _lines(body: FlexibleBody) -> Iterator[str]:
    n, array = body.n_own, body.arrays.array
    yield f"{len(body.frames):5d}{n:4d}    :No. nodes, No. modes: written by Whippletree; inertia to first order"
    yield from (" part", "      new modal                                 =", "           refmod")
    yield f"                mass                            ={_number(array('mass')[0])}"
    yield f"                nelastq                         ={n:6d}"
    frequencies = np.sqrt(np.maximum(np.diag(array("stiffness")) / np.diag(_inertia(body)["Me"].m0), 0.0)) / (2 * np.pi)
    for k, f in enumerate(frequencies):
        yield f"                ielastq ({k + 1:4d})                  = Mode {k + 1:4d} : {f:12.3f} Hz"
    yield from ("           end refmod", "           frame")
    for name in body.frames:
        yield f"                new node                        = {name}"
        yield "                     rframe                     = body ref"
        for part, taylor in _node(body, name).items():
            yield from _block(part, taylor, n, 21)
        yield "                end node"
    yield "           end frame"
    for part, taylor in _inertia(body).items():
        yield from _block(part, taylor, n, 11)
    yield from ("      end modal", " end part")


def _node(body: FlexibleBody, name: str) -> dict[str, _Taylor]:
    parts = ("position", "axes", "translation", "rotation", "second order", "second order rotation")
    x, axes, phi, psi, bend, twist = (body.arrays.array(f"{name} {part}") for part in parts)
    turned = np.einsum("iak,ab->ikb", np.einsum("iaj,jk->iak", CROSS.swapaxes(1, 2), psi), axes)
    return {
        "origin": _Taylor(x[:, None], phi[:, :, None]),
        "phi": _Taylor(phi, bend if np.any(bend) else None),
        "psi": _Taylor(psi, twist if np.any(twist) else None),
        "AP": _Taylor(axes, turned),
    }


def _inertia(body: FlexibleBody) -> dict[str, _Taylor]:
    """Return the blocks of a body's inertia, from the coefficients of `modal_inertia`."""
    n = body.n_own
    y0, y1, y2 = (body.arrays.array(part) for part in ("y0", "y1", "y2"))
    lower = [max(a, b) * (max(a, b) + 1) // 2 + min(a, b) + 3 for a, b in MOMENTS]
    velocities = [max(a, b) * (max(a, b) + 1) // 2 + min(a, b) + 3 for a, b in PRODUCTS]
    weight = -np.array([0.5 if a == b else 1.0 for a, b in PRODUCTS])
    turning = y1[9 : 9 + 3 * n].reshape(3, n, n).transpose(1, 2, 0)
    Me = np.zeros((n, n))
    Me[np.tril_indices(n)] = y0[9 + 3 * n :]
    Cr = y0[9 : 9 + 3 * n].reshape(3, n).T
    grown = _tensors(y1[lower].T, MOMENTS)
    cross = _sides(grown) / 2 + np.einsum("abi,ki->abk", CROSS, Cr) / 2
    Gr = 2 * (np.einsum("cck,ab->abk", cross, np.eye(3)) - cross.swapaxes(0, 1))
    skew = body.arrays.array(SKEW_STIFFNESS) if SKEW_STIFFNESS in body.arrays else np.zeros((12, n, n))
    turned, moved, spun = (skew[rows].transpose(1, 2, 0) for rows in (slice(3), slice(3, 6), slice(6, 12)))
    shift = 2 * y2[:3].transpose(1, 2, 0) + moved
    return {
        "mdCM": _Taylor(y0[:3, None], y1[:3, :, None]),
        "J": _Taylor(y0[lower][:, None], y1[lower][:, :, None]),
        "Ct": _Taylor(y1[:3].T, shift if np.any(shift) else None),
        "Cr": _Taylor(Cr, turning + turned),
        "Me": _Taylor(Me + np.tril(Me, -1).T),
        "Gr": _Taylor(Gr.reshape(3, 3 * n)),
        "Ge": _Taylor((turning - turning.swapaxes(0, 1)).swapaxes(1, 2).reshape(n, 3 * n)),
        "Oe": _Taylor(y1[velocities].T * weight, 2 * y2[velocities].transpose(1, 2, 0) * weight + spun),
        "ksigma": _Taylor(np.zeros((n, 1))),
        "Ke": _Taylor(body.arrays.array("stiffness")),
        "De": _Taylor(body.arrays.array("damping")),
    }


def _block(name: str, taylor: _Taylor, n: int, indent: int) -> Iterator[str]:
    pad = " " * indent
    rows, columns = taylor.m0.shape
    yield f"{pad}{name}"
    zero = not np.any(taylor.m0) and taylor.m1 is None
    sizes = {"order": int(taylor.m1 is not None), "nrow": rows, "ncol": columns, "nq": n, "nqn": 0}
    for key, value in (sizes | {"structure": 0 if zero else 3}).items():
        yield f"{pad}     {key:<22}={value:5d}"
    for i, j in np.argwhere(taylor.m0):
        yield f"{pad}     {f'm0({i + 1:3d},{j + 1:3d})':<22}={_number(taylor.m0[i, j])}"
    if taylor.m1 is None:
        yield f"{pad}end {name}"
        return
    for i, k, j in np.argwhere(taylor.m1):
        yield f"{pad}     {f'm1({i + 1:3d},{k + 1:3d},{j + 1:3d})':<22}={_number(taylor.m1[i, k, j])}"
    yield f"{pad}end {name}"


def _number(value: float) -> str:
    return f"{value:24.16E}".replace("E", "D")
