"""Recipe: how transcripts are spelt, and the units that the model writes."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sonorant.section import Section

__all__ = ["SUBWORDS", "Language", "TextRecipe"]

Language = Literal["en", "fr", "ko"]

SUBWORDS = ("bpe", "unigram")
"""Kinds of units that sentencepiece learns."""


class TextRecipe(Section):
    """Transcripts and the units that the model writes."""

    units: Literal["words", "characters", "bpe", "unigram"] = Field(
        "characters", description="What the model writes; bpe and unigram are sub-words (pieces)."
    )
    pieces: int = Field(
        512, ge=32, le=65536, description="Size of the sub-word vocabulary (bpe and unigram without a tokenizer only)."
    )
    tokenizer: str | None = Field(
        None,
        description="File of `sonorant tokenizer` with the units, in place of units learnt from the split train; if "
        "relative, below the data folder.",
    )
    hangul: Literal["syllables", "jamo"] = Field(
        "syllables", description="Korean letters as characters: whole syllables, or the conjoining jamo in them."
    )
    language: Language | None = Field(
        None,
        description="ISO 639-1 code of the language whose quotation marks, apostrophes and elisions transcripts have; "
        "absent: an apostrophe stays that touches a letter or digit.",
    )
    lowercase: bool = Field(True, description="Lower-case transcripts.")
    punctuation: Literal["strip", "keep"] = Field(
        "strip", description="What happens to punctuation marks; apostrophes stay."
    )
    accents: Literal["keep", "strip"] = Field("keep", description="Diacritics of Latin letters: é, or e in its place.")
    ligatures: Literal["keep", "expand"] = Field("keep", description="Ligatures œ and æ, or oe and ae in their place.")
    elisions: Literal["attached", "detached"] = Field(
        "attached", description="Elided French words: l'eau is one word, or two, l' and eau (language: fr only)."
    )
    numbers: Literal["keep", "refuse"] = Field(
        "keep",
        description="Transcripts with digits, which do not say how they are read: kept as they are, or skipped and "
        "listed.",
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.elisions == "detached" and self.language != "fr":
            raise ValueError(
                f"elisions: detached needs language: fr, found {self.language}: other languages have no elided words"
            )
        if self.hangul == "jamo" and self.units == "words":
            raise ValueError("hangul: jamo with units: words: a word is one unit, however it is spelt; use characters")
        return self
