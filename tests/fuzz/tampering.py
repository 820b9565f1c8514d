"""Values that do harm where they are not expected, and changes of bytes, arrays and trees of plain values."""

from __future__ import annotations

import copy
import math
import random
from typing import Any

import numpy as np

__all__ = ["changed_array", "changed_bytes", "changed_tree", "leaf"]

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 12, 13, 14, 64, 255, 1000, 10**6, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63)),
    *(0.5, -0.0, 5e-324, 1e-300, 1e-12, 1e-3, 1.5, 1e9, 1e18, 1e300, 1.7976931348623157e308, -1e308),
    *(math.nan, math.inf, -math.inf),
)


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """Bytes with some of them changed, left out, repeated or added."""
    broken = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(broken) + 1)
        way = rng.randrange(5)
        if way == 0 and at < len(broken):
            broken[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif way == 1 and at < len(broken):
            broken[at] ^= 1 << rng.randrange(8)
        elif way == 2:
            del broken[at : at + rng.choice((1, 4, 8, 1000, len(broken)))]
        elif way == 3:
            broken[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 8, 100))))
        else:
            size = rng.choice((1, 4, 8))
            broken[at : at + size] = rng.choice((0, 2**31 - 1, 2**32 - 1, 10, 11)).to_bytes(8, "big")[-size:]
    return bytes(broken)


def changed_array(rng: random.Random, array: Any) -> Any:
    """An array with other numbers, of another shape or type."""
    array = np.array(array)
    way = rng.randrange(10)
    if way < 6 and array.size:
        flat = array.reshape(-1)
        for _ in range(rng.choice((1, 1, 2, flat.size))):
            i = rng.randrange(min(flat.size, rng.choice((8, 32, flat.size))))
            with np.errstate(all="ignore"):
                value = rng.choice((rng.choice(NUMBERS), float(flat[i]) * rng.choice((-1, 0.5, 2, 10, 1 + 1e-12))))
                if array.dtype.kind in "iub":
                    value = int(value) % 2**63 if math.isfinite(value) else 1
                    value = value % (int(np.iinfo(array.dtype).max) + 1) if array.dtype.kind != "b" else value
                    value = -value if array.dtype.kind == "i" and rng.random() < 0.3 else value
                flat[i] = value
        return array
    if way == 6:
        return array[: rng.choice((0, 1, max(len(array) - 1, 0)))] if array.ndim else array[None]
    if way == 7:
        return np.concatenate([array, array, array][: rng.choice((2, 3))]) if array.ndim else array
    if way == 8:
        return array.reshape(rng.choice(((-1,), (1, -1), (-1, 1)))) if array.size else np.zeros((3, 0, 2))
    with np.errstate(all="ignore"):
        return array.astype(rng.choice((np.float32, np.int64, np.uint8, np.int32, np.float64, bool, ">f8", "<f2")))


def leaf(rng: random.Random) -> Any:
    """A plain value."""
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    others = ("", "x", "A", "ground", "a" * 500_000, "\0", "é\n", "1e999", "__import__('os')", True, False, None)
    return rng.choice((rng.choice(NUMBERS), rng.choice(others), 10**400, [], {}, [[]], [1, 2], {"a": 1}, deep))


def changed_tree(rng: random.Random, tree: Any) -> Any:
    """A tree of plain values with something changed in one place."""
    root = [copy.deepcopy(tree)]
    holder, key = root, 0
    while isinstance(holder[key], dict | list) and len(holder[key]) and rng.random() < 0.93:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    way = rng.randrange(6)
    if way == 0 and holder is not root:
        del holder[key]
    elif way == 1 and isinstance(holder, list) and holder is not root:
        holder.insert(key, copy.deepcopy(holder[key]))
    elif way == 2 and type(holder[key]) in (int, float) and abs(holder[key]) < 1e300:
        holder[key] = type(holder[key])(min(holder[key] * rng.choice((-1, 2, 10)) + rng.choice((0, 1, -1)), 1e15))
    else:
        holder[key] = leaf(rng)
    return root[0]
