"""Questions about a mechanism: mobility, equilibrium, linearisation, modes and sensitivities will live here."""
