"""The matrices of each text by the letters that it writes: their meaning, their rows and columns.

Letters clash between texts: G is Jain's gain and Nikravesh's map from bodies to their parents. So each text has a table
of its own, and `matrices(q, v, text="jain")` gives its letters. They are traced in `text_matrices`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MATRICES", "ROWS", "TEXTS", "Letter", "function_name"]


class Letter(NamedTuple):
    """A matrix of a text: its rows and columns (see `ROWS`), and its meaning."""

    rows: str
    columns: str
    says: str
    inputs: tuple[str, ...] = ("q",)


ROWS = {
    "motions": "n_node_rows",
    "forces": "n_node_rows",
    "body velocities": "n_absolute",
    "of the parent": "n_parent_rows",
    "velocities": "nv",
    "coordinates": "nq",
    "independent velocities": "n_minimal_velocities",
    "rows of joints": "n_joint_rows",
    "all closure rows": "n_all_rows",
    "closure rows": "n_kept_rows",
    "elements": "n_element_rows",
    "conditions": "n_condition_rows",
    "value": "n_one",
}
"""The size of each kind of row or column, by the names that `Equations.size` explains."""

_MOVING = ("q", "v")
_LOADED = ("q", "v", "tau")

_KANG_YOON = {
    "B1": Letter("motions", "motions", "how the parent's motion moves a body (24, 25, 33)"),
    "B2": Letter("motions", "velocities", "how a joint's velocities move its body (25, 33)"),
    "D": Letter("motions", "value", "accelerations that velocities alone give (27, 35)", _MOVING),
    "M": Letter("forces", "motions", "inertia of a body at its reference point (3, 36)"),
    "Q": Letter("forces", "value", "force on a body, less the gyroscopic one (3, 36)", _LOADED),
    "M11": Letter("forces", "of the parent", "inertia with all that hangs on a body, seen through B1 (28)"),
    "M21": Letter("velocities", "of the parent", "the same, seen through B2 and B1 (28)"),
    "M22": Letter("velocities", "velocities", "the same, seen through B2 (28)"),
    "Q1": Letter("forces", "value", "Q - M D with all that hangs on a body, seen through B1 (28)", _LOADED),
    "Q2": Letter("velocities", "value", "the same seen through B2, with the joint's effort (28)", _LOADED),
    "Phi2": Letter("velocities", "closure rows", "closures' rows on joint accelerations (39, 40)"),
    "L": Letter("closure rows", "closure rows", "reduced matrix of the closures (41)"),
    "gamma": Letter("closure rows", "value", "right side of the closures: L times the multipliers (41, 42)", _LOADED),
}

MATRICES = {
    "B": Letter("body velocities", "velocities", "body velocities from those of joints (Nikravesh 5-10)"),
    "R": Letter("body velocities", "velocities", "the same, balls in ground axes (Garcia de Jalon 8.99-8.105)"),
    "D*": Letter("all closure rows", "body velocities", "what cut joints and closures hold (Nikravesh 11)"),
    "C": Letter("closure rows", "velocities", "rows of D* B that are independent (Nikravesh 12-15)"),
    "E": Letter("velocities", "independent velocities", "all velocities from independent ones (Nikravesh 16-25)"),
    "gain": Letter("forces", "velocities", "gains P H* D^-1 (Jain 7)"),
}
"""The matrices that are given without a text; texts share them."""

TEXTS: dict[str, dict[str, Letter]] = {
    "nikravesh": {
        "D": Letter("rows of joints", "motions", "what the joints of the tree hold: D B = 0 (2, 6)"),
        **{name: MATRICES[name] for name in ("B", "D*", "C", "E")},
        "G": Letter("motions", "motions", "velocities of bodies less those that their parents give (27, 28)"),
        "H": Letter("motions", "velocities", "what joints add: G times body velocities, B = G^-1 H (27, 28)"),
    },
    "kang-yoon/centroid": _KANG_YOON,
    "kang-yoon/joint": _KANG_YOON,
    "kang-yoon/origin": _KANG_YOON,
    "garcia-de-jalon": {
        "R": MATRICES["R"],
        "V": Letter("velocities", "coordinates", "velocities from the rates of coordinates (8.32)"),
        "U": Letter("coordinates", "velocities", "rates of coordinates from velocities (8.33)"),
    },
    "garcia-de-jalon/natural": {
        "R": Letter("elements", "velocities", "formulation A: velocities of points and vectors (8.60-8.64)"),
        "S": Letter("elements", "value", "their accelerations at zero joint accelerations (8.65-8.69)", _MOVING),
        "Phi_q": Letter("conditions", "elements", "what the bodies and joints of the tree hold: Phi_q R = 0 (8.37)"),
    },
    "jain": {
        "H": Letter("velocities", "motions", "joint maps (2, 3)"),
        "E": Letter("forces", "forces", "shifts of forces from bodies to their parents (5)"),
        "phi": Letter("forces", "forces", "(1 - E)^-1 (4)"),
        "M": Letter("forces", "motions", "inertias of bodies (3)"),
        "P": Letter("forces", "motions", "articulated inertias (7)"),
        "D": Letter("velocities", "velocities", "hinge inertias H P H* (7)"),
        "gain": MATRICES["gain"],
        "K": Letter("forces", "velocities", "E times the gain (9)"),
        "psi": Letter("forces", "forces", "(1 - E taubar)^-1, taubar = 1 - gain H (9)"),
        "a": Letter("motions", "value", "accelerations that velocities alone give (13)", _MOVING),
        "b": Letter("forces", "value", "forces that velocities and loads give (13)", _LOADED),
    },
}
"""The letters of each text, by the name that `text=` takes."""


def function_name(text: str | None, name: str) -> str:
    """Return the name of the system's function that gives a letter.

    >>> function_name("jain", "phi"), function_name("jain", "gain")
    ('jain/phi', 'gain')
    """
    return name if text is None or TEXTS[text][name] is MATRICES.get(name) else f"{text}/{name}"
