"""Sources of flexible bodies: beams, finite-element matrices, standard input data."""
