"""Units: the model's output symbols, and the mapping between transcripts and their numbers."""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from sonorant.errors import BadCorpus, RejectedExample
from sonorant.text import pieces
from sonorant.text.normalisation import normalise
from sonorant.text.section import TextRecipe

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

__all__ = ["Units", "learn_units"]

_SPACE = " "


@dataclass(frozen=True)
class Units:
    """Numbered units; the CTC blank comes after the last of them.

    symbols: the units' spellings, by number. Pieces of BPE mark a word's start with U+2581.
    bpe_model: the sentencepiece model that cuts words into pieces (kind bpe only).
    """

    kind: Literal["words", "characters", "bpe"]
    symbols: tuple[str, ...]
    bpe_model: bytes = b""

    @property
    def size(self) -> int:
        """Number of units, without the blank."""
        return len(self.symbols)

    @property
    def blank(self) -> int:
        """Number of the CTC blank."""
        return self.size

    def labels(self, text: str) -> list[int]:
        """Return the numbers of the units that spell `text`, a text from `normalise`.

        Raises RejectedExample, naming the symbol, if the text holds one that no unit spells.
        """
        if self.kind == "bpe":
            return pieces.encode(self._processor, text)
        symbols = text.split() if self.kind == "words" else _SPACE.join(text.split())
        labels = [self._numbers.get(symbol, -1) for symbol in symbols]
        if -1 in labels:
            missing = symbols[labels.index(-1)]
            raise RejectedExample(
                f"transcript {text!r} has {missing!r}, which is not among the {self.size} {self.kind} of units.json; "
                "correct the transcript, or prepare the corpus again with it"
            )
        return labels

    def text(self, ids: Iterable[int]) -> str:
        """Return what the units spell, words one space apart; the inverse of `labels`."""
        spelt = (_SPACE if self.kind == "words" else "").join(self.symbols[i] for i in ids)
        return _SPACE.join(spelt.replace(pieces.WORD_START, _SPACE).split() if self.kind == "bpe" else spelt.split())

    def starts_word(self, unit: int) -> bool:
        """Return whether a new word begins with this unit.

        Each word does, and each piece of BPE marked so; with characters it is the space, which opens the word after it.
        """
        symbol = self.symbols[unit]
        return self.kind == "words" or symbol.startswith(pieces.WORD_START if self.kind == "bpe" else _SPACE)

    def to_json(self) -> str:
        """Return the text of units.json; equal units give equal text."""
        document: dict[str, object] = {"kind": self.kind, "symbols": self.symbols}
        if self.kind == "bpe":
            document["bpe_model"] = base64.b64encode(self.bpe_model).decode("ascii")
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Units":
        """Return the units of a text from `to_json`; raises BadCorpus for other texts."""
        try:
            document = json.loads(text)
            kind, symbols = document["kind"], tuple(document["symbols"])
            model = base64.b64decode(document.get("bpe_model", ""), validate=True)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError, binascii.Error) as error:
            raise BadCorpus(f"units.json: {error}; expected what `sonorant prepare` writes: prepare again") from error
        if kind not in ("words", "characters", "bpe") or not all(isinstance(s, str) for s in symbols):
            raise BadCorpus(f"units.json: kind={kind!r} with {len(symbols)} symbols: unknown kind, or symbols not text")
        if (kind == "bpe") != bool(model):
            raise BadCorpus(f"units.json: kind={kind!r}: bpe_model belongs to kind 'bpe' and to no other")
        return cls(kind, symbols, model)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @cached_property
    def _processor(self) -> "SentencePieceProcessor":
        return pieces.load(self.bpe_model)


def learn_units(recipe: TextRecipe, texts: Iterable[str]) -> Units:
    """Return the units of all transcripts; the order of the transcripts does not matter.

    Raises BadCorpus if they are all empty, or have more characters than `bpe_units`.
    """
    words = sorted(_words(recipe, texts))
    if not words:
        raise BadCorpus("no transcript has a word, so there are no units to learn; check the corpus's text")
    if recipe.units == "words":
        return Units("words", tuple(sorted(set(words))))
    if recipe.units == "characters":
        return Units("characters", tuple(sorted({_SPACE}.union(*words))))
    model = pieces.train(words, recipe.bpe_units)
    return Units("bpe", pieces.symbols(pieces.load(model)), model)


def _words(recipe: TextRecipe, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from normalise(text, recipe).split()
