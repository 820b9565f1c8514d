"""OpenSim, the models of bodies that live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.files.formats.file_format import FileFormat, ModelContent, outermost, register

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel

__all__ = ["OPENSIM"]


def _read(content: ModelContent) -> NeutralModel:
    from whippletree.files.opensim_reader import read_opensim

    return read_opensim(content.root)


OPENSIM = register(FileFormat("OpenSim", outermost("OpenSimDocument", "Model"), _read, (".osim",)))
