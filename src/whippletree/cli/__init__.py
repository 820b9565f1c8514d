"""The command line: `whippletree check`, `run`, `plot`, `convert`, `info`, `demo` and `cache clear`."""

from whippletree.cli.command import main

__all__ = ["main"]
