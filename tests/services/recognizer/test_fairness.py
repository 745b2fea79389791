"""A long message is work for many turns: streams beside it are not kept waiting until it is through."""

import asyncio

from rigs.babble import RATE_HZ, murmur
from rigs.recognizer import AUDIO, audio, last, opening, recognizer

from services.recognizer_client.client import connect, pcm16
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb


def test_a_stream_ends_while_anothers_long_message_is_recognized_whose_transcript_stays(store, monkeypatch):
    long = pcm16(murmur(30.0, seed=7))
    whole = Session(store.get(), SessionOptions())
    whole.push(long)
    longest, push = [], Session.push_steps

    def watched(self, content):
        longest.append(len(content))
        return push(self, content)

    monkeypatch.setattr(Session, "push_steps", watched)

    async def run():
        async with recognizer(store, threads=1) as (_, channel):
            stub = connect(channel)
            hostile = stub.StreamingRecognize(iter([opening(), audio(long)]))
            ended = asyncio.create_task(last(hostile))
            while not longest:
                await asyncio.sleep(0)
            await stub.Recognize(pb.RecognizeRequest(content=AUDIO))
            return ended.done(), (await ended).results[0].alternatives[0].transcript

    earlier, text = asyncio.run(run())
    assert not earlier
    assert max(longest) <= RATE_HZ
    assert text == whole.finish()[-1].alternatives[0].text
