"""Every numbered equation of the texts: its meaning, the function that computes it, and a check of it on numbers.

>>> from whippletree.analysis.equations import TEXTS
>>> TEXTS["kang-yoon"].of("28").letter
'M21, M22, Q2'
"""

from whippletree.analysis.equations.critchley_anderson_equations import CRITCHLEY_ANDERSON
from whippletree.analysis.equations.equation import Equation, Text
from whippletree.analysis.equations.garcia_de_jalon_equations import GARCIA_DE_JALON
from whippletree.analysis.equations.jain_equations import JAIN
from whippletree.analysis.equations.kang_yoon_equations import KANG_YOON
from whippletree.analysis.equations.nikravesh_equations import NIKRAVESH

__all__ = ["TEXTS", "Equation", "Text"]

TEXTS: dict[str, Text] = {text.key: text for text in (KANG_YOON, NIKRAVESH, CRITCHLEY_ANDERSON, GARCIA_DE_JALON, JAIN)}
"""The texts by their short names."""
