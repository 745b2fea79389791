"""Units: the model's output symbols, and the mapping between transcripts and their numbers."""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sonorant.errors import BadCorpus, BadRun, RejectedExample
from sonorant.file_names import fault_of, shown
from sonorant.randomness import generator
from sonorant.text import hangul, pieces
from sonorant.text.normalisation import normalise
from sonorant.text.section import SUBWORDS, TextRecipe

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

__all__ = ["Kind", "Units", "count_words", "fewer_pieces", "learn_units", "read_units", "units_of_words"]

Kind = Literal["words", "characters", "bpe", "unigram"]

_SPACE = " "


@dataclass(frozen=True)
class Units:
    """Numbered units; the CTC blank comes after the last of them.

    symbols: the units' spellings, by number. Pieces mark a word's start with U+2581.
    model: the sentencepiece model that cuts words into pieces (bpe and unigram only).
    jamo: Hangul syllables are spelt as the conjoining jamo in them; transcripts go in and come out in syllables.
    """

    kind: Kind
    symbols: tuple[str, ...]
    model: bytes = b""
    jamo: bool = False

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
        spelt = hangul.decompose(text) if self.jamo else text
        if self.kind in SUBWORDS:
            return pieces.encode(self._processor, spelt)
        symbols = spelt.split() if self.kind == "words" else _SPACE.join(spelt.split())
        labels = [self._numbers.get(symbol, -1) for symbol in symbols]
        if -1 in labels:
            missing = symbols[labels.index(-1)]
            raise RejectedExample(
                f"transcript {text!r} has {missing!r}, which is not among the {self} of units.json; correct the "
                "transcript, or learn the units from text that has it"
            )
        return labels

    def text(self, ids: Iterable[int]) -> str:
        """Return what the units spell, words one space apart; the inverse of `labels`."""
        spelt = (_SPACE if self.kind == "words" else "").join(self.symbols[i] for i in ids)
        if self.kind in SUBWORDS:
            spelt = spelt.replace(pieces.WORD_START, _SPACE)
        words = _SPACE.join(spelt.split())
        return hangul.compose(words) if self.jamo else words

    def starts_word(self, unit: int) -> bool:
        """Return whether a new word begins with this unit.

        Each word does, and each piece marked so; with characters it is the space, which opens the word after it.
        """
        symbol = self.symbols[unit]
        return self.kind == "words" or symbol.startswith(pieces.WORD_START if self.kind in SUBWORDS else _SPACE)

    def check_same(self, other: "Units", name: str, other_name: str) -> None:
        """Raise BadRun, with the first difference, unless `other` has the same units under the same numbers."""
        if self == other:
            return
        numbered = zip(self.symbols, other.symbols, strict=False)
        number = next((i for i, (mine, theirs) in enumerate(numbered) if mine != theirs), min(self.size, other.size))
        first = [repr(units.symbols[number]) if number < units.size else "none" for units in (self, other)]
        raise BadRun(
            f"{other_name}: {other}; expected the units of {name}: {self}; unit {number} is {first[1]}, expected "
            f"{first[0]}; both must come from one tokenizer"
        )

    def check_model(self, name: str) -> None:
        """Raise BadCorpus, with the file's `name`, unless the sentencepiece model is whole and has these pieces."""
        if not self.model:
            return
        try:
            found = pieces.symbols(self._processor)
        except BadCorpus as error:
            raise BadCorpus(f"{name}: {error}") from error
        if found != self.symbols:
            raise BadCorpus(
                f"{name}: {self.size} symbols that are not the {len(found)} pieces of its sentencepiece model; "
                "expected what `sonorant tokenizer` writes: make it again"
            )

    def __str__(self) -> str:
        """Return number and kind, such as "512 unigram pieces"."""
        return f"{self.size} {self.kind}{' pieces' if self.kind in SUBWORDS else ''}{' of jamo' if self.jamo else ''}"

    def to_json(self) -> str:
        """Return the text of units.json; equal units give equal text."""
        document: dict[str, object] = {"kind": self.kind, "symbols": self.symbols}
        if self.jamo:
            document["jamo"] = True
        if self.model:
            document["sentencepiece"] = base64.b64encode(self.model).decode("ascii")
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "units.json") -> "Units":
        """Return the units that `to_json` wrote; raises BadCorpus, with the file's `name`, if it did not write them."""
        try:
            document = json.loads(text)
            kind, symbols, jamo = document["kind"], tuple(document["symbols"]), document.get("jamo", False)
            model = base64.b64decode(_model_of(document), validate=True)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            reason = f"has no key {error}" if isinstance(error, KeyError) else error
            raise BadCorpus(
                f"{name}: {reason}; expected what `sonorant prepare` or `sonorant tokenizer` writes: make it again"
            ) from error
        if kind not in get_args(Kind) or not all(isinstance(s, str) for s in symbols) or not isinstance(jamo, bool):
            raise BadCorpus(f"{name}: kind={kind!r} with {len(symbols)} symbols: unknown kind, or symbols not text")
        if twice := [symbol for symbol, count in Counter(symbols).items() if count > 1]:
            raise BadCorpus(f"{name}: symbol {twice[0]!r} stands twice; each is one unit: make it again")
        if (kind in SUBWORDS) != bool(model):
            raise BadCorpus(f"{name}: kind={kind!r}: a sentencepiece model belongs to bpe and unigram, and to no other")
        return cls(kind, symbols, model, jamo)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @cached_property
    def _processor(self) -> "SentencePieceProcessor":
        return pieces.load(self.model)


def read_units(path: Path) -> Units:
    """Return the units in a file; raises BadCorpus, naming it, if `Units.to_json` has not written it.

    Raises Unavailable if the file system fails.
    """
    name = shown(path)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = fault_of(path, error) if isinstance(error, OSError) else str(error)
        raise BadCorpus(
            f"{name}: {reason}; expected what `sonorant prepare`, `tokenizer` or `export` writes: make it again"
        ) from error
    units = Units.from_json(content, name)
    units.check_model(name)
    return units


def learn_units(recipe: TextRecipe, texts: Iterable[str], seed: int = 0) -> Units:
    """Return the units of all transcripts; the order of the transcripts does not matter.

    seed: of the sample that is taken of a text too large for sub-words. Raises BadCorpus if all transcripts are empty,
    or have more characters than `pieces`.
    """
    return units_of_words(recipe, count_words(recipe, texts), seed)


def units_of_words(recipe: TextRecipe, words: Counter[str], seed: int = 0) -> Units:
    """Return the units of words, from how often each occurs; see `learn_units`."""
    if not words:
        raise BadCorpus("no transcript has a word, so there are no units to learn; check the corpus's text")
    jamo = recipe.hangul == "jamo"
    if recipe.units == "words":
        return Units("words", tuple(sorted(words)))
    if jamo:
        words = Counter({hangul.decompose(word): count for word, count in words.items()})
    if recipe.units == "characters":
        return Units("characters", tuple(sorted({_SPACE}.union(*words))), jamo=jamo)
    model = pieces.train(recipe.units, words, recipe.pieces, generator(seed, 0, recipe.units, "tokenizer"))
    return Units(recipe.units, pieces.symbols(pieces.load(model)), model, jamo)


def fewer_pieces(recipe: TextRecipe, units: Units) -> str:
    """Return a warning if a text had fewer pieces to offer than the recipe asks for; empty if it had enough."""
    if recipe.tokenizer is not None or units.kind not in SUBWORDS or units.size >= recipe.pieces:
        return ""
    return f"text.pieces={recipe.pieces}: this text has no more than {units.size} {units.kind} pieces"


def count_words(recipe: TextRecipe, texts: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs in all transcripts, which are normalised."""
    return Counter(word for text in texts for word in normalise(text, recipe).split())


def _model_of(document: dict[str, Any]) -> str:
    model: str = document.get("sentencepiece") or document.get(
        "bpe_model", ""
    )  # as it was called when there was only BPE
    return model
