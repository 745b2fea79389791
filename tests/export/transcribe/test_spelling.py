"""Texts in the graph, against those of `Units`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.export.transcribe.beam_search import Beam
from sonorant.export.transcribe.spelling import TensorSpelling
from sonorant.tensorflow import graph_function, tf
from sonorant.text.units import Units

KINDS = {
    "words": Units("words", ("one", "two", "été")),
    "characters": Units("characters", (" ", "a", "é", "'")),
    "pieces": Units("bpe", ("\u2581", "\u2581he", "llo", "\u2581é", "a"), b"a model"),
    "jamo": Units(
        "characters", (" ", "\u1100", "\u1112", "\u1161", "\u1175", "\u11a8", "\u11c2", "a", "가"), jamo=True
    ),
}
SIGNATURE = [tf.TensorSpec([None, None, None], tf.int32), tf.TensorSpec([None, None], tf.float64)]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    units = KINDS[request.param]
    best = graph_function(lambda ids, masses: TensorSpelling(units).best(Beam(ids, masses)), SIGNATURE)
    return units, best


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_text_is_that_of_the_units(kind, data):
    units, best = kind
    paths = data.draw(st.lists(st.lists(st.integers(-1, units.size - 1), max_size=12), min_size=1, max_size=4))
    ids = np.full((len(paths), 1, 12), -1, np.int32)
    for row, path in zip(ids[:, 0], paths, strict=True):
        row[: len(path)] = path
    texts, _ = best(ids, np.ones((len(paths), 1)))
    expected = [units.text([unit for unit in path if unit >= 0]) for path in paths]
    assert [text.decode() for text in texts.numpy()] == expected


def test_prefixes_that_spell_the_same_are_one_text():
    units = KINDS["characters"]
    spelling = TensorSpelling(units)
    paths = [[[2, -1, -1], [1, 0, -1], [-1, 0, 1]], [[1, -1, -1], [2, -1, -1], [3, -1, -1]]]
    masses = [[0.4, 0.3, 0.3], [0.25, 0.5, 0.25]]
    texts, sure = spelling.best(Beam(tf.constant(paths, tf.int32), tf.constant(masses, tf.float64)))
    assert [text.decode() for text in texts.numpy()] == ["a", "é"]
    np.testing.assert_allclose(sure, [0.6, 0.5])
