"""Force elements (springs, dampers, actuators, contacts) will live here, one type per file."""
