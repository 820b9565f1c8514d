"""Questions about a mechanism: mobility, equilibrium, linearisation, modes and so on will live here."""
