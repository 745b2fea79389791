"""Inverse text normalisation: from words as spoken to their written form ("three thirty p m": 3:30 p.m.).

A `Formatter`, one for each language (`formatter`), maps a sequence of words to groups, `Written`: a text, and which
of the words it spans, so that times and confidences of words survive. Groups come in order and cover each word once.
Words that no rule reads, and runs of number words with more than one reading ("twenty thirty people"), are verbatim.
Formatting is idempotent.

A rule is a function of the tokens and a position (`rules`); a language is an ordered list of rules (`english`,
`french`, `korean`), the first that reads something wins. A hook, for casing or punctuation, maps groups to groups
(`casing`).
"""

from sonorant.text.formatting.formatter import Formatter, Hook, Written, text_of
from sonorant.text.formatting.languages import LANGUAGES, formatter

__all__ = ["LANGUAGES", "Formatter", "Hook", "Written", "formatter", "text_of"]
