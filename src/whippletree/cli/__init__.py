"""The command line: `whippletree info`, `whippletree demo`, `whippletree cache clear`."""

from whippletree.cli.command import main

__all__ = ["main"]
