"""What closes a loop: the constraint equations of cut joints will live here, one type per file."""
