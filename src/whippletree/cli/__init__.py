"""The command line: `whippletree check`, `run`, `plot`, `convert`, `info`, `demo`, `cache clear` and `cache prune`."""

from whippletree.cli.command import main

__all__ = ["main"]
