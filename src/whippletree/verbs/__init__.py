"""Verbs that a class offers although their work is done in a room that is built on it.

`mechanism.build()` makes a `System`, and `system.simulate(...)` a `Trajectory`: conveniences, whose rooms import the
class and not the other way round. The class asks here for the function by name; the package says, where it is put
together (`whippletree/__init__.py`), which function that is. Its module is imported when the verb is first used.

A new one (`System.sweep`, say) is a line in the table there, and a method that calls `verb("System.sweep")`.
"""

from whippletree.verbs.registry import provide, verb

__all__ = ["provide", "verb"]
