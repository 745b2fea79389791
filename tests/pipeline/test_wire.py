"""Messages on a link: what is sent comes out, and nothing else gets in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sonorant.pipeline.example import Example, Lineage, WordSpan
from sonorant.pipeline.wire import (
    BadMessage,
    Kind,
    decode_example,
    decode_header,
    encode_example,
    encode_header,
)

_UINT32 = st.integers(0, 2**32 - 1)
_FLOATS = st.floats(width=32)


@st.composite
def _examples(draw):
    array = draw(
        hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=_FLOATS)
    )
    content = draw(st.sampled_from(["waveform", "features", "mono"]))
    return Example(
        lineage=Lineage(draw(_UINT32), draw(_UINT32), draw(_UINT32)),
        utterance=draw(st.text(max_size=8)),
        text=draw(st.text(max_size=8)),
        speaker=draw(st.text(max_size=4)),
        sample_rate_hz=draw(st.integers(1, 96000)),
        duration_s=draw(st.floats(0, 1e4)),
        words=tuple(
            draw(st.lists(st.builds(WordSpan, st.text(max_size=3), st.floats(0, 9), st.floats(0, 9)), max_size=3))
        ),
        waveform={"waveform": array, "mono": array.reshape(-1), "features": None}[content],
        features=array if content == "features" else None,
    )


def _bits(array):
    return None if array is None else (array.shape, array.dtype, array.tobytes())


@given(_examples())
def test_examples_come_out_as_they_went_in(example):
    envelope, array = encode_example(example)
    back = decode_example(envelope, bytes(array))
    for name in ("lineage", "utterance", "text", "speaker", "sample_rate_hz", "duration_s", "words"):
        assert getattr(back, name) == getattr(example, name)
    assert _bits(back.waveform) == _bits(example.waveform)
    assert _bits(back.features) == _bits(example.features)


@given(st.sampled_from(Kind), _UINT32)
def test_headers_come_out_as_they_went_in(kind, number):
    assert decode_header(encode_header(kind, number)) == (kind, number)


@given(st.binary(max_size=12))
def test_a_garbage_header_is_a_header_or_a_bad_message(frame):
    try:
        kind, number = decode_header(frame)
    except BadMessage:
        return
    assert encode_header(kind, number) == frame


@given(st.binary(max_size=200), st.binary(max_size=64))
def test_garbage_frames_are_an_example_or_a_bad_message(envelope, array):
    try:
        example = decode_example(envelope, array)
    except BadMessage:
        return
    content = example.waveform if example.waveform is not None else example.features
    assert content.nbytes == len(array)


@given(_examples(), st.data())
def test_a_flipped_byte_or_a_cut_never_gives_an_array_of_another_size(example, data):
    envelope, array = encode_example(example)
    envelope = bytearray(envelope)
    envelope[data.draw(st.integers(0, len(envelope) - 1))] ^= data.draw(st.integers(1, 255))
    frame = bytes(array)[: data.draw(st.integers(0, array.nbytes))]
    try:
        back = decode_example(envelope, frame)
    except BadMessage:
        return
    content = back.waveform if back.waveform is not None else back.features
    assert content.nbytes == len(frame)


def _example(**changes):
    parts = {"lineage": Lineage(0, 0, 0), "utterance": "u", "text": "", "sample_rate_hz": 8000, "duration_s": 1.0}
    return Example(**parts | changes)


def test_large_arrays_are_neither_copied_when_sent_nor_when_received():
    waveform = np.ones(50_000, np.float32)
    envelope, frame = encode_example(_example(waveform=waveform))
    assert np.shares_memory(np.frombuffer(frame, np.float32), waveform)
    assert np.shares_memory(decode_example(envelope, frame).waveform, waveform)


def test_a_received_array_is_aligned_as_numpy_aligns_its_own():
    envelope, frame = encode_example(_example(waveform=np.arange(9, dtype=np.float32)))
    shifted = np.empty(frame.nbytes + 1, np.uint8)[1:]
    shifted[:] = np.frombuffer(frame, np.uint8)
    waveform = decode_example(envelope, shifted.data).waveform
    assert waveform.__array_interface__["data"][0] % 16 == 0
    np.testing.assert_array_equal(waveform, np.arange(9))


def test_a_received_array_is_read_only():
    envelope, frame = encode_example(_example(waveform=np.zeros(4, np.float32)))
    assert not decode_example(envelope, bytearray(frame)).waveform.flags.writeable


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"waveform": np.zeros(2, np.float32), "features": np.zeros((1, 2), np.float32)},
        {"waveform": np.zeros(2, np.float64)},
    ],
    ids=["neither", "both", "float64"],
)
def test_an_example_without_exactly_one_float32_array_is_not_sent(content):
    with pytest.raises(BadMessage):
        encode_example(_example(**content))
