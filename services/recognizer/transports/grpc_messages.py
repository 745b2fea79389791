"""What the gRPC transports share of messages: parsing, names of encodings, the alternatives of results."""

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from google.protobuf.message import DecodeError, Message

from services.coordination.durations import duration
from sonorant.decoding import Hypothesis, Word
from sonorant.serving.errors import BadRequest
from sonorant.v1 import google_speech_pb2 as google
from sonorant.v1 import recognizer_pb2 as own

__all__ = ["Formatter", "channels_apart", "encoding_name", "parsed", "words_wanted"]

_Message = TypeVar("_Message", bound=Message)
_Alternative = TypeVar("_Alternative", bound=own.SpeechRecognitionAlternative | google.SpeechRecognitionAlternative)


class _WordFeatures(Protocol):
    enable_word_time_offsets: bool
    enable_word_confidence: bool


def parsed(kind: type[_Message], message: bytes) -> _Message:
    """Return a client's message; raises BadRequest if it is none, where gRPC's own parsing ends with INTERNAL."""
    try:
        return kind.FromString(message)
    except DecodeError as error:
        name = kind.DESCRIPTOR.full_name
        raise BadRequest(
            f"{len(message)} bytes that are no {name}: {error}; is the client made from our proto?"
        ) from None


def encoding_name(encodings: Any, number: int) -> str:
    """Return the name of a client's encoding; empty if it is unspecified, its number if this version knows no such."""
    if number not in encodings.values():
        return str(number)
    name: str = encodings.Name(number)
    return name if number else ""


def channels_apart(features: google.RecognitionFeatures | own.RecognitionFeatures) -> bool:
    """Return whether each channel is recognized by itself; raises BadRequest for an unknown mode."""
    if features.multi_channel_mode not in google.RecognitionFeatures.MultiChannelMode.values():
        expected = "SEPARATE_RECOGNITION_PER_CHANNEL, or nothing: they are mixed"
        raise BadRequest(f"multi_channel_mode={features.multi_channel_mode}: expected {expected}")
    return bool(features.multi_channel_mode)


def words_wanted(features: _WordFeatures) -> bool:
    """Return whether a client wants any of what words have beside the text."""
    return features.enable_word_time_offsets or features.enable_word_confidence


class Formatter(Generic[_Alternative]):
    """Writes the results of one stream; of a word that is the same as in the result before nothing is written again."""

    def __init__(self, kind: type[_Alternative], features: _WordFeatures) -> None:
        self._kind: type[_Alternative] = kind
        self._features = features
        self._with_words = words_wanted(features)
        self._written: list[tuple[tuple[Word, ...], _Alternative]] = []

    def write(self, hypotheses: Sequence[Hypothesis]) -> list[_Alternative]:
        """Return the alternatives, valid until the next call."""
        known = [*self._written, *(((), self._kind()) for _ in hypotheses)]
        self._written = []
        for hypothesis, (words, alternative) in zip(hypotheses, known, strict=False):
            alternative.transcript = hypothesis.text
            alternative.confidence = hypothesis.confidence
            if self._with_words:
                self._write_words(hypothesis.words, words, alternative)
            self._written.append((hypothesis.words, alternative))
        return [alternative for _, alternative in self._written]

    def _write_words(self, words: Sequence[Word], before: Sequence[Word], alternative: _Alternative) -> None:
        infos = alternative.words
        del infos[len(words) :]
        for i, word in enumerate(words):
            if i >= len(before) or word is not before[i]:
                self._write_word(word, infos[i] if i < len(infos) else infos.add())

    def _write_word(self, word: Word, info: own.WordInfo | google.WordInfo) -> None:
        info.word = word.word
        if self._features.enable_word_time_offsets:
            info.start_offset.CopyFrom(duration(word.start_s))
            info.end_offset.CopyFrom(duration(word.end_s))
        if self._features.enable_word_confidence:
            info.confidence = word.confidence
