"""File formats: models as YAML, validated, with line numbers in every error."""

from whippletree.model.io.model import Model
from whippletree.model.io.reader import read, read_file, read_text
from whippletree.model.io.writer import write_file, write_text

__all__ = ["Model", "read", "read_file", "read_text", "write_file", "write_text"]
