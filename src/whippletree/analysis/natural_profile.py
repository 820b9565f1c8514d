"""The cost of an iteration in natural coordinates by Garcia de Jalon and Bayo's method (8.127-8.135): table 8.6.

They form everything element by element, in arrays. A body with c coordinates and m rigid-body conditions has m full
rows of c, and a full mass matrix; what is zero, or constant, is multiplied all the same. Multiplications:

    tangent matrix     Phi^T beta Phi                                  m c + m c (c + 1) / 2
    residual           M x'', Phi^T (alpha (Phi + mu Phi'))            c c + m c
    Jacobian           entries, Phi' = Phi x', Phi, alpha and mu       2 m c + 5 m

The equations are solved within the smallest profile: with w entries left of the diagonal in a row, w (w + 3) / 2 to
factor and 2 w + 1 to substitute. x' and x'' take 2 n in an iteration, and 3 n for what stays the same in a step; the
predictor 2 n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whippletree.formulations.natural.natural_model import NaturalModel

__all__ = ["profile_multiplications", "step_multiplications"]


def step_multiplications(model: NaturalModel, iterations: int = 2) -> dict[str, int]:
    """Return the multiplications of a step by stages, counted element by element.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> step_multiplications(five_bar_pendulum().build().natural.model)["predictor"]
    60
    """
    place = {one.index: k for k, one in enumerate(model.free)}
    rows = [0] * len(model.bodies)
    for product in model.products:
        rows[product.body] += 1
    for linear in model.linear:
        rows[linear.body] += 3
    near: dict[int, set[int]] = {k: set() for k in range(len(place))}
    tangent = residual = jacobian = 0
    for m, body in zip(rows, model.bodies, strict=True):
        own = [place[e] for e in body.basis if e in place]
        c = 3 * len(own)
        tangent += m * c + m * c * (c + 1) // 2
        residual += c * c + m * c
        jacobian += 2 * m * c + 5 * m
        for k in own:
            near[k] |= set(own) - {k}
    n = model.n_coordinates
    each = {"solution": profile_multiplications(near), "tangent matrix": tangent, "residual": residual}
    each["Jacobian and conditions"] = jacobian
    found = {name: iterations * count for name, count in each.items()}
    return {**found, "update": (2 * iterations + 3) * n, "predictor": 2 * n}


def profile_multiplications(near: Mapping[int, set[int]]) -> int:
    """Count the multiplications of a solution within the profile, three unknowns to each key, in the best order found.

    >>> profile_multiplications({0: set()})
    16
    """
    orders = [order for first in near for order in _orders(near, first)]
    return min((_in_profile(near, order) for order in orders), default=0)


def _orders(near: Mapping[int, set[int]], first: int) -> list[list[int]]:
    """Return Cuthill and McKee's order from a key, and its reverse."""
    order: list[int] = []
    seen: set[int] = set()
    for start in (first, *near):
        waiting = [] if start in seen else [start]
        seen.add(start)
        while waiting:
            k = waiting.pop(0)
            order.append(k)
            following = sorted(near[k] - seen, key=lambda other: len(near[other]))
            seen.update(following)
            waiting += following
    return [order, order[::-1]]


def _in_profile(near: Mapping[int, set[int]], order: Sequence[int]) -> int:
    rank = {k: place for place, k in enumerate(order)}
    total = 0
    for k in order:
        left = 3 * (rank[k] - min(rank[other] for other in (k, *near[k])))
        for w in range(left, left + 3):
            total += w * (w + 3) // 2 + 2 * w + 1
    return total
