"""A blade that spins: its frequencies rise with the speed, because second-order displacements know of its tension.

The blade is a flexible body made from plain arrays: bending out of the plane of rotation in four shapes x^2 to x^5
of a clamped beam of unit length, mass and bending stiffness. A point of the beam at x is lifted by Phi eta and drawn
inward by 1/2 eta^T G eta, with G = -int_0^x Phi' Phi'^T. The lowest frequency over the speed is a classic
(Wright, Smith, Thresher and Wang 1982).
"""

from __future__ import annotations

import numpy as np

import whippletree as wt

LITERATURE = {0.0: 3.5160, 2.0: 4.1373, 4.0: 5.5850, 6.0: 7.3604}


def blade(*, stiffening: bool) -> wt.FlexibleBody:
    """Return the beam; integrals are sums over Gauss's points."""
    points, weights = np.polynomial.legendre.leggauss(12)
    x, m = (points + 1) / 2, weights / 2
    powers = np.array([2, 3, 4, 5])
    n = len(powers)
    lift = np.zeros((len(x), 3, n))
    lift[:, 2] = x[:, None] ** powers
    curvature = powers * (powers - 1) * x[:, None] ** (powers - 2)
    inward = np.zeros((len(x), 3, n, n))
    total = powers[:, None] + powers
    inward[:, 0] = -np.outer(powers, powers) / (total - 1) * x[:, None, None] ** (total - 1)
    inward *= stiffening
    place = np.zeros((len(x), 3))
    place[:, 0] = x
    return wt.FlexibleBody.from_arrays(
        stiffness=np.einsum("j,jk,jl->kl", m, curvature, curvature),
        inertia=wt.Invariants(
            mass=1.0,
            first=m @ place,
            second=np.einsum("j,ja,jb->ab", m, place, place),
            mode_first=np.einsum("j,jak->ak", m, lift),
            mode_second_order=np.einsum("j,jakl->akl", m, inward),
            cross=np.einsum("j,ja,jbk->abk", m, place, lift),
            cross_second_order=np.einsum("j,ja,jbkl->abkl", m, place, inward),
            modes=np.einsum("j,jak,jbl->abkl", m, lift, lift),
        ),
        interfaces={"tip": wt.Interface((1, 0, 0), translation=np.eye(3)[:, 2:] @ np.ones((1, n)))},
        size=1.0,
    )


def frequencies(*, stiffening: bool) -> list[float]:
    """Return the lowest frequency at each speed, in rad/s."""
    m = wt.Mechanism("rotor", gravity=(0, 0, 0))
    m.revolute("shaft", m.ground, m.body("blade", blade(stiffening=stiffening)), axis="z", prescribed=True)
    s = m.build()
    found = []
    for speed in LITERATURE:
        v = np.zeros(s.nv)
        v[s.v_slice("shaft")] = speed
        found.append(float(np.abs(s.linearize(v=v).eigenvalues).min()))
    return found


def main() -> tuple[list[float], list[float]]:
    """Print the frequencies beside those of the literature."""
    stiff, plain = frequencies(stiffening=True), frequencies(stiffening=False)
    print("speed   frequency   literature   without stiffening")
    for (speed, known), found, soft in zip(LITERATURE.items(), stiff, plain, strict=True):
        print(f"{speed:5.1f}   {found:9.4f}   {known:10.4f}   {soft:18.4f}")
    return stiff, plain


if __name__ == "__main__":
    main()
