import asyncio

import grpc
import numpy as np
import pytest
from rigs.babble import RATE_HZ
from rigs.encoded import MAKERS, encoded
from rigs.recognizer import AUDIO, SPEECH, audio, last, opening, recognizer

from services.recognizer_client.client import connect
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

_NUMBERS = pb.ExplicitDecodingConfig.AudioEncoding
_OPUS_HZ = 48_000


def _file(encoding):
    if encoding.endswith("OPUS"):
        return encoded(encoding, np.repeat(SPEECH, _OPUS_HZ // RATE_HZ), _OPUS_HZ)
    return encoded(encoding, np.stack([SPEECH, SPEECH], axis=1), RATE_HZ)


def _heard(model, encoding, file):
    """The transcript of all its samples at once."""
    decoder = open_decoder(AudioFormat(encoding), RATE_HZ, 60.0)
    samples = np.concatenate([decoder.push(file), decoder.finish()])
    session = Session(model, SessionOptions())
    session.push((samples * 32768).astype("<i2").tobytes())
    return session.finish()[-1].alternatives[0].text


async def _streamed(channel, encoding, file, size):
    chunks = [audio(file[at : at + size]) for at in range(0, len(file), size)]
    call = connect(channel).StreamingRecognize(iter([opening(encoding=_NUMBERS.Value(encoding)), *chunks]))
    responses = [response async for response in call]
    return responses[-1].results[0].alternatives[0].transcript


@pytest.mark.parametrize("encoding", sorted(MAKERS))
def test_a_stream_and_a_request_in_each_container_have_the_transcript_of_its_samples(store, encoding):
    file = _file(encoding)

    async def run():
        async with recognizer(store) as (_, channel):
            config = pb.RecognitionConfig(explicit_decoding_config={"encoding": "AUTO"})
            whole = await connect(channel).Recognize(pb.RecognizeRequest(config=config, content=file))
            return await _streamed(channel, encoding, file, 999), whole

    streamed, whole = asyncio.run(run())
    assert streamed == whole.results[0].alternatives[0].transcript
    assert whole.metadata.total_billed_duration.ToMilliseconds() == pytest.approx(2000, abs=150)
    if encoding in ("WAV", "FLAC"):  # which lose nothing
        assert streamed == _heard(store.get(), "LINEAR16", AUDIO)


def test_a_compressed_recording_beyond_the_limit_has_its_result_and_is_refused_as_a_whole(store):
    file = encoded("FLAC", np.zeros(40 * RATE_HZ, np.float32), RATE_HZ)
    assert len(file) < 40_000

    async def run():
        async with recognizer(store, max_stream_seconds=2.0) as (_, channel):
            stub = connect(channel)
            call = stub.StreamingRecognize(iter([opening(encoding=pb.ExplicitDecodingConfig.FLAC), audio(file)]))
            final = await last(call)
            config = pb.RecognitionConfig(explicit_decoding_config={"encoding": "FLAC"})
            with pytest.raises(grpc.aio.AioRpcError) as whole:
                await stub.Recognize(pb.RecognizeRequest(config=config, content=file))
            return final, await call.code(), whole.value.code()

    final, streamed, whole = asyncio.run(run())
    assert (streamed, whole) == (grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.OUT_OF_RANGE)
    assert final.end_reason == pb.END_REASON_LENGTH_LIMIT
    assert final.results[0].result_end_offset.ToMilliseconds() == 2000
