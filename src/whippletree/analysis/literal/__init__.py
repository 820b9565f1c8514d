"""The papers' recursions as they are printed, in plain NumPy, where ours go otherwise: to read, and to check by."""
