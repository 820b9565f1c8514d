"""One file per format: how its content is recognised, who reads it, and who writes it.

A format of your own is registered in the same way, from anywhere:

    from whippletree.files.formats import FileFormat, ModelContent, register

    MINE = register(FileFormat("Mine", recognises, read, (".mine",), write))

The first that recognises a file reads it. Readers and writers are imported when a file asks for them.
"""

from whippletree.files.formats.adams_data import ADAMS
from whippletree.files.formats.file_format import (
    FileFormat,
    ModelContent,
    format_of,
    format_written_as,
    outermost,
    register,
    unregister,
)
from whippletree.files.formats.mjcf import MJCF
from whippletree.files.formats.named_loops import NAMED_LOOPS
from whippletree.files.formats.opensim import OPENSIM
from whippletree.files.formats.sdf import SDF
from whippletree.files.formats.urdf import URDF
from whippletree.files.formats.usd import USD

__all__ = [
    "ADAMS",
    "MJCF",
    "NAMED_LOOPS",
    "OPENSIM",
    "SDF",
    "URDF",
    "USD",
    "FileFormat",
    "ModelContent",
    "format_of",
    "format_written_as",
    "outermost",
    "register",
    "unregister",
]
