"""File formats: models as YAML, validated, with line numbers in every error."""

from whippletree.model.io.entry_points import read, read_file, read_text, write_file, write_text
from whippletree.model.io.model_file import Model

write = write_file

__all__ = ["Model", "read", "read_file", "read_text", "write", "write_file", "write_text"]
