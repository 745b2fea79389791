import itertools
import sys

import numpy as np
import pytest

from benchmarks.rigs.decoding import Ours, Peers, Task, log_likelihood
from benchmarks.rigs.label_decoding import label_rows, monotonic_rows
from benchmarks.rigs.neural_decoding import neural_rows
from benchmarks.rigs.spoken_text import Language


def test_the_likelihood_is_the_sum_over_all_alignments():
    scores = np.random.default_rng(1).standard_normal((5, 3))
    log_probs = (scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)).astype(np.float32)
    sums = {}
    for alignment in itertools.product(range(3), repeat=5):
        units = tuple(unit for unit, _ in itertools.groupby(alignment) if unit != 2)
        score = sum(float(row[unit]) for row, unit in zip(log_probs, alignment, strict=True))
        sums[units] = np.logaddexp(sums.get(units, -np.inf), score)
    for units, expected in sums.items():
        assert log_likelihood(log_probs, units) == pytest.approx(expected)


def test_peers_that_are_missing_are_so_by_name_and_ours_decodes_alone(tmp_path):
    language = Language(1)
    utterances = language.utterances(2)
    ours = Ours(tmp_path, language, utterances, 50)
    task = Task(8, lm=True)
    outcome = ours.decode(task)
    assert len(outcome.texts) == 2
    assert ours.score(outcome.texts, task) > ours.score(["", ""], task)
    with Peers(sys.executable, tmp_path) as peers:
        assert peers.decode("pyctcdecode", task) is None
        assert peers.decode("flashlight-text", task) is None


def test_rows_have_the_rates_of_a_neural_language_model_and_its_calls_an_utterance():
    language = Language(1)
    rows = list(neural_rows(language.units, language.utterances(2), 4))
    assert [row.unit for row in rows] == ["utterances/core-s"] * 2 + ["prefixes/utterance"]
    assert all(row.value > 0 for row in rows)


@pytest.mark.parametrize(("rows", "cases"), [(label_rows, 1), (monotonic_rows, 2)])
def test_rows_of_a_search_by_label_have_its_rate_and_its_own_share(rows, cases):
    found = list(rows(beam=3, utterances=1))
    assert len(found) == 2 * cases
    for rate, share in zip(found[::2], found[1::2], strict=True):
        assert rate.unit == "utterances/core-s"
        assert rate.value > 0
        assert 0 < share.value < 1


def test_texts_of_the_language_are_those_of_its_units():
    language = Language(2)
    for sentence in language.sentences(5):
        assert language.units.text(language.pieces(sentence)) == sentence
