"""Byte-pair encoding (Sennrich et al., 2016) by sentencepiece, an extra dependency that only kind `bpe` needs.

sentencepiece keeps number 0 for unknown text. The model has no such unit, so our numbers are one lower.
"""

import io
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

from sonorant.errors import BadCorpus, RejectedExample, Unavailable

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

__all__ = ["WORD_START", "encode", "load", "symbols", "train"]

WORD_START = "\u2581"  # sentencepiece writes it for the space before a word
_UNKNOWN = 0


def train(words: Iterable[str], size: int) -> bytes:
    """Return a model of at most `size` pieces learnt from words; the same words give the same bytes.

    Raises BadCorpus if the words have more than `size` characters.
    """
    words = sorted(words)
    characters = len({WORD_START}.union(*words))
    if characters > size:
        raise BadCorpus(
            f"bpe_units={size}: the transcripts have {characters} characters; bpe_units must be at least that"
        )
    model = io.BytesIO()
    _library().SentencePieceTrainer.train(
        sentence_iterator=iter(words),
        model_writer=model,
        model_type="bpe",
        vocab_size=size + 1,
        hard_vocab_limit=False,  # a small corpus has fewer merges to offer
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
    return model.getvalue()


def load(model: bytes) -> "SentencePieceProcessor":
    """Return the processor of a model; raises BadCorpus if the bytes are none."""
    processor: SentencePieceProcessor = _library().SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise BadCorpus(f"bpe_model: {len(model)} bytes that are no sentencepiece model; prepare again") from error
    return processor


def symbols(processor: "SentencePieceProcessor") -> tuple[str, ...]:
    """Return the pieces by number."""
    return tuple(processor.IdToPiece(i) for i in range(_UNKNOWN + 1, processor.GetPieceSize()))


def encode(processor: "SentencePieceProcessor", text: str) -> list[int]:
    """Return the numbers of the pieces of `text`; RejectedExample names the first symbol that none of them spells."""
    numbers: list[int] = processor.EncodeAsIds(text)
    if _UNKNOWN in numbers or WORD_START in text:
        spelt = set("".join(symbols(processor))) - {WORD_START}
        missing = next(symbol for symbol in "".join(text.split()) if symbol not in spelt)
        raise RejectedExample(f"transcript {text!r} has {missing!r}, which no piece of units.json spells; correct it")
    return [number - 1 for number in numbers]


def _library() -> ModuleType:
    try:
        import sentencepiece
    except ImportError as error:
        raise Unavailable("units: bpe needs the package sentencepiece; `pip install 'sonorant[bpe]'`") from error
    return sentencepiece
