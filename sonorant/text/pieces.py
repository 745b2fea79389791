"""Sub-words by sentencepiece, an extra dependency that only these kinds of units need.

Byte-pair encoding (Sennrich et al. 2016) merges the commonest pairs; a unigram model (Kudo 2018) keeps the pieces with
which the words are most probable. sentencepiece keeps number 0 for unknown text. The model has no such unit, so our
numbers are one lower.
"""

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from sonorant.errors import BadCorpus, RejectedExample, Unavailable

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

__all__ = ["WORD_START", "encode", "load", "symbols", "train"]

WORD_START = "\u2581"  # sentencepiece writes it for the space before a word
_RESERVED = frozenset((WORD_START, "\u2585", "\0"))
_UNKNOWN = 0
_SENTENCE_BYTES = 4192  # beyond which sentencepiece leaves out a word, unless it is told
_MOST_WORDS = 10_000_000  # that are learnt from; of a larger text a sample


def train(kind: str, words: Mapping[str, int], size: int, rng: np.random.Generator) -> bytes:
    """Return a model of at most `size` pieces learnt from words and how often each occurs.

    kind: bpe or unigram. rng: draws ten million words of a text that has more. The same words and generator give the
    same bytes. Raises BadCorpus if the words have more than `size` characters, or one that sentencepiece
    keeps for itself.
    """
    if reserved := sorted(word for word in words if not _RESERVED.isdisjoint(word)):
        raise BadCorpus(
            f"{len(reserved)} words, the first {reserved[0]!r}, have U+2581, U+2585 or NUL, which sentencepiece keeps "
            "for itself; remove these characters from the text"
        )
    characters = {WORD_START}.union(*words)
    if len(characters) > size:
        raise BadCorpus(
            f"pieces={size}: the transcripts have {len(characters)} characters, the rarest {_rarest(words)}, and each "
            f"is a piece; pieces must be at least {len(characters)}"
        )
    model = io.BytesIO()
    try:
        _library().SentencePieceTrainer.train(
            sentence_iterator=_sampled(words, rng),
            model_writer=model,
            model_type=kind,
            vocab_size=size + 1,
            max_sentence_length=max([_SENTENCE_BYTES, *(len((WORD_START + word).encode()) for word in words)]),
            hard_vocab_limit=False,  # a small corpus has fewer pieces to offer
            character_coverage=1.0,
            normalization_rule_name="identity",  # `normalise` did it
            unk_id=_UNKNOWN,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            num_threads=1,
            shuffle_input_sentence=False,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise BadCorpus(
            f"pieces={size}: sentencepiece learns no {kind} pieces from {len(words)} different words: {error}; take "
            "fewer, or more text"
        ) from error
    return model.getvalue()


def load(model: bytes) -> "SentencePieceProcessor":
    """Return the processor of a model; raises BadCorpus if the bytes are none."""
    processor: SentencePieceProcessor = _library().SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise BadCorpus(f"units: {len(model)} bytes that are no sentencepiece model; make the units again") from error
    return processor


def symbols(processor: "SentencePieceProcessor") -> tuple[str, ...]:
    """Return the pieces by number."""
    return tuple(processor.IdToPiece(i) for i in range(_UNKNOWN + 1, processor.GetPieceSize()))


def encode(processor: "SentencePieceProcessor", text: str) -> list[int]:
    """Return the numbers of the pieces of `text`.

    RejectedExample names the first symbol that none of them spells, or the text, if each symbol is in a longer piece.
    """
    numbers: list[int] = processor.EncodeAsIds(text)
    if _UNKNOWN in numbers or WORD_START in text:
        spelt = set("".join(symbols(processor))) - {WORD_START}
        missing = next((symbol for symbol in "".join(text.split()) if symbol not in spelt), text)
        raise RejectedExample(
            f"transcript {text!r} has {missing!r}, which no piece of units.json spells; correct the "
            "transcript, or learn the pieces from text that has it"
        )
    return [number - 1 for number in numbers]


def _sampled(words: Mapping[str, int], rng: np.random.Generator) -> Iterator[str]:
    """Yield each word as often as it occurs, in an order of their own, or so many of them as are learnt from."""
    spelt = sorted(words)
    counts = np.array([words[word] for word in spelt], np.int64)
    if counts.sum() > _MOST_WORDS:
        counts = np.maximum(rng.multinomial(_MOST_WORDS, counts / counts.sum()), 1)  # 1: no character may be lost
    for word, count in zip(spelt, counts.tolist(), strict=True):
        for _ in range(count):
            yield word


def _rarest(words: Mapping[str, int]) -> str:
    """Name the rarest characters: what a vocabulary is too small for is often a few that nobody wanted."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in set(word):
            counts[character] += count
    rarest = sorted(counts.items(), key=lambda entry: (entry[1], entry[0]))[:3]
    return ", ".join(repr(character) for character, _ in rarest)


def _library() -> ModuleType:
    try:
        import sentencepiece
    except ImportError as error:
        raise Unavailable(
            "units: bpe and unigram need the package sentencepiece; `.venv/bin/pip install -e '.[bpe]'` in sonorant's "
            "folder brings it"
        ) from error
    return sentencepiece
