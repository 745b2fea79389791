"""The results of streams, as a client has them, and those of a recording's pieces joined."""

from collections.abc import Sequence
from dataclasses import dataclass

from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["RecognizedWord", "StreamEvent", "StreamedTranscript", "join_alternatives", "join_events", "read_event"]


@dataclass(frozen=True, slots=True)
class RecognizedWord:
    """A word of a result, where it was spoken (seconds from the start of the audio), and its confidence in [0, 1]."""

    word: str
    start_s: float
    end_s: float
    confidence: float


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A result as it arrived.

    alternatives: transcripts with their confidence, best first; `text` and `words` are the best's.
    """

    arrival_s: float
    is_final: bool
    text: str
    words: tuple[RecognizedWord, ...]
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class StreamedTranscript:
    """The transcript of one recording; of a long one, those of its pieces joined.

    audio_s: length of the recording. audio_end_s: when its last sample was spoken (paced) or sent (not paced).
    final_s: when the last final result arrived. events: all results, the final one of each stream its last.
    """

    text: str
    words: tuple[RecognizedWord, ...]
    alternatives: tuple[tuple[str, float], ...]
    events: tuple[StreamEvent, ...]
    model: str
    audio_s: float
    audio_end_s: float
    final_s: float


def read_event(response: pb.StreamingRecognizeResponse, arrival_s: float, begin_s: float = 0.0) -> StreamEvent:
    """Parse a response that arrived at `arrival_s`; begin_s: where its stream begins in the audio."""
    result = response.results[0]
    best = result.alternatives[0]
    words = tuple(
        RecognizedWord(
            word.word,
            begin_s + word.start_offset.ToMicroseconds() / 1e6,
            begin_s + word.end_offset.ToMicroseconds() / 1e6,
            word.confidence,
        )
        for word in best.words
    )
    alternatives = tuple((alternative.transcript, alternative.confidence) for alternative in result.alternatives)
    return StreamEvent(arrival_s, result.is_final, best.transcript, words, alternatives)


def join_events(events: Sequence[StreamEvent], model: str, audio_s: float, audio_end_s: float) -> StreamedTranscript:
    """Return the transcript of a recording, of all its results, the last one final; see StreamedTranscript."""
    finals = [event for event in events if event.is_final]
    alternatives = join_alternatives([event.alternatives for event in finals])
    words = tuple(word for event in finals for word in event.words)
    text, _ = alternatives[0]
    return StreamedTranscript(
        text, words, alternatives, tuple(events), model, audio_s, audio_end_s, events[-1].arrival_s
    )


def join_alternatives(pieces: Sequence[Sequence[tuple[str, float]]]) -> tuple[tuple[str, float], ...]:
    """Return the most probable transcripts of a whole, whose pieces are independent: as many as the longest list has.

    pieces: transcripts and confidences of each, best first; at least one piece.
    """
    most = max(map(len, pieces))
    joined = list(pieces[0])
    for piece in pieces[1:]:
        every = [(" ".join(filter(None, (a, b))), p * q) for a, p in joined for b, q in piece]
        joined = sorted(every, key=lambda one: -one[1])[:most]
    return tuple(joined)
