"""Streams that have said a recording and say no more."""

import asyncio
from typing import Any

import grpc

from benchmarks.load.recordings import Recording
from benchmarks.load.stream_end import STREAM_ENDED, stream_error
from services.recognizer_client.client import connect
from sonorant.errors import Unavailable
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["open_stream"]

_OPEN_S = 60.0


async def open_stream(
    channel: grpc.aio.Channel, recording: Recording, model: str
) -> "grpc.aio.StreamStreamCall[Any, Any]":
    """Return a stream that has had a recording, and noticed its speech; raises Unavailable with the status."""
    call = connect(channel).StreamingRecognize()
    config = pb.RecognitionConfig(model=model)
    config.explicit_decoding_config.sample_rate_hertz = recording.rate_hz
    wanted = pb.StreamingRecognitionFeatures(enable_voice_activity_events=True)
    opening = pb.StreamingRecognitionConfig(config=config, streaming_features=wanted)
    try:
        async with asyncio.timeout(_OPEN_S):
            await call.write(pb.StreamingRecognizeRequest(streaming_config=opening))
            await call.write(pb.StreamingRecognizeRequest(audio=recording.audio))
            await call.read()  # that speech has begun
    except TimeoutError:
        call.cancel()
        raise Unavailable(f"a stream: no answer within {_OPEN_S:.0f} s") from None
    except STREAM_ENDED:
        raise await stream_error(call) from None
    return call
