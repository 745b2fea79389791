"""The results of streams, as a client has them, and those of a recording's pieces joined."""

from collections.abc import Sequence
from dataclasses import dataclass

from sonorant.v1 import recognizer_pb2 as pb

__all__ = [
    "Alternative",
    "RecognizedWord",
    "StreamEvent",
    "StreamedTranscript",
    "join_alternatives",
    "join_events",
    "read_event",
]


@dataclass(frozen=True, slots=True)
class RecognizedWord:
    """A word of a result, where it was spoken (seconds from the start of the audio), and its confidence in [0, 1]."""

    word: str
    start_s: float
    end_s: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the N best transcripts, with its confidence in [0, 1]."""

    text: str
    confidence: float
    words: tuple[RecognizedWord, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A result as it arrived.

    alternatives: best first; `text` and `words` are the best's.
    """

    arrival_s: float
    is_final: bool
    text: str
    words: tuple[RecognizedWord, ...]
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class StreamedTranscript:
    """The transcript of one recording; of a long one, those of its pieces joined.

    audio_s: length of the recording. audio_end_s: when its last sample was spoken (paced) or sent (not paced).
    final_s: when the last final result arrived. events: all results, the final one of each stream its last.
    """

    text: str
    words: tuple[RecognizedWord, ...]
    alternatives: tuple[Alternative, ...]
    events: tuple[StreamEvent, ...]
    model: str
    audio_s: float
    audio_end_s: float
    final_s: float


def read_event(response: pb.StreamingRecognizeResponse, arrival_s: float, begin_s: float = 0.0) -> StreamEvent:
    """Parse a response that arrived at `arrival_s`; begin_s: where its stream begins in the audio."""
    result = response.results[0]
    alternatives = tuple(
        Alternative(one.transcript, one.confidence, tuple(_read_word(word, begin_s) for word in one.words))
        for one in result.alternatives
    )
    best = alternatives[0]
    return StreamEvent(arrival_s, result.is_final, best.text, best.words, alternatives)


def _read_word(word: pb.WordInfo, begin_s: float) -> RecognizedWord:
    start_s, end_s = (offset.ToMicroseconds() / 1e6 for offset in (word.start_offset, word.end_offset))
    return RecognizedWord(word.word, begin_s + start_s, begin_s + end_s, word.confidence)


def join_events(events: Sequence[StreamEvent], model: str, audio_s: float, audio_end_s: float) -> StreamedTranscript:
    """Return the transcript of a recording, of all its results, the last one final; see StreamedTranscript."""
    finals = [event for event in events if event.is_final]
    alternatives = join_alternatives([event.alternatives for event in finals])
    best = alternatives[0]
    return StreamedTranscript(
        best.text, best.words, alternatives, tuple(events), model, audio_s, audio_end_s, events[-1].arrival_s
    )


def join_alternatives(pieces: Sequence[Sequence[Alternative]]) -> tuple[Alternative, ...]:
    """Return the most probable transcripts of a whole, whose pieces are independent: as many as the longest list has.

    pieces: the alternatives of each, best first; at least one piece.
    """
    most = max(map(len, pieces))
    joined = list(pieces[0])
    for piece in pieces[1:]:
        every = [
            Alternative(" ".join(filter(None, (a.text, b.text))), a.confidence * b.confidence, a.words + b.words)
            for a in joined
            for b in piece
        ]
        joined = sorted(every, key=lambda one: -one.confidence)[:most]
    return tuple(joined)
