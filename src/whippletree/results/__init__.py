"""What was computed, for people: trajectories, tables, plots and a viewer will live here."""
