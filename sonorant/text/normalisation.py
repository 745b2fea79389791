"""One spelling for each transcript, so that scores and units do not depend on typography."""

import unicodedata

from sonorant.text.section import TextRecipe

__all__ = ["normalise"]

_SPOKEN = "%&@#"  # Unicode calls them punctuation, but they are read out as words
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


def normalise(text: str, recipe: TextRecipe) -> str:
    """Return `text` in NFKC, lower-cased and without punctuation by the recipe, words one space apart.

    Punctuation becomes a space ("well-known" is two words), but for apostrophes that touch a letter or digit
    ("don't", "rock 'n' roll"), in any typographic form. Signs that are read out, such as % and +,
    stay: units without them reject the transcript by name, where removal would teach the model to skip a spoken word.
    Normalising twice changes nothing.
    """
    text = unicodedata.normalize("NFKC", text)
    if recipe.lowercase:
        text = unicodedata.normalize("NFKC", text.lower())
    if recipe.punctuation == "strip":
        text = _without_punctuation(text.translate(_APOSTROPHES))
    return " ".join(text.split())


def _without_punctuation(text: str) -> str:
    padded = f" {text} "
    kept = [
        " " if _is_punctuation(char) and not _joins_letters(before, char, after) else char
        for before, char, after in zip(padded, text, padded[2:], strict=False)
    ]
    return "".join(kept)


def _is_punctuation(char: str) -> bool:
    return (unicodedata.category(char).startswith("P") or char == "`") and char not in _SPOKEN


def _joins_letters(before: str, char: str, after: str) -> bool:
    return char == "'" and (before.isalnum() or after.isalnum())
