"""Messages on a link: what is sent comes out, and nothing else gets in."""

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.links.wire import (
    BadMessage,
    Kind,
    decode_counts,
    decode_examples,
    decode_header,
    encode_example,
    encode_header,
    join_examples,
)

_UINT32 = st.integers(0, 2**32 - 1)
_SIZES = struct.Struct("<QI4x").pack
_FLOATS = st.floats(width=32)


@st.composite
def _examples(draw):
    array = draw(
        hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=_FLOATS)
    )
    content = draw(st.sampled_from(["waveform", "features", "mono", "text"]))
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
        waveform={"waveform": array, "mono": array.reshape(-1)}.get(content),
        features=array if content == "features" else None,
    )


def _bits(array):
    return None if array is None else (array.shape, array.dtype, array.tobytes())


def _received(message):
    """Return the examples of a message as its receiver decodes them."""
    return decode_examples(memoryview(message), decode_counts(decode_header(message).number)[0])


@given(st.lists(_examples(), min_size=1, max_size=4), st.integers(0, 2**40))
def test_examples_come_out_as_they_went_in(examples, waiting):
    message = join_examples([encode_example(example) for example in examples], waiting)
    kind, number = decode_header(message)
    assert kind is Kind.EXAMPLES
    assert decode_counts(number) == (len(examples), min(waiting, 2**24 - 1))
    carried = _received(bytes(message))
    assert len(carried) == len(examples)
    for example, back in zip(examples, carried, strict=True):
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
    again = encode_header(kind, number)
    assert (frame[0], frame[4:8]) == (again[0], again[4:])
    assert kind in (Kind.EXAMPLES, Kind.HELLO) or len(frame) == 8


@pytest.mark.parametrize("kind", sorted(set(Kind) - {Kind.EXAMPLES, Kind.HELLO}))
def test_what_is_a_header_alone_may_not_be_longer(kind):
    with pytest.raises(BadMessage, match=f"{kind.name} of 9 bytes: must have 8"):
        decode_header(encode_header(kind) + b"!")


@given(
    st.integers(0, 9),
    st.lists(st.binary(max_size=200) | st.builds(_SIZES, st.integers(0, 99), st.integers(0, 99)), max_size=4),
)
def test_a_garbage_message_is_examples_or_a_bad_message(number, parts):
    with contextlib.suppress(BadMessage):
        message = memoryview(encode_header(Kind.EXAMPLES, number) + b"".join(parts))
        assert len(_received(message)) == number


@given(st.lists(_examples(), min_size=1, max_size=3), st.data())
def test_a_flipped_byte_or_a_cut_never_gives_an_array_from_beyond_the_message(examples, data):
    message = bytearray(join_examples([encode_example(example) for example in examples], waiting=0))
    message[data.draw(st.integers(0, len(message) - 1))] ^= data.draw(st.integers(1, 255))
    message = message[: data.draw(st.integers(8, len(message)))]
    try:
        carried = _received(message)
    except BadMessage:
        return
    contents = [array for e in carried for array in (e.waveform, e.features) if array is not None]
    assert sum(content.nbytes for content in contents) <= len(message)


def _example(**changes):
    parts = {"lineage": Lineage(0, 0, 0), "utterance": "u", "text": "", "sample_rate_hz": 8000, "duration_s": 1.0}
    return Example(**parts | changes)


def _placed(message, shift):
    """Return a copy that lies `shift` bytes behind a multiple of 16."""
    room = np.empty(len(message) + 32, np.uint8)
    start = -room.__array_interface__["data"][0] % 16 + shift
    room[start : start + len(message)] = np.frombuffer(message, np.uint8)
    return room[start : start + len(message)]


def test_a_message_that_lies_as_zeromq_places_it_is_not_copied():
    message = _placed(encode_example(_example(waveform=np.ones(50_000, np.float32))), 40 % 16)
    assert np.shares_memory(_received(message.data)[0].waveform, message)


def test_a_single_message_is_not_copied_when_it_is_sent():
    message = encode_example(_example(waveform=np.ones(9, np.float32)))
    assert join_examples([message], waiting=1) is message


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 15))
def test_received_arrays_are_aligned_as_numpy_aligns_its_own(sizes, shift):
    messages = [encode_example(_example(waveform=np.full(size, size, np.float32))) for size in sizes]
    received = _placed(join_examples(messages, waiting=0), shift)
    for size, example in zip(sizes, _received(received.data), strict=True):
        assert example.waveform.__array_interface__["data"][0] % 16 == 0
        np.testing.assert_array_equal(example.waveform, np.full(size, size))


def test_a_received_array_is_read_only():
    message = bytearray(encode_example(_example(waveform=np.zeros(4, np.float32))))
    assert not _received(message)[0].waveform.flags.writeable


@pytest.mark.parametrize(
    "content",
    [
        {"waveform": np.zeros(2, np.float32), "features": np.zeros((1, 2), np.float32)},
        {"waveform": np.zeros(2, np.float64)},
    ],
    ids=["both", "float64"],
)
def test_an_example_with_two_arrays_or_one_of_another_type_is_not_sent(content):
    with pytest.raises(BadMessage):
        encode_example(_example(**content))
