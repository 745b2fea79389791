"""Stream test sets to a recognizer by several clients at once; notes results and, where paced as speech, latencies."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field

import grpc

from services.evaluation.test_sets import Reference
from services.recognizer_client.client import (
    StreamedTranscript,
    Waits,
    ask_model,
    connect,
    open_recognizer,
    stream_recording,
)
from services.recognizer_client.recordings import read_recording
from sonorant.errors import Unavailable

__all__ = ["Outcome", "stream_all"]

_PATIENCE_S = 600.0  # a set is not given up because other work slows its recognizer down


@dataclass(frozen=True, slots=True)
class Outcome:
    """The recognition of one recording of a test set.

    first_interim_ms: from the end of the last word that the first interim result shows, by the corpus' alignment, to
    the arrival of that result; None without an interim result or an alignment, and unpaced.
    final_ms: from the end of the audio to the arrival of the final result; None unpaced.
    """

    utterance: str
    reference: str
    hypothesis: str
    audio_s: float
    first_interim_ms: float | None
    final_ms: float | None
    words: list[dict[str, object]] = field(default_factory=list)
    speaker: str = ""


async def stream_all(
    address: str,
    references: Sequence[Reference],
    clients: int,
    done: Callable[[], None],
    *,
    paced: bool = True,
    waits: Waits = lambda *_: nullcontext(),
) -> tuple[str, list[Outcome]]:
    """Stream all recordings, `clients` at once; return the model's name and the outcomes in order.

    done: called after each recording. paced: in real time; else as fast as the recognizer reads them. waits: see
    `stream_audio`. Raises Unavailable when the recognizer is lost.
    """
    waiting = asyncio.Semaphore(clients)
    try:
        async with open_recognizer(address) as channel:
            stub = connect(channel)
            info = await ask_model(stub)

            async def one(reference: Reference) -> Outcome:
                async with waiting:
                    samples = await asyncio.to_thread(read_recording, reference.recording, info.sample_rate_hz)
                    transcript = await stream_recording(
                        stub,
                        samples,
                        info.sample_rate_hz,
                        paced=paced,
                        max_stream_s=info.max_stream_s,
                        patience_s=_PATIENCE_S,
                        waits=waits,
                    )
                    done()
                    return _outcome(reference, transcript, paced)

            return info.model, list(await asyncio.gather(*(one(reference) for reference in references)))
    except grpc.aio.AioRpcError as error:
        raise Unavailable(f"recognizer at {address}: {error.code().name}: {error.details()}") from error


def _outcome(reference: Reference, transcript: StreamedTranscript, paced: bool) -> Outcome:
    return Outcome(
        utterance=reference.utterance,
        reference=reference.text,
        hypothesis=transcript.text,
        audio_s=transcript.audio_s,
        first_interim_ms=_first_interim_ms(reference, transcript) if paced else None,
        final_ms=1000 * (transcript.final_s - transcript.audio_end_s) if paced else None,
        words=[asdict(word) for word in transcript.words],
        speaker=reference.speaker,
    )


def _first_interim_ms(reference: Reference, transcript: StreamedTranscript) -> float | None:
    """Time from the end of the speech that the first result shows to its arrival.

    The recognizer's time of the last word shown gives the word of the reference, not its number: deletions and
    insertions must not shift the rest.
    """
    first = next((event for event in transcript.events if event.words), None)
    if first is None or not reference.words:
        return None
    shown_s = (first.words[-1].start_s + first.words[-1].end_s) / 2
    spoken = min(reference.words, key=lambda word: max(word.start_s - shown_s, shown_s - word.end_s))
    return 1000 * (first.arrival_s - spoken.end_s)
