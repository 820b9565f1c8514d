"""What prescribes a motion over time: driver functions will live here, one type per file."""
