"""Equilibria: at rest, in steady motion, with unknowns; paths of them; eigenvalues along such paths."""

from whippletree.equilibria.eigenvalue_branches import EigenvalueBranches, eigenvalues_over
from whippletree.equilibria.equilibrium import Equilibrium, equilibrium
from whippletree.equilibria.equilibrium_paths import EquilibriumPath, equilibrium_path

__all__ = [
    "EigenvalueBranches",
    "Equilibrium",
    "EquilibriumPath",
    "eigenvalues_over",
    "equilibrium",
    "equilibrium_path",
]
