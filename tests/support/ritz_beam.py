"""A clamped beam along x by Ritz's method, for tests: polynomials as shapes, integrals by Gauss's quadrature."""

from __future__ import annotations

import numpy as np

from whippletree.elements.bodies import FlexibleBody, Interface, Invariants, Stations

Array = np.ndarray


def invariants(m: Array, x: Array, phi: Array, G: Array, *, high: bool = True) -> Invariants:
    """The integrals over points with masses m (N,), places (N, 3), modes (N, 3, n) and second orders (N, 3, n, n)."""
    e = np.einsum
    return Invariants(
        float(m.sum()),
        e("j,ja->a", m, x),
        e("j,ja,jb->ab", m, x, x),
        e("j,jak->ak", m, phi),
        e("j,jakl->akl", m, G),
        e("j,ja,jbk->abk", m, x, phi),
        e("j,ja,jbkl->abkl", m, x, G),
        e("j,jak,jbl->abkl", m, phi, phi),
        e("j,jak,jblm->abklm", m, phi, G) if high else None,
        e("j,jakl,jamp->klmp", m, G, G) if high else None,
    )


def shapes(count: int, x: Array) -> tuple[Array, Array, Array]:
    """Legendre's polynomials times x^2, on 0..1: values, slopes and curvatures (count, len(x))."""
    found = []
    for k in range(count):
        p = np.polynomial.Legendre.basis(k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial, domain=[-1, 1])
        whole = p * np.polynomial.Polynomial([0, 0, 1])
        found.append([whole(x), whole.deriv()(x), whole.deriv(2)(x)])
    values, slopes, curvatures = np.array(found).swapaxes(0, 1)
    return values, slopes, curvatures


def ritz_beam(
    modes: tuple[int, int] = (0, 3),
    *,
    length: float = 1.0,
    mass: float = 1.0,
    stiffness: float = 1.0,
    stiffening: bool = True,
    high: bool = False,
    damping: float = 0.0,
    thickness: float = 0.0,
) -> FlexibleBody:
    """A beam with so many modes along y and along z, bending stiffness EI, and a little inertia about its axis."""
    points, weights = np.polynomial.legendre.leggauss(24)
    s, w = (points + 1) / 2, weights / 2
    ends = np.append(s, 1.0)
    n = sum(modes)
    phi, psi, G = np.zeros((25, 3, n)), np.zeros((25, 3, n)), np.zeros((25, 3, n, n))
    K, start, forces = np.zeros((n, n)), 0, np.zeros((25, 6, n))
    for axis, count in ((1, modes[0]), (2, modes[1])):
        own = slice(start, start + count)
        start += count
        if not count:
            continue
        f, d, c = shapes(count, ends)
        raw_m, raw_k = (np.einsum("j,kj,lj->kl", w, a[:, :-1], a[:, :-1]) for a in (f, c))
        L = np.linalg.inv(np.linalg.cholesky(raw_m * mass))
        values, vectors = np.linalg.eigh(L @ raw_k @ L.T * stiffness / length**3)
        V = L.T @ vectors
        f, d, c = V.T @ f, V.T @ d / length, V.T @ c / length**2
        K[own, own] = np.diag(values)
        phi[:, axis, own] = f.T
        psi[:, 2 if axis == 1 else 1, own] = d.T * (1 if axis == 1 else -1)
        forces[:, 5 if axis == 1 else 4, own] = stiffness * c.T
        for j, x in enumerate(ends):  # shortening up to x, by quadrature from the root
            inner = V.T @ shapes(count, s * x)[1] / length
            G[j, 0, own, own] = -np.einsum("i,ki,li->kl", w * x * length, inner, inner)
    place = np.zeros((25, 3))
    place[:, 0] = ends * length
    G *= stiffening
    found = invariants(mass * w, place[:-1], phi[:-1], G[:-1], high=high)
    about = mass * thickness**2 / 12
    found.second[1, 1] += about
    found.second[2, 2] += about
    return FlexibleBody.from_arrays(
        stiffness=K,
        damping=damping * np.eye(n),
        inertia=found,
        interfaces={"tip": Interface(place[-1], translation=phi[-1], rotation=psi[-1], second_order=G[-1])},
        stations=Stations(place, phi, psi, forces),
        size=length,
    )
