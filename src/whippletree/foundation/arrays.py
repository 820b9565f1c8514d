"""Types of arrays and of paths, for all rooms."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "Array", "FilePath", "Indices", "Mask"]

Array = npt.NDArray[np.float64]
"""Numbers."""

Indices = npt.NDArray[np.intp]
"""Places in other arrays."""

Mask = npt.NDArray[np.bool_]
"""Which places are meant."""

AnyArray = npt.NDArray[Any]
"""An array with entries of any type, as it was read from a file or given by a person."""

FilePath: TypeAlias = str | os.PathLike[str]
"""Where a file or a folder is."""
