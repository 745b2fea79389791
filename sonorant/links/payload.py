"""How samples and features travel on a link: as float32, or rounded into half of the bytes.

int16 is for waveforms: steps of 2⁻¹⁵, clipped to [-1, 1 - 2⁻¹⁵], so what a 16-bit recording holds passes unchanged.
float16 (IEEE 754 binary16) is for features: 11 significant bits, clipped to ±65504.
Both round to the nearest, ties to even, and rounding what is rounded changes nothing. So a chain in one process that
rounds after each stage (`as_carried`) has the very bits of one whose stages are linked.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.audio.pcm import from_int16, to_int16
from sonorant.delivery.example import Example
from sonorant.links.section import PayloadRecipe
from sonorant.v1 import example_pb2 as pb

__all__ = ["EXACT", "Packing", "as_carried", "packing_by_name", "packing_by_type"]

EXACT = PayloadRecipe()

_LARGEST_HALF = np.float32(np.finfo(np.float16).max)


class Packing(NamedTuple):
    """One way to put Float32 values into bytes, and to get them back; `pack` fills an array of `dtype`."""

    data_type: "pb.DataType.ValueType"
    dtype: np.dtype[Any]  # little endian
    pack: Callable[[NDArray[np.float32], NDArray[Any]], None]
    unpack: Callable[[NDArray[Any]], NDArray[np.float32]]


def as_carried(example: Example, payload: PayloadRecipe) -> Example:
    """Return the example as it comes out of a link with this payload."""
    if example.waveform is not None and payload.waveform != "float32":
        return example._replace(waveform=_rounded(example.waveform, payload.waveform))
    if example.features is not None and payload.features != "float32":
        return example._replace(features=_rounded(example.features, payload.features))
    return example


def packing_by_name(name: str) -> Packing:
    """Return the packing that a recipe names."""
    return _PACKINGS[name]


def packing_by_type(data_type: int) -> Packing | None:
    """Return the packing that an envelope names; None if there is none of that number."""
    return _BY_TYPE.get(data_type)


def _rounded(array: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    packing = _PACKINGS[name]
    packed = np.empty(array.shape, packing.dtype)
    packing.pack(array, packed)
    return packing.unpack(packed)


def _keep(values: NDArray[np.float32], packed: NDArray[Any]) -> None:
    packed[...] = values


def _kept(packed: NDArray[Any]) -> NDArray[np.float32]:
    return packed


def _write_int16(values: NDArray[np.float32], packed: NDArray[Any]) -> None:
    to_int16(values, packed)


def _to_float16(values: NDArray[np.float32], packed: NDArray[Any]) -> None:
    np.copyto(packed, np.clip(values, -_LARGEST_HALF, _LARGEST_HALF), casting="unsafe")


def _from_float16(packed: NDArray[Any]) -> NDArray[np.float32]:
    return packed.astype(np.float32)


_PACKINGS = {
    "float32": Packing(pb.DATA_TYPE_FLOAT32, np.dtype("<f4"), _keep, _kept),
    "int16": Packing(pb.DATA_TYPE_INT16, np.dtype("<i2"), _write_int16, from_int16),
    "float16": Packing(pb.DATA_TYPE_FLOAT16, np.dtype("<f2"), _to_float16, _from_float16),
}
_BY_TYPE = {int(packing.data_type): packing for packing in _PACKINGS.values()}
