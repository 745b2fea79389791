"""Bytes on a link between two stages.

A message is one or three frames. The first frame is a header of five bytes: the kind, and a number whose meaning
depends on it. A message of kind EXAMPLE goes on with the envelope (`sonorant.v1.Example`) and the raw array.

The downstream replica (consumer) opens a link with HELLO, the upstream replica (producer) answers WELCOME.
"""

import struct
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from sonorant.errors import SonorantError
from sonorant.pipeline.example import Example, Lineage, WordSpan
from sonorant.v1 import example_pb2 as pb

__all__ = [
    "PROTOCOL_VERSION",
    "BadMessage",
    "Header",
    "Kind",
    "decode_example",
    "decode_header",
    "encode_example",
    "encode_header",
    "lineage_to_proto",
]

PROTOCOL_VERSION = 1
_HEADER = struct.Struct("<BI")

# numpy aligns its own arrays to 16 bytes. An array that is aligned less may be summed in another order by vectorised
# code, and an example must not depend, not even in its last bit, on the way that it came.
_ALIGNMENT = 16

Buffer = bytes | bytearray | memoryview


class BadMessage(SonorantError):
    """Frames that no replica of this version sends."""

    exit_code = 76


class Kind(IntEnum):
    """What a message says, and what its number means. C: sent by the consumer, P: by the producer."""

    HELLO = 1  # C: here I am; protocol version
    WELCOME = 2  # P: I know you; protocol version
    GRANT = 3  # C: send me as many examples more; number of credits
    RECALL = 4  # C: give back what you have not used; 0
    RETURN = 5  # P: answer to RECALL; number of credits given back
    BACKLOG = 6  # P: 1: examples wait here and you have no credit with me; 0: no longer
    PING = 7  # C: are you there; 0
    PONG = 8  # P: I am; 0
    BYE = 9  # C, P: I forget you; 0
    EXAMPLE = 10  # P: envelope and array follow; 1 if more examples wait here, else 0


class Header(NamedTuple):
    """First frame of a message."""

    kind: Kind
    number: int


def encode_header(kind: Kind, number: int = 0) -> bytes:
    """Return the header frame."""
    return _HEADER.pack(kind, number)


def decode_header(frame: Buffer) -> Header:
    """Read a header frame.

    Raises BadMessage if its size or kind is unknown.
    """
    if len(frame) != _HEADER.size:
        raise BadMessage(f"header of {len(frame)} bytes: must have {_HEADER.size}")
    kind, number = _HEADER.unpack(frame)
    if kind not in _KINDS:
        raise BadMessage(f"message of kind {kind}: known are 1 to {max(_KINDS)}")
    return Header(_KINDS[kind], number)


_KINDS = {int(kind): kind for kind in Kind}


def lineage_to_proto(lineage: Lineage) -> pb.Lineage:
    """Return the message that names the example."""
    return pb.Lineage(epoch=lineage.epoch, shard=lineage.shard, index=lineage.index)


def encode_example(example: Example) -> tuple[bytes, memoryview]:
    """Return envelope and array; the array is not copied if it is contiguous, so it must not change any more.

    Raises BadMessage unless exactly one of waveform and features is set, and is Float32.
    """
    if (example.waveform is None) == (example.features is None):
        raise BadMessage(f"example {example.utterance}: exactly one of waveform and features must be set")
    array = example.waveform if example.waveform is not None else example.features
    assert array is not None
    if array.dtype != np.float32:
        raise BadMessage(f"example {example.utterance}: array of {array.dtype}, must be float32")
    header = pb.ArrayHeader(data_type=pb.DATA_TYPE_FLOAT32, shape=array.shape)
    envelope = pb.Example(
        lineage=lineage_to_proto(example.lineage),
        utterance=example.utterance,
        speaker=example.speaker,
        text=example.text,
        sample_rate_hz=example.sample_rate_hz,
        waveform=header if example.waveform is not None else None,
        features=header if example.features is not None else None,
        duration_s=example.duration_s,
        words=[pb.WordSpan(word=w.word, start_s=w.start_s, end_s=w.end_s) for w in example.words],
    )
    flat = np.ascontiguousarray(array, dtype="<f4").reshape(-1)
    return envelope.SerializeToString(deterministic=True), flat.view(np.uint8).data


def decode_example(envelope: Buffer, array: Buffer) -> Example:
    """Read an example; its array is a read-only view of `array`, or a copy if that lies badly in memory.

    Raises BadMessage if the frames are not an envelope and the array that it announces.
    """
    message = pb.Example()
    try:
        message.ParseFromString(bytes(envelope))
    except DecodeError as error:
        raise BadMessage(f"envelope of {len(envelope)} bytes is not an Example: {error}") from error
    content = message.WhichOneof("content")
    if content is None or not message.HasField("lineage"):
        raise BadMessage(f"envelope of {message.utterance!r} lacks its lineage or its array")
    header = message.waveform if content == "waveform" else message.features
    values = _array(header, array, dimensions=(1, 2) if content == "waveform" else (2,))
    return Example(
        lineage=Lineage(message.lineage.epoch, message.lineage.shard, message.lineage.index),
        utterance=message.utterance,
        text=message.text,
        sample_rate_hz=message.sample_rate_hz,
        duration_s=message.duration_s,
        speaker=message.speaker,
        waveform=values if content == "waveform" else None,
        features=values if content == "features" else None,
        words=tuple(WordSpan(w.word, w.start_s, w.end_s) for w in message.words),
    )


def _array(header: pb.ArrayHeader, frame: Buffer, dimensions: tuple[int, ...]) -> NDArray[np.float32]:
    if header.data_type != pb.DATA_TYPE_FLOAT32:
        raise BadMessage(f"array of data type {header.data_type}: must be {pb.DATA_TYPE_FLOAT32}, float32")
    shape = tuple(header.shape)
    expected = 4
    for size in shape:
        expected *= size
    if len(shape) not in dimensions or expected != len(frame):
        raise BadMessage(f"array of {len(frame)} bytes does not hold the announced shape {shape} of float32")
    flat = np.frombuffer(frame, dtype="<f4")
    if flat.__array_interface__["data"][0] % _ALIGNMENT:
        flat = flat.copy()
    flat.flags.writeable = False
    return flat.reshape(shape)
