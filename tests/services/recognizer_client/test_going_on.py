"""A client whose streams the recognizer ends goes on, with no audio lost or sent twice."""

import asyncio
import itertools

import numpy as np
import pytest
from rigs.babble import RATE_HZ, murmur
from rigs.recognizer import recognizer

from services.recognizer.server import RecognizerServer
from services.recognizer_client.client import ask_model, connect, open_recognizer, pcm16, stream_recording
from services.recognizer_client.transcript import join_alternatives
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

PIECES = [murmur(1.0, seed=seed) for seed in (3, 4, 5)]
PAUSE = np.zeros(RATE_HZ // 2, np.float32)
LONG = np.concatenate([PIECES[0], PAUSE, PIECES[1], PAUSE, PIECES[2]])


def alone(store, samples, cuts):
    """Text, and words with their times, of pieces of which each is a stream of its own."""
    texts, words = [], []
    for begin, end in itertools.pairwise([0, *cuts, len(samples)]):
        session = Session(store.get(), SessionOptions())
        session.push(pcm16(samples[begin:end]))
        best = session.finish()[-1].alternatives[0]
        texts.append(best.text)
        words += [(word.word, pytest.approx(begin / RATE_HZ + word.start_s, abs=1e-3)) for word in best.words]
    return " ".join(filter(None, texts)), words


def streamed(store, limit_s, known, **options):
    async def run():
        async with recognizer(store, max_stream_seconds=limit_s) as (_, channel):
            stub = connect(channel)
            info = await ask_model(stub)
            assert info.max_stream_s == limit_s
            told = limit_s if known else 0.0
            return await stream_recording(stub, LONG, RATE_HZ, max_stream_s=told, **options)

    return asyncio.run(run())


def cuts_of(known):
    if known:
        return [round(1.25 * RATE_HZ), round(2.75 * RATE_HZ)]
    return [round(limit * 1.6 * RATE_HZ) for limit in (1, 2)]


@pytest.mark.parametrize("chunk_ms", [30.0, 700.0])
@pytest.mark.parametrize("known", [True, False])
def test_a_recording_beyond_the_limit_is_the_transcripts_of_its_pieces(store, known, chunk_ms):
    found = streamed(store, 1.6, known, chunk_ms=chunk_ms)
    cuts = cuts_of(known)
    assert (found.text, [(word.word, word.start_s) for word in found.words]) == alone(store, LONG, cuts)
    assert found.audio_s == len(LONG) / RATE_HZ


def test_alternatives_of_pieces_are_joined_most_probable_first(store):
    features = pb.RecognitionFeatures(max_alternatives=3)
    found = streamed(store, 1.6, True, config=pb.RecognitionConfig(features=features))
    assert len(found.alternatives) == 3
    assert found.alternatives[0][0] == found.text
    joined = join_alternatives([[("a", 0.6), ("b", 0.4)], [("", 1.0)], [("c", 0.7), ("d", 0.3)]])
    assert joined == (("a c", pytest.approx(0.42)), ("b c", pytest.approx(0.28)))


def test_a_drain_in_the_middle_of_a_recording_loses_nothing(store, monkeypatch):
    heard, finish = [], Session.finish_steps

    def watched(self):
        heard.append(round(self.audio_s * RATE_HZ))
        return finish(self)

    monkeypatch.setattr(Session, "finish_steps", watched)

    async def run():
        old, new = (RecognizerServer(store, ServingRecipe(port=0)) for _ in range(2))
        addresses = [f"127.0.0.1:{await server.start()}" for server in (old, new)]
        async with asyncio.timeout(60), open_recognizer(f"ipv4:{','.join(addresses)}") as channel:
            stream = asyncio.create_task(stream_recording(connect(channel), LONG, RATE_HZ, paced=True))
            while not old.engine.admission.active + new.engine.admission.active:
                await asyncio.sleep(0.01)
            first = old if old.engine.admission.active else new
            await asyncio.sleep(0.5)
            going = asyncio.create_task(first.stop(1.0))
            found = await stream
            await going
        for server in (old, new):
            if server is not first:
                await server.stop(0)
        return found

    found = asyncio.run(run())
    monkeypatch.undo()
    assert sum(heard) == len(LONG)
    assert (found.text, [(word.word, word.start_s) for word in found.words]) == alone(store, LONG, heard[:1])
