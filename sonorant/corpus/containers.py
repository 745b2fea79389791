"""Whether a recording is whole: the size by its container, compared with the file's.

libsndfile reads a file that was cut short as if it ended there. Containers mark their end in different ways:

- chunks with sizes: WAV (RIFF, RIFX, RF64, BW64), W64, AIFF and 8SVX (IFF), CAF. A program that writes into a pipe
  does not have them and writes 0 or the largest number; such a file ends where it ends.
- a header with the size of the samples: AU, and NIST SPHERE.
- pages of which the last of each logical bitstream is marked: Ogg (RFC 3533, section 6), with Vorbis, Opus or FLAC.
- frames with sizes: MP3; a cut exactly between two is not detected unless the first frame counts them, as
  then libsndfile finds too few samples. Without that count libsndfile estimates the samples from the file's size, tags
  included; `mp3_samples` has the number.
- FLAC counts its samples, and decoding finds too few.

Other formats of libsndfile have no such mark, or are no formats of speech; they are not in `VERIFIABLE`.
"""

import os
import re
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["VERIFIABLE", "is_mp3", "mp3_samples", "shortfall"]

VERIFIABLE = frozenset({"WAV", "WAVEX", "RF64", "W64", "AIFF", "SVX", "CAF", "AU", "NIST", "OGG", "FLAC", "MP3"})
"""libsndfile's names of the formats whose files can be verified to be whole."""

_HEAD_BYTES = 1024
_W64_RIFF = bytes.fromhex("726966662E91CF11A5D628DB04C10000")
_W64_DATA = bytes.fromhex("64617461F3ACD3118CD100C04F8EDB8A")

_NIST_FIELD = re.compile(rb"^(sample_count|channel_count|sample_n_bytes) -(?:i|s\d) (\d{1,18})\s*$", re.MULTILINE)

_OGG_PAGE = struct.Struct("<4sxB8xI8xB")  # capture pattern, flags, serial number, number of segments
_OGG_LAST = 4

_MP3_KBIT_S = {  # by MPEG version 1 or later, and layer
    (True, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_MP3_COUNTS = (b"Xing", b"Info", b"VBRI")  # what the first frame holds instead of sound if it counts the others
_MP3_RATES_HZ = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


class _Chunks(NamedTuple):
    """How a container lays out its chunks."""

    first: int  # where the first one begins
    head: struct.Struct  # id and size
    audio: bytes  # id of the chunk that holds the samples
    align: int = 2
    counted: int = 0  # bytes of its head that a chunk's size counts


class _Mp3Frame(NamedTuple):
    """A frame of MPEG audio: its bytes, and its samples of a channel."""

    size: int
    samples: int


_RIFF = _Chunks(12, struct.Struct("<4sI"), b"data")
_RIFX = _Chunks(12, struct.Struct(">4sI"), b"data")
_W64 = _Chunks(40, struct.Struct("<16sQ"), _W64_DATA, align=8, counted=24)
_AIFF = _Chunks(12, struct.Struct(">4sI"), b"SSND")
_SVX = _Chunks(12, struct.Struct(">4sI"), b"BODY")
_CAF = _Chunks(8, struct.Struct(">4sQ"), b"data", align=1)


def shortfall(descriptor: int) -> str | None:
    """Return why an open file is shorter than its container states; None if it is whole, or nothing is stated.

    The descriptor's position stays where it is. Raises OSError.
    """
    size = os.fstat(descriptor).st_size
    head = os.pread(descriptor, _HEAD_BYTES, 0)
    if head.startswith(b"OggS"):
        return _ogg(descriptor, size)
    return _missing(_promise(head)(descriptor, head, size), size)


def _missing(promised: int | None, size: int) -> str | None:
    if promised is None or promised <= size:
        return None
    return f"is cut short or has a wrong header: it promises {promised} bytes and has {size}"


def _promise(head: bytes) -> Callable[[int, bytes, int], int | None]:
    """Return what computes the bytes that a file of this beginning has at least if it is whole."""
    for magic, form, promise in _PROMISES:
        if head.startswith(magic) and head.startswith(form, 8):
            return promise
    return _mp3 if _mp3_frame(head) else lambda descriptor, head, size: None


def _unknown(size: int) -> bool:
    """Return whether a size is one that writers into pipes give: 0, or about the largest of 31, 32 or 64 bits."""
    return size in (0, 0x7F000000, 0x80000000) or any(
        0 <= (1 << bits) - 1 - size <= 0x1000 for bits in (31, 32, 63, 64)
    )


def _outer(layout: _Chunks, head: bytes, size: int) -> int | None:
    """Return the end of the chunk around all others, if the file does not reach it."""
    _, promised = layout.head.unpack_from(head)
    whole = promised + 8
    return None if _unknown(promised) or whole <= size + 1 else whole  # some writers count a pad byte that is not there


def _audio_end(descriptor: int, layout: _Chunks, size: int) -> int | None:
    """Return where the samples end; None if the chunk that holds them is not found, or its size not known."""
    position = layout.first
    while position < size:
        head = os.pread(descriptor, layout.head.size, position)
        if len(head) < layout.head.size:
            return position + layout.head.size
        name, length = layout.head.unpack(head)
        end: int = position + layout.head.size - layout.counted + length
        if name == layout.audio:
            return None if _unknown(length) else end
        if end <= position:
            return None
        position = -(-end // layout.align) * layout.align
    return None


def _rf64(descriptor: int, head: bytes, size: int) -> int | None:
    """EBU Tech 3306: sizes of 32 bits are all ones, and those of 64 are in the first chunk, ds64."""
    if head[12:16] != b"ds64" or len(head) < 36:
        return _audio_end(descriptor, _RIFF, size)
    promised, samples = struct.unpack_from("<QQ", head, 20)
    if not _unknown(promised) and promised + 8 > size + 1:
        return int(promised) + 8
    position = head.find(b"data", 36)
    return None if _unknown(samples) or position < 0 else position + 8 + int(samples)


def _au(descriptor: int, head: bytes, size: int) -> int | None:
    if len(head) < 12:
        return 24
    start, length = struct.unpack_from(">II" if head[:1] == b"." else "<II", head, 4)
    return None if length == 0xFFFFFFFF else start + length


def _nist(descriptor: int, head: bytes, size: int) -> int | None:
    field = {name: int(value) for name, value in _NIST_FIELD.findall(head)}
    start = head[8:16].strip()
    if not start.isdigit() or len(field) < 3:
        return None
    return int(start) + field[b"sample_count"] * field[b"channel_count"] * field[b"sample_n_bytes"]


def _ogg(descriptor: int, size: int) -> str | None:
    """Walk the pages, up to what is none, such as a tag."""
    position, ended = 0, dict[int, bool]()
    while position < size:
        page = os.pread(descriptor, _OGG_PAGE.size + 255, position)
        if len(page) < _OGG_PAGE.size or not page.startswith(b"OggS"):
            break
        _, flags, serial, segments = _OGG_PAGE.unpack_from(page)
        ended[serial] = bool(flags & _OGG_LAST)
        position += _OGG_PAGE.size + segments + sum(page[_OGG_PAGE.size : _OGG_PAGE.size + segments])
    if all(ended.values()) or position > size:
        return _missing(position, size)
    return f"is cut short: of its {len(ended)} Ogg bitstream(s), {list(ended.values()).count(False)} have no last page"


def is_mp3(descriptor: int) -> bool:
    """Return whether an open file begins, behind a tag that may be there, with a frame of MPEG audio, layer 3.

    The descriptor's position stays where it is. Raises OSError.
    """
    first = os.pread(descriptor, 4, _mp3_start(os.pread(descriptor, _HEAD_BYTES, 0)))
    return _mp3_frame(first) is not None and _mp3_layer(first) == 3


def mp3_samples(descriptor: int) -> int | None:
    """Return how many samples a channel of an open MP3 file has, if its first frame does not count them, else None.

    The descriptor's position stays where it is. Raises OSError.
    """
    size, head = os.fstat(descriptor).st_size, os.pread(descriptor, _HEAD_BYTES, 0)
    start = _mp3_start(head)
    first = _mp3_frame(os.pread(descriptor, 4, start))
    if first is None or any(name in os.pread(descriptor, first.size, start) for name in _MP3_COUNTS):
        return None
    return sum(frame.samples for frame in _mp3_frames(descriptor, start, size))


def _mp3(descriptor: int, head: bytes, size: int) -> int | None:
    """Return the end of the last frame."""
    start = _mp3_start(head)
    return start + sum(frame.size for frame in _mp3_frames(descriptor, start, size))


def _mp3_start(head: bytes) -> int:
    if not head.startswith(b"ID3"):
        return 0
    a, b, c, d = head[6:10].ljust(4, b"\0")
    return 10 + (a << 21 | b << 14 | c << 7 | d)


def _mp3_frames(descriptor: int, position: int, size: int) -> Iterator[_Mp3Frame]:
    """Walk the frames up to what is none, such as a tag."""
    while position < size:
        frame = _mp3_frame(os.pread(descriptor, 4, position))
        if frame is None:
            return
        yield frame
        position += frame.size


def _mp3_layer(head: bytes) -> int:
    return 4 - (head[1] >> 1 & 3)


def _mp3_frame(head: bytes) -> _Mp3Frame | None:
    """Return the frame of MPEG audio that begins so; None if none does, or its size is not stated."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, _mp3_layer(head)
    bits, rate, padding = head[2] >> 4, head[2] >> 2 & 3, head[2] >> 1 & 1
    if version == 1 or layer == 4 or bits in (0, 15) or rate == 3:
        return None
    bit_s, rate_hz = 1000 * _MP3_KBIT_S[version == 3, layer][bits - 1], _MP3_RATES_HZ[version][rate]
    if layer == 1:
        return _Mp3Frame((12 * bit_s // rate_hz + padding) * 4, 384)
    samples = 576 if layer == 3 and version != 3 else 1152
    return _Mp3Frame(samples // 8 * bit_s // rate_hz + padding, samples)


def _in_chunks(layout: _Chunks, outer: bool = False) -> Callable[[int, bytes, int], int | None]:
    def promise(descriptor: int, head: bytes, size: int) -> int | None:
        return (_outer(layout, head, size) if outer else None) or _audio_end(descriptor, layout, size)

    return promise


_PROMISES = (  # by the first bytes, and those from the ninth on
    (b"RIFF", b"WAVE", _in_chunks(_RIFF, outer=True)),
    (b"RIFX", b"WAVE", _in_chunks(_RIFX, outer=True)),
    (b"RF64", b"WAVE", _rf64),
    (b"BW64", b"WAVE", _rf64),
    (b"FORM", b"AIF", _in_chunks(_AIFF, outer=True)),
    (b"FORM", b"8SVX", _in_chunks(_SVX, outer=True)),
    (b"FORM", b"16SV", _in_chunks(_SVX, outer=True)),
    (_W64_RIFF, b"", _in_chunks(_W64)),
    (b"caff", b"", _in_chunks(_CAF)),
    (b".snd", b"", _au),
    (b"dns.", b"", _au),
    (b"NIST_1A", b"", _nist),
    (b"ID3", b"", _mp3),
)
