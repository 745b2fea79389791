"""One spelling for each transcript, so that scores and units do not depend on typography."""

import re
import unicodedata

from sonorant.text.apostrophes import without_quotes
from sonorant.text.section import TextRecipe

__all__ = ["first_number", "normalise"]

_SPOKEN = "%‰&@#§"  # Unicode calls them punctuation, but they are read out as words
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u2032\uff07", "'"))
_ACCENT_FOR_APOSTROPHE = re.compile(r"(?<=\w)[\u00b4`](?=\w)")  # l´eau: a key beside the right one
_LIGATURES = str.maketrans({"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE"})
# NFKC takes these letters, as in ㅋㅋ, for parts of a syllable, and joins those that happen to stand together.
_NOT_COMPATIBILITY_JAMO = re.compile("[^\u3131-\u318e]+")
_HALFWIDTH_JAMO = {
    code: chr(int(unicodedata.decomposition(chr(code)).split()[1], 16))
    for code in range(0xFFA0, 0xFFDD)
    if unicodedata.decomposition(chr(code))
}
# Only these words lose a letter before an apostrophe; in quelqu'un and presqu'île it belongs to the word.
_ELIDED = r"(?<![\w'\u2019])((?:(?:[cçdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['\u2019])+)"  # several in j'l'ai
_ELIDED_APART = re.compile(rf"{_ELIDED}\s+(?=\w)", re.IGNORECASE)
_ELIDED_BEFORE_QUOTE = re.compile(rf'{_ELIDED}\s*(?:["\u2018\u201c\u201e]|[\u00ab\u2039]\s*)(?=\w)', re.IGNORECASE)
_ELIDED_IN_FRONT = re.compile(rf"{_ELIDED}(?=\w)", re.IGNORECASE)
# Soft hyphen, word joiner, byte order mark, marks of direction; joiners stay, as Indic and Persian spelling has them.
_UNSEEN = (0x00AD, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF)
_WITHOUT_UNSEEN: dict[int, str] = dict.fromkeys(_UNSEEN, "") | {0x200B: " "}  # "zero width space" parts words


def normalise(text: str, recipe: TextRecipe) -> str:
    """Return `text` in NFKC, with case, punctuation, accents, ligatures and elisions by the recipe.

    Words stand one space apart, without invisible characters such as soft hyphens. Punctuation becomes a space ("well-
    known" is two words), but for apostrophes in any typographic form, which depend on the language (`without_quotes`).
    Signs that are read out, such as % and +, stay: units without them reject the transcript by name, where removal
    would train the model to skip a spoken word. Digits stay for the same reason: their reading depends on what they
    count (1984, 3 h, 세 시 and 삼 분 for 3), which no library of number words covers. Hangul letters outside syllables
    (ㅋㅋ) stay. Normalisation is idempotent.
    """
    text = text.translate(_WITHOUT_UNSEEN)
    if recipe.punctuation == "strip":
        text = unicodedata.normalize("NFC", text)  # else an accent stands between letter and apostrophe
        text = _ACCENT_FOR_APOSTROPHE.sub("'", text).replace("\u00b4", " ")  # NFKC makes a space and an accent of it
    text = _nfkc(text)
    if recipe.lowercase:
        text = _nfkc(text.lower())
    if recipe.accents == "strip":
        text = _without_accents(text)
    if recipe.ligatures == "expand":
        text = unicodedata.normalize("NFC", text.translate(_LIGATURES))
    if recipe.language == "fr":
        text = _ELIDED_APART.sub(r"\1", text)
        if recipe.punctuation == "strip":
            text = _ELIDED_BEFORE_QUOTE.sub(r"\1", text)
    if recipe.punctuation == "strip":
        text = _without_punctuation(without_quotes(text.translate(_APOSTROPHES), recipe.language))
    if recipe.elisions == "detached":
        text = _ELIDED_IN_FRONT.sub(lambda elided: re.sub(r"(?<=['\u2019])", " ", elided[0]), text)
    return " ".join(text.split())


def first_number(text: str) -> str:
    """Return the first word of `text` that holds a digit or another number sign; "" if there is none."""
    return next((word for word in text.split() if any(unicodedata.category(char)[0] == "N" for char in word)), "")


def _nfkc(text: str) -> str:
    composed = unicodedata.normalize("NFC", text.translate(_HALFWIDTH_JAMO))
    return _NOT_COMPATIBILITY_JAMO.sub(lambda run: unicodedata.normalize("NFKC", run[0]), composed)


def _without_accents(text: str) -> str:
    """Drop the marks of Latin letters; those of other scripts make other letters, as й of и."""
    kept: list[str] = []
    latin = False
    for char in unicodedata.normalize("NFD", text):
        if not unicodedata.combining(char):
            latin = unicodedata.name(char, "").startswith("LATIN ")
        elif latin and unicodedata.category(char) == "Mn":
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def _without_punctuation(text: str) -> str:
    return "".join(" " if _is_punctuation(char) else char for char in text)


def _is_punctuation(char: str) -> bool:
    return char == "`" or (unicodedata.category(char).startswith("P") and char not in _SPOKEN and char != "'")
