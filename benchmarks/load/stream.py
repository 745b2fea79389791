"""One stream in real time: each chunk is sent when it would have been spoken, and what comes back is noted.

Latencies count from when audio was due by the set times, not from when it was sent: what a slow server, or a client
behind its time, holds back counts (no coordinated omission). All times are of `time.monotonic`, which the processes of
a machine share.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import grpc

from benchmarks.load.flicker import Flicker
from benchmarks.load.recordings import Recording
from services.recognizer_client.retrying import retry_delay_s
from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["Heard", "say"]

_SAMPLE_BYTES = 2


@dataclass(slots=True)
class Heard:
    """What a client noted of one try of a stream; latencies in seconds.

    begin_s, end_s: when its audio began and ended, by the set times. status: "OK", or a gRPC status; empty: cancelled.
    retry_s: how long a refused client was told to wait. final_s: from the end of the audio to the last final result.
    interim_s: from when the audio that the first interim result covers was due, to that result; first_s: from the
    first sound, the word included. late_s: worst delay of a chunk by this client itself. sent: when chunks were
    sent, and their seconds of audio. over_s: when the try was over.
    """

    begin_s: float
    end_s: float
    status: str = ""
    retry_s: float | None = None
    final_s: float | None = None
    interim_s: float | None = None
    first_s: float | None = None
    late_s: float = 0.0
    over_s: float = 0.0
    shown: int = 0
    changed: int = 0
    sent: list[tuple[float, float]] = field(default_factory=list)


async def say(
    stub: "recognizer_pb2_grpc.RecognizerAsyncStub", recording: Recording, model: str, begin_s: float, until_s: float
) -> Heard:
    """Stream a recording from `begin_s` on; at `until_s` it is cancelled: DEADLINE_EXCEEDED if its audio is over."""
    heard = Heard(begin_s, begin_s + recording.duration_s)
    flicker = Flicker()
    call = stub.StreamingRecognize(_requests(recording, model, heard))
    try:
        async with asyncio.timeout(until_s - time.monotonic()):
            async for response in call:
                _note(response, time.monotonic(), recording, heard, flicker)
        heard.status = "OK"
    except TimeoutError:
        if until_s > heard.end_s:
            heard.status, heard.final_s = grpc.StatusCode.DEADLINE_EXCEEDED.name, time.monotonic() - heard.end_s
    except grpc.aio.AioRpcError as error:
        heard.status, heard.retry_s = error.code().name, retry_delay_s(error)
    finally:
        call.cancel()
    heard.shown, heard.changed, heard.over_s = flicker.shown, flicker.changed, time.monotonic()
    return heard


def _note(
    response: pb.StreamingRecognizeResponse, now_s: float, recording: Recording, heard: Heard, flicker: Flicker
) -> None:
    if not response.results:
        return
    result = response.results[0]
    text = result.alternatives[0].transcript if result.alternatives else ""
    flicker.result(text, is_final=result.is_final)
    if text and heard.interim_s is None and not result.is_final:
        covered_s = response.metadata.total_billed_duration.ToMicroseconds() / 1e6
        heard.interim_s = now_s - heard.begin_s - covered_s
        heard.first_s = now_s - heard.begin_s - recording.onset_s
    if result.is_final:
        heard.final_s = now_s - heard.end_s


async def _requests(recording: Recording, model: str, heard: Heard) -> AsyncIterator[pb.StreamingRecognizeRequest]:
    config = pb.RecognitionConfig(model=model)
    config.explicit_decoding_config.encoding = pb.ExplicitDecodingConfig.LINEAR16
    config.explicit_decoding_config.sample_rate_hertz = recording.rate_hz
    wanted = pb.StreamingRecognitionFeatures(interim_results=True)
    yield pb.StreamingRecognizeRequest(
        streaming_config=pb.StreamingRecognitionConfig(config=config, streaming_features=wanted)
    )
    size = round(recording.chunk_s * recording.rate_hz) * _SAMPLE_BYTES
    for at in range(0, len(recording.audio), size):
        chunk = recording.audio[at : at + size]
        due_s = heard.begin_s + (at + len(chunk)) / _SAMPLE_BYTES / recording.rate_hz
        if (wait_s := due_s - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
            heard.late_s = max(heard.late_s, time.monotonic() - due_s)
        heard.sent.append((time.monotonic(), len(chunk) / _SAMPLE_BYTES / recording.rate_hz))
        yield pb.StreamingRecognizeRequest(audio=chunk)
