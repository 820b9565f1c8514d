"""Every numbered equation of the texts: its meaning, the function that computes it, and a check of it on numbers.

>>> from whippletree.analysis.equations import TEXTS
>>> TEXTS["kang-yoon"].of("28").letter
'M11, M21, M22, Q1, Q2'
"""

from whippletree.analysis.equations.equation import Equation, Text
from whippletree.analysis.equations.kang_yoon_equations import KANG_YOON

__all__ = ["TEXTS", "Equation", "Text"]

TEXTS: dict[str, Text] = {text.key: text for text in (KANG_YOON,)}
"""The texts by their short names."""
