"""Tensors of TensorFlow Serving's wire: recordings in, texts and numbers out."""

import struct
from collections.abc import Sequence

import numpy as np

from sonorant.serving.errors import BadRequest
from sonorant.v1 import tensorflow_serving_pb2 as pb

__all__ = ["floats", "recordings", "strings"]

_MOST_RECORDINGS = 64
_FLOAT_BYTES = 4
_MOST_FLOATS = 1 << 17  # which take 10 ms to read one by one
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")  # of a WAV file: RIFF, a format chunk, and the data chunk's begin
_WAV_FLOAT = 3


def recordings(name: str, tensor: pb.TensorProto, rate_hz: int) -> tuple[list[bytes], list[int]]:
    """Return the recordings of an input, as files, and the shape of what is answered: [] or [recordings].

    DT_STRING [] or [recordings]: files of any container. DT_FLOAT [samples] or [recordings, samples]: samples at
    `rate_hz`, of 1 at full scale. Raises BadRequest.
    """
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    is_text = tensor.dtype == pb.DT_STRING
    if not (is_text or tensor.dtype == pb.DT_FLOAT) or tensor.tensor_shape.unknown_rank:
        raise BadRequest(f"inputs[{name!r}]: expected DT_STRING or DT_FLOAT of a known shape, dtype={tensor.dtype}")
    batch = shape if is_text else shape[:-1]
    if len(batch) > 1 or (not is_text and not shape) or min([0, *shape]) < 0:
        expected = "[] or [recordings]" if is_text else "[samples] or [recordings, samples]"
        raise BadRequest(f"inputs[{name!r}]: shape {shape}, expected {expected}")
    count = batch[0] if batch else 1
    if not 1 <= count <= _MOST_RECORDINGS:
        raise BadRequest(f"inputs[{name!r}]: {count} recordings, expected 1 to {_MOST_RECORDINGS} in a request")
    if is_text:
        return _texts(name, tensor, count), batch
    return [_wav(row, rate_hz) for row in _rows(name, tensor, count, shape[-1])], batch


def strings(values: Sequence[str], shape: Sequence[int]) -> pb.TensorProto:
    """Return a DT_STRING tensor of UTF-8."""
    return pb.TensorProto(
        dtype=pb.DT_STRING, tensor_shape=_shape(shape), string_val=[value.encode() for value in values]
    )


def floats(values: Sequence[float], shape: Sequence[int]) -> pb.TensorProto:
    """Return a DT_FLOAT tensor."""
    return pb.TensorProto(dtype=pb.DT_FLOAT, tensor_shape=_shape(shape), float_val=values)


def _shape(sizes: Sequence[int]) -> pb.TensorShapeProto:
    return pb.TensorShapeProto(dim=[pb.TensorShapeProto.Dim(size=size) for size in sizes])


def _texts(name: str, tensor: pb.TensorProto, count: int) -> list[bytes]:
    if len(tensor.string_val) != count:
        raise BadRequest(f"inputs[{name!r}]: {len(tensor.string_val)} values in string_val, its shape has {count}")
    return list(tensor.string_val)


def _rows(name: str, tensor: pb.TensorProto, count: int, samples: int) -> list[bytes]:
    """Return the rows as little-endian 32-bit floats."""
    if len(tensor.float_val) > _MOST_FLOATS:
        raise BadRequest(f"inputs[{name!r}]: {len(tensor.float_val)} values in float_val; send them as tensor_content")
    values = tensor.tensor_content or np.asarray(tensor.float_val, "<f4").tobytes()
    size = samples * _FLOAT_BYTES
    if len(values) != count * size:
        found = len(values) / _FLOAT_BYTES
        raise BadRequest(f"inputs[{name!r}]: {found:g} values, its shape has {count * samples}")
    return [values[row * size : (row + 1) * size] for row in range(count)]


def _wav(samples: bytes, rate_hz: int) -> bytes:
    layout = (16, _WAV_FLOAT, 1, rate_hz, rate_hz * _FLOAT_BYTES, _FLOAT_BYTES, 8 * _FLOAT_BYTES)
    head = _HEADER.pack(b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", *layout, b"data", len(samples))
    return head + samples
