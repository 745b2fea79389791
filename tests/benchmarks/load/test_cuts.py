from contextlib import contextmanager

import pytest
from rigs.babble import RATE_HZ
from rigs.recognizer_thread import recognizer_on_a_thread
from rigs.tones import spoken, tone_store

from benchmarks.load.cuts import cuts
from benchmarks.load.experiment import Conditions, NotOurServer, Results
from benchmarks.load.models import Model
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from services.recognizer_client.client import pcm16

SPOKEN = [spoken(count, seed=count) for count in (3, 4, 5, 6)]
RECORDINGS = [Recording(pcm16(samples), RATE_HZ, 0.5) for samples, _ in SPOKEN]


def rows(serve, publish):
    conditions = Conditions(serve, [Model("tones", "tones")], RECORDINGS, (), 1.0, 300.0, publish, {})
    return list(cuts(conditions, Results("cuts", 300.0), lambda name: None))


def test_no_word_differs_where_a_stream_goes_on_by_its_token_and_some_do_without(tmp_path):
    store = tone_store(tmp_path, 1)

    @contextmanager
    def serve(**serving):
        with recognizer_on_a_thread(store, **serving) as (_, _, address):
            yield Target(address, None, [], [])

    words, differ = rows(serve, publish=lambda: None)
    assert words.value == sum(len(words) for _, words in SPOKEN)
    assert differ.value == 0
    assert differ.peer == "no token"
    assert differ.peer_value > 0


def test_a_server_that_was_there_is_left_alone():
    with pytest.raises(NotOurServer, match="leave out --server"):
        rows(None, publish=None)
