import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.corpus.tfrecord import FOOTER_BYTES, HEADER_BYTES, frame, header_length, unframe


@given(st.binary(max_size=2000))
def test_unframing_gives_the_data_back(data: bytes) -> None:
    framed = frame(data)
    assert unframe(framed) == data
    assert header_length(framed[:HEADER_BYTES]) == len(data) == len(framed) - HEADER_BYTES - FOOTER_BYTES


@given(st.binary(min_size=1, max_size=300), st.data())
def test_any_flipped_bit_is_noticed(data: bytes, draw: st.DataObject) -> None:
    framed = bytearray(frame(data))
    position = draw.draw(st.integers(0, len(framed) - 1))
    framed[position] ^= 1 << draw.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match=r"CRC of its (length|data) does not match"):
        unframe(bytes(framed))


def test_record_that_is_cut_short_says_how_long_it_should_be() -> None:
    with pytest.raises(ValueError, match="it has 18 bytes, and its header states 19"):
        unframe(frame(b"abc")[:-1])


def test_masked_crc_is_that_of_the_standard() -> None:
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720, B.4), masked by rotation and an offset.
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert frame(b"123456789")[-4:] == struct.pack("<I", masked)
