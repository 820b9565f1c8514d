"""File formats: readers and writers of mechanisms will live here."""
