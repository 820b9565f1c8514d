"""`whippletree info`: the versions, compilers and optional packages found on this machine."""

from __future__ import annotations

import platform

import casadi as ca
import numpy as np

from whippletree._version import __version__
from whippletree.cli.cache import cache_in_words
from whippletree.kernels.native import host

__all__ = ["info"]


def info() -> None:
    """Print versions, the processor as the compiler sees it, and the cache."""
    machine = host()
    rows = {
        "whippletree": __version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()})",
        "processor": f"{machine.cpu} ({machine.triple})",
        "lanes": f"{machine.lanes} states at once in a batch",
        "fused multiply-add": "yes" if machine.fused else "no",
        "compiler": machine.versions,
        "CasADi": ca.CasadiMeta.version(),
        "NumPy": np.__version__,
        "cache": cache_in_words(),
    }
    width = max(map(len, rows))  # not empty: it has the rows above
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")
