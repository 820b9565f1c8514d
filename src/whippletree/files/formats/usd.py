"""USD, stages with physics: as text, as binary, or packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.files.formats.file_format import FileFormat, ModelContent, register

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel

__all__ = ["USD"]


def _recognises(content: ModelContent) -> bool:
    head = content.head
    return head.startswith((b"#usda", b"PXR-USDC")) or (head.startswith(b"PK\x03\x04") and b".usd" in head)


def _read(content: ModelContent) -> NeutralModel:
    from whippletree.files.usd_reader import read_usd

    return read_usd(content.name, content.around.place, content.around.folders)


USD = register(FileFormat("USD", _recognises, _read, (".usd", ".usda", ".usdc", ".usdz")))
