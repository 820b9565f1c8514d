"""The formulations: pure step functions, driven by the shared sweeps."""
