"""Linear algebra over CasADi's symbols, without any mechanics: sparse and dense factorisations, unrolled solves.

Tracing cannot choose pivots: the order of elimination is the caller's.
"""
