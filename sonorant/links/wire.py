"""Bytes on a link between two stages.

A message is one frame. It begins with a header of eight bytes: the kind, and a number whose meaning depends on it. In a
message of kind EXAMPLES a record of each example follows: the sizes of its array and its envelope in 16 bytes, the raw
array, and the envelope (`sonorant.v1.Example`); array and envelope are padded to multiples of 16 bytes.

The consumer opens a link with HELLO, the header followed by the name of the requested lane. The producer answers
WELCOME, or BYE if it has no such lane: its address may have been another producer's, which died.

Why 16: numpy aligns its own arrays to that. One that is aligned less may be summed in another order by vectorised code,
and an example must not depend, not even in its last bit, on the way that it came. ZeroMQ puts a large frame 40 bytes
behind a multiple of 16; so arrays lie well after the header, and need no copy.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import SonorantError
from sonorant.links.payload import EXACT, packing_by_name, packing_by_type
from sonorant.links.section import PayloadRecipe
from sonorant.v1 import example_pb2 as pb

__all__ = [
    "BUNDLE_BYTES",
    "PROTOCOL_VERSION",
    "BadMessage",
    "Buffer",
    "Header",
    "Kind",
    "Memory",
    "Parcel",
    "decode_counts",
    "decode_examples",
    "decode_header",
    "encode_example",
    "encode_header",
    "encode_hello",
    "join_examples",
    "lane_name_of",
]

PROTOCOL_VERSION = 4
BUNDLE_BYTES = 1 << 16  # of a message with several examples, at most; a larger example travels alone
_HEADER = struct.Struct("<B3xI")
_SIZES = struct.Struct("<QI4x")  # of array and envelope
_START = struct.Struct(_HEADER.format + _SIZES.format[1:])  # of a message with one example
_ARRAY_AT = _START.size
_MOST_EXAMPLES, _MOST_WAITING = (1 << 8) - 1, (1 << 24) - 1  # that a header can hold
_ALIGNMENT = 16
_NOTHING = np.empty(0, np.float32)  # in place of the array of an example that is text alone
_ALIGNED_TYPE = np.dtype(np.longdouble)  # checking the alignment of this type is faster than reading an address

Buffer = bytes | bytearray | memoryview


class BadMessage(SonorantError):
    """A malformed message, or one of another version."""

    exit_code = 76


class Kind(IntEnum):
    """Kind of a message, which defines the meaning of its number. C: sent by the consumer, P: by the producer."""

    HELLO = 1  # C: opens a link to the named lane; protocol version
    WELCOME = 2  # P: answer to HELLO, the link is open; protocol version
    GRANT = 3  # C: more credit; number of credits
    RECALL = 4  # C: requests unused credit; 0
    RETURN = 5  # P: answer to RECALL; number of credits given back
    BACKLOG = 6  # P: examples wait without credit; how many, 0: no longer any
    PING = 7  # C: sign of life, requests another; 0
    PONG = 8  # P: answer to PING; 0
    BYE = 9  # C, P: ends the link, nothing is under way; 0
    EXAMPLES = 10  # P: examples follow; their number, and 256 times the backlog that is left


class Header(NamedTuple):
    """The beginning of a message."""

    kind: Kind
    number: int


def encode_header(kind: Kind, number: int = 0) -> bytes:
    """Return a message of its header alone."""
    return _HEADER.pack(kind, number)


def decode_header(frame: Buffer) -> Header:
    """Read the header of a message.

    Raises BadMessage if its kind is unknown, or the message's size none that this kind has.
    """
    size = len(frame)
    if size < _HEADER.size:
        raise BadMessage(f"header of {size} bytes: must have {_HEADER.size}")
    code, number = _HEADER.unpack_from(frame)
    kind = _KINDS.get(code)
    if kind is None:
        raise BadMessage(f"message of kind {code}: known are 1 to {max(_KINDS)}")
    if size > _HEADER.size and kind not in _WITH_MORE:
        raise BadMessage(f"{kind.name} of {size} bytes: must have {_HEADER.size}")
    return Header(kind, number)


def encode_hello(lane_name: str) -> bytes:
    """Return a HELLO that requests a lane."""
    return encode_header(Kind.HELLO, PROTOCOL_VERSION) + lane_name.encode()


def lane_name_of(hello: Buffer) -> str:
    """Return the name of the lane that a HELLO requests; bytes that are not UTF-8 give a name that no lane has."""
    return bytes(hello[_HEADER.size :]).decode(errors="replace")


_KINDS = {int(kind): kind for kind in Kind}
_WITH_MORE = frozenset({Kind.HELLO, Kind.EXAMPLES})  # than a header


class Memory(Protocol):
    """Where a message is written to."""

    @property
    def buffer(self) -> memoryview:
        """All of it, writable."""
        ...


class Parcel:
    """An example on its way: its message of kind EXAMPLES, with a backlog of 0.

    size: of the message in bytes; it may go to consumers of `lane`. message, memory: set by `write`.
    Raises BadMessage if both waveform and features are set, or one is not Float32; text alone has neither.
    """

    __slots__ = ("_unwritten", "audio_s", "lane", "memory", "message", "size")

    def __init__(self, example: Example, payload: PayloadRecipe = EXACT, lane: int = 0) -> None:
        if example.waveform is not None and example.features is not None:
            raise BadMessage(f"example {example.utterance}: at most one of waveform and features may be set")
        array = _NOTHING if example.waveform is None else example.waveform
        array = array if example.features is None else example.features
        if array.dtype != np.float32:
            raise BadMessage(f"example {example.utterance}: array of {array.dtype}, must be float32")
        packing = packing_by_name(payload.waveform if example.waveform is not None else payload.features)
        envelope = _encode_envelope(example, packing.data_type, array.shape)
        self._unwritten = (array, packing, envelope)
        self.size = _ARRAY_AT + _padded(packing.dtype.itemsize * array.size) + _padded(len(envelope))
        self.audio_s = example.duration_s
        self.lane = lane
        self.message: memoryview
        self.memory: Memory | None

    def write(self, memory: Memory | None = None) -> None:
        """Write the message, once, to memory of `size` bytes, of which every one is set; None: to some of Python's."""
        array, packing, envelope = self._unwritten
        del self._unwritten  # nor is the array kept while its copy waits
        message = np.empty(self.size, np.uint8).data if memory is None else memory.buffer
        array_bytes = packing.dtype.itemsize * array.size
        end = _ARRAY_AT + array_bytes
        _START.pack_into(message, 0, Kind.EXAMPLES, 1, array_bytes, len(envelope))
        packing.pack(array, np.ndarray(array.shape, packing.dtype, message, _ARRAY_AT))
        message[end:] = (bytes(-array_bytes % _ALIGNMENT) + envelope).ljust(self.size - end, b"\0")
        self.message, self.memory = message, memory


def encode_example(example: Example, payload: PayloadRecipe = EXACT) -> memoryview:
    """Return the message of an example (`Parcel`)."""
    parcel = Parcel(example, payload)
    parcel.write()
    return parcel.message


def _encode_envelope(example: Example, data_type: "pb.DataType.ValueType", shape: tuple[int, ...]) -> bytes:
    message = pb.Example(
        utterance=example.utterance,
        speaker=example.speaker,
        text=example.text,
        sample_rate_hz=example.sample_rate_hz,
        duration_s=example.duration_s,
    )
    # Nested messages are filled directly: building them apart and copying them takes half as long again.
    lineage = message.lineage
    lineage.epoch, lineage.shard, lineage.index = example.lineage
    if example.waveform is not None or example.features is not None:
        header = message.waveform if example.waveform is not None else message.features
        header.data_type = data_type
        header.shape.extend(shape)
    for word in example.words:
        message.words.add(word=word.word, start_s=word.start_s, end_s=word.end_s)
    return message.SerializeToString()


def join_examples(messages: Sequence[memoryview], waiting: int) -> Buffer:
    """Return one message with the examples of all; a single one is not copied, but its header is changed.

    messages: what `encode_example` returned, 255 at most. waiting: how many other examples wait.
    """
    assert len(messages) <= _MOST_EXAMPLES
    number = len(messages) + (_MOST_EXAMPLES + 1) * min(waiting, _MOST_WAITING)
    if len(messages) > 1:
        return b"".join((_HEADER.pack(Kind.EXAMPLES, number), *(message[_HEADER.size :] for message in messages)))
    _HEADER.pack_into(messages[0], 0, Kind.EXAMPLES, number)
    return messages[0]


def decode_counts(number: int) -> tuple[int, int]:
    """Return how many examples are in a message with such a number in its header, and how many others wait."""
    waiting, count = divmod(number, _MOST_EXAMPLES + 1)
    return count, waiting


def decode_examples(message: memoryview, count: int) -> list[Example]:
    """Read a message whose header announces `count` examples.

    Float32 arrays are read-only views of it, or copies if it is not aligned. Raises BadMessage if it holds
    another number or none, or if one is malformed.
    """
    if count < 1:
        raise BadMessage("0 examples: a message must have 1 at least")
    examples = [_decode_example(array, envelope) for array, envelope in _records(message)]
    if len(examples) != count:
        raise BadMessage(f"{len(examples)} examples: the header announced {count}")
    return examples


def _records(message: memoryview) -> Iterator[tuple[memoryview, memoryview]]:
    """Yield array and envelope of each record."""
    at, end = _HEADER.size, len(message)
    while at < end:
        start = at + _SIZES.size
        if start > end:
            raise BadMessage(f"{end - at} bytes after the last record")
        array_bytes, envelope_bytes = _SIZES.unpack_from(message, at)
        stop = start + _padded(array_bytes)
        at = stop + _padded(envelope_bytes)
        if at > end:
            raise BadMessage(
                f"array of {array_bytes} and envelope of {envelope_bytes} bytes in a message with {end - start} left"
            )
        yield message[start : start + array_bytes], message[stop : stop + envelope_bytes]


def _padded(size: int) -> int:
    return size + -size % _ALIGNMENT


def _decode_example(array: memoryview, envelope: memoryview) -> Example:
    try:
        message = pb.Example.FromString(bytes(envelope))
    except DecodeError as error:
        raise BadMessage(f"envelope of {len(envelope)} bytes is not an Example: {error}") from error
    content = message.WhichOneof("content")
    if (content is None and len(array)) or not message.HasField("lineage"):
        raise BadMessage(f"envelope of {message.utterance!r} lacks its lineage or its array")
    waveform = features = None
    if content == "waveform":
        waveform = _decode_array(message.waveform, array, (1, 2))
    elif content == "features":
        features = _decode_array(message.features, array, (2,))
    lineage, words = message.lineage, message.words
    return Example(
        Lineage(lineage.epoch, lineage.shard, lineage.index),
        message.utterance,
        message.text,
        message.sample_rate_hz,
        message.duration_s,
        message.speaker,
        waveform,
        features,
        tuple([WordSpan(w.word, w.start_s, w.end_s) for w in words]) if words else (),
    )


def _decode_array(header: pb.ArrayHeader, frame: memoryview, dimensions: tuple[int, ...]) -> NDArray[np.float32]:
    packing, shape = packing_by_type(header.data_type), tuple(header.shape)
    if packing is None:
        raise BadMessage(f"array of data type {header.data_type}: known are {sorted(pb.DataType.values())[1:]}")
    if len(shape) not in dimensions or packing.dtype.itemsize * math.prod(shape) != len(frame):
        raise BadMessage(f"array of {len(frame)} bytes does not hold the announced shape {shape} of {packing.dtype}")
    values = packing.unpack(np.ndarray(shape, packing.dtype, frame))
    if not _is_aligned(values):
        values = values.copy()
    values.setflags(write=False)
    return values


def _is_aligned(values: NDArray[np.float32]) -> bool:
    """Whether an array is known to be aligned to 16 bytes; of some that are, on some platforms of all, it is not."""
    if values.nbytes < _ALIGNED_TYPE.itemsize or _ALIGNED_TYPE.alignment < _ALIGNMENT:
        return False
    return np.ndarray((), _ALIGNED_TYPE, values).flags.aligned
