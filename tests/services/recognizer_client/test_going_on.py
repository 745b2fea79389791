"""A client whose streams the recognizer ends goes on, with no audio lost or recognized twice."""

import asyncio

import numpy as np
import pytest
from rigs.babble import RATE_HZ, murmur
from rigs.recognizer import recognizer

from services.recognizer_client.client import ask_model, connect, pcm16, stream_recording
from services.recognizer_client.transcript import Alternative, join_alternatives
from sonorant.serving import steps
from sonorant.serving.session import Session, SessionOptions
from sonorant.v1 import recognizer_pb2 as pb

PIECES = [murmur(1.0, seed=seed) for seed in (3, 4, 5)]
PAUSE = np.zeros(RATE_HZ // 2, np.float32)
LONG = np.concatenate([PIECES[0], PAUSE, PIECES[1], PAUSE, PIECES[2]])
CUTS = [round(1.25 * RATE_HZ), round(2.75 * RATE_HZ), len(LONG)]
LIMIT = round(1.6 * RATE_HZ)


def alone(store, samples, known):
    """Text, and words with their times, of pieces of which each is a stream of its own.

    known: whether they end in pauses; else each is the limit long, and the next one begins where its last word does.
    """
    texts, words, begin = [], [], 0
    while begin < len(samples):
        end = next(cut for cut in CUTS if cut > begin) if known else min(begin + LIMIT, len(samples))
        session = Session(store.get(), SessionOptions())
        session.push(pcm16(samples[begin:end]))
        suspended = not known and end < len(samples)
        last = steps.alone(session.suspend_steps(LIMIT / 2 / RATE_HZ) if suspended else session.finish_steps())[-1]
        best = last.alternatives[0]
        texts.append(best.text)
        words += [(word.word, pytest.approx(begin / RATE_HZ + word.start_s, abs=1e-3)) for word in best.words]
        begin = begin + round(last.end_s * RATE_HZ) if suspended else end
    return " ".join(filter(None, texts)), words


def streamed(store, known, **options):
    limit_s = LIMIT / RATE_HZ

    async def run():
        async with recognizer(store, max_stream_seconds=limit_s) as (_, channel):
            stub = connect(channel)
            info = await ask_model(stub)
            assert info.max_stream_s == limit_s
            told = limit_s if known else 0.0
            return await stream_recording(stub, LONG, RATE_HZ, max_stream_s=told, **options)

    return asyncio.run(run())


@pytest.mark.parametrize("chunk_ms", [30.0, 700.0])
@pytest.mark.parametrize("known", [True, False])
def test_a_recording_beyond_the_limit_is_the_transcripts_of_its_pieces(store, known, chunk_ms):
    found = streamed(store, known, chunk_ms=chunk_ms)
    assert (found.text, [(word.word, word.start_s) for word in found.words]) == alone(store, LONG, known)
    assert found.audio_s == len(LONG) / RATE_HZ


def test_alternatives_of_pieces_are_joined_most_probable_first(store):
    features = pb.RecognitionFeatures(max_alternatives=3, enable_word_time_offsets=True)
    found = streamed(store, True, config=pb.RecognitionConfig(features=features))
    assert len(found.alternatives) == 3
    assert (found.alternatives[0].text, found.alternatives[0].words) == (found.text, found.words)
    for one in found.alternatives:
        assert " ".join(word.word for word in one.words) == one.text
        assert [word.start_s for word in one.words] == sorted(word.start_s for word in one.words)
    pieces = [[("a", 0.6), ("b", 0.4)], [("", 1.0)], [("c", 0.7), ("d", 0.3)]]
    joined = join_alternatives([[Alternative(*one) for one in piece] for piece in pieces])
    assert [one.text for one in joined] == ["a c", "b c"]
    assert [one.confidence for one in joined] == pytest.approx([0.42, 0.28])
