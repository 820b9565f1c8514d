"""Motion over time: integrators, closure projection, events and recording will live here."""
