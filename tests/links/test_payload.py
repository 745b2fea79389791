"""What links round: as little as half of the bytes allows, and once for all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sonorant.delivery.example import Example, Lineage
from sonorant.links.payload import as_carried
from sonorant.links.section import PayloadRecipe
from sonorant.links.wire import decode_examples, encode_example

HALF = PayloadRecipe(waveform="int16", features="float16")
_ARRAYS = hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-9, 9, width=32))


def _example(**content):
    return Example(Lineage(0, 0, 0), "u", "", 8000, 1.0, **content)


def _linked(example, payload):
    return decode_examples(encode_example(example, payload), 1)[0]


@given(_ARRAYS, st.booleans())
def test_a_link_brings_what_a_chain_in_one_process_sees_and_rounds_only_once(array, is_waveform):
    content = "waveform" if is_waveform else "features"
    example = _example(**{content: array})
    linked = _linked(example, HALF)
    for rounded in (as_carried(example, HALF), as_carried(linked, HALF), _linked(linked, HALF)):
        assert getattr(rounded, content).tobytes() == getattr(linked, content).tobytes()
        assert getattr(rounded, content).dtype == np.float32
    other = {"waveform": PayloadRecipe(features="float16"), "features": PayloadRecipe(waveform="int16")}[content]
    assert getattr(as_carried(example, other), content) is array


@pytest.mark.parametrize("content", ["waveform", "features"])
def test_half_of_the_bytes_travel(content):
    example = _example(**{content: np.zeros((8, 100), np.float32)})
    assert len(encode_example(example)) - len(encode_example(example, HALF)) == 1600


def test_what_a_16_bit_recording_holds_passes_unchanged():
    every = (np.arange(-(1 << 15), 1 << 15) / (1 << 15)).astype(np.float32)
    np.testing.assert_array_equal(as_carried(_example(waveform=every), HALF).waveform, every)


def test_samples_are_rounded_to_the_nearest_step_and_clipped():
    step = 2.0**-15
    samples = np.array([0.4, -0.6, 0.5, 1.5, 40000, -40000], np.float32) * np.float32(step)
    rounded = as_carried(_example(waveform=samples), HALF).waveform / step
    np.testing.assert_array_equal(rounded, [0, -1, 0, 2, 32767, -32768])


def test_features_are_rounded_as_ieee_says_and_never_to_infinity():
    exponents = np.random.default_rng(0).uniform(-26, 17, 20000)
    values = np.concatenate([2**exponents, [0, 65504, 65519, 65521, 1e9, 2.0**-25, 2.0**-24]]).astype(np.float32)
    values = np.concatenate([values, -values]).reshape(2, -1)
    rounded = as_carried(_example(features=values), HALF).features
    np.testing.assert_array_equal(rounded, np.clip(values, -65504, 65504).astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("payload", [PayloadRecipe(), HALF], ids=["exact", "half"])
def test_received_arrays_are_read_only(payload):
    assert not _linked(_example(waveform=np.zeros(4, np.float32)), payload).waveform.flags.writeable
