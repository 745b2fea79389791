"""The signatures of a SavedModel as functions of arrays, by TensorFlow's C API.

So a process that recognizes imports no TensorFlow in Python, and calls of a graph have no checks of Python's around
them. A call computes in its caller's thread alone: the step of a stream is too small to split, and a recognizer's cores
are better used by streams side by side. But the threads that share one operation are a process', as many as whoever
came first wanted: where it trains too, that should be `sonorant.tensorflow`.
"""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonorant.export.c_library import Output, Status, TensorFlowError, c_library
from sonorant.export.denormals import flushed_denormals
from sonorant.v1.tensorflow_session_pb2 import GraphSignature, GraphTensor, MetaGraph, SessionConfig

__all__ = ["Signature", "load_signatures"]

_DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype(np.float32), 3: np.dtype(np.int32), 10: np.dtype(np.bool_)}
_CONFIG = SessionConfig(device_count={"GPU": 0}, intra_op_parallelism_threads=1, inter_op_parallelism_threads=-1)
_first = threading.Lock()


class Signature:
    """A function of a SavedModel: arrays by name in, arrays by name out, which may not be written to.

    They are of float32, int32 or bool. Threads may share it. shapes: of its outputs by name, -1 for a size that depends
    on the inputs.
    """

    def __init__(self, session: "_Session", signature: GraphSignature) -> None:
        self._session = session
        self._inputs = {name: session.tensor(tensor) for name, tensor in signature.inputs.items()}
        self._dtypes = {name: tensor.dtype for name, tensor in signature.inputs.items()}
        self._outputs = (Output * len(signature.outputs))(*map(session.tensor, signature.outputs.values()))
        self._names = list(signature.outputs)
        self.shapes = {name: [dim.size for dim in out.tensor_shape.dim] for name, out in signature.outputs.items()}

    def __call__(self, **arrays: ArrayLike) -> dict[str, NDArray[Any]]:
        """Compute all outputs; raises TensorFlowError for inputs that do not fit, KeyError for an unknown name."""
        inputs = [_Tensor.of(array, self._dtypes[name]) for name, array in arrays.items()]
        points = (Output * len(inputs))(*(self._inputs[name] for name in arrays))
        outputs = self._session.run(points, inputs, self._outputs)
        return {name: np.asarray(tensor) for name, tensor in zip(self._names, outputs, strict=True)}


def load_signatures(folder: Path) -> dict[str, Signature]:
    """Return the functions of the SavedModel in `folder`, by name, which share its variables; raises TensorFlowError.

    They keep the model in memory as long as there is one of them.
    """
    with _first:
        _quieten()
    session = _Session()
    signatures = session.load(folder).signature_def.items()
    return {name: Signature(session, signature) for name, signature in signatures if not name.startswith("__")}


class _Session:
    """A graph and its variables, freed with the last function of it."""

    def __init__(self) -> None:
        self._library = c_library()
        self._pointer = None
        self._graph = self._library.TF_NewGraph()

    def load(self, folder: Path) -> MetaGraph:
        """Load the SavedModel in `folder`, and return what it says of itself."""
        found = self._library.TF_NewBuffer()
        tags = (ctypes.c_char_p * 1)(b"serve")
        try:
            with _options() as options, Status() as status:
                self._pointer = self._library.TF_LoadSessionFromSavedModel(
                    options, None, os.fsencode(folder), tags, 1, self._graph, found, status
                )
            return MetaGraph.FromString(ctypes.string_at(found.contents.data, found.contents.length))
        finally:
            self._library.TF_DeleteBuffer(found)

    def __del__(self) -> None:
        if self._pointer:
            status = self._library.TF_NewStatus()
            self._library.TF_DeleteSession(self._pointer, status)
            self._library.TF_DeleteStatus(status)
        self._library.TF_DeleteGraph(self._graph)

    def tensor(self, tensor: GraphTensor) -> Output:
        """Return where the graph has a tensor."""
        operation, _, index = tensor.name.rpartition(":")
        found = self._library.TF_GraphOperationByName(self._graph, operation.encode())
        if not found:
            raise TensorFlowError(f"the graph has no operation {operation!r}, which a signature names")
        return Output(found, int(index))

    def run(self, points: Any, inputs: "list[_Tensor]", outputs: Any) -> "list[_Tensor]":
        """Compute `outputs` of a graph in which `points` have the values `inputs`."""
        given = (ctypes.c_void_p * len(inputs))(*(tensor.pointer for tensor in inputs))
        found = (ctypes.c_void_p * len(outputs))()
        with Status() as status, flushed_denormals():
            self._library.TF_SessionRun(
                self._pointer, None, points, given, len(inputs), outputs, found, len(outputs), None, 0, None, status
            )
        return [_Tensor(pointer) for pointer in found]


class _Tensor:
    """Memory of TensorFlow's, freed with the last array that shows it."""

    def __init__(self, pointer: int | None) -> None:
        self._library = c_library()
        self.pointer = pointer

    @classmethod
    def of(cls, value: ArrayLike, dtype: int) -> "_Tensor":
        """Return a copy of an array, whose numbers are converted."""
        array = np.asarray(value, _dtype(dtype), order="C")
        sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor = cls(c_library().TF_AllocateTensor(dtype, sizes, array.ndim, array.nbytes))
        ctypes.memmove(tensor._data, array.ctypes.data, array.nbytes)
        return tensor

    def __del__(self) -> None:
        self._library.TF_DeleteTensor(self.pointer)

    @property
    def _data(self) -> int:
        data: int = self._library.TF_TensorData(self.pointer)
        return data

    @property
    def __array_interface__(self) -> dict[str, Any]:
        library, pointer = self._library, self.pointer
        shape = tuple(library.TF_Dim(pointer, i) for i in range(library.TF_NumDims(pointer)))
        typestr = _dtype(library.TF_TensorType(pointer)).str
        # Without a number there is no memory, for which the interface has no address.
        data = (self._data, True) if 0 not in shape else np.empty(0, np.uint8)
        return {"version": 3, "shape": shape, "typestr": typestr, "data": data}


def _dtype(number: int) -> np.dtype[Any]:
    if number not in _DTYPES:
        raise TensorFlowError(f"a tensor of TensorFlow's type {number}; expected float32, int32 or bool")
    return _DTYPES[number]


@contextmanager
def _options() -> Iterator[int]:
    library, config = c_library(), _CONFIG.SerializeToString()
    options = library.TF_NewSessionOptions()
    try:
        with Status() as status:
            library.TF_SetConfig(options, config, len(config), status)
        yield options
    finally:
        library.TF_DeleteSessionOptions(options)


@cache
def _quieten() -> None:
    """Run a graph of nothing, and hide the two lines of log of a process' first run: no setting does."""
    library = c_library()
    graph = library.TF_NewGraph()
    with Status() as status:
        nothing = library.TF_FinishOperation(library.TF_NewOperation(graph, b"NoOp", b"nothing"), status)
    targets = (ctypes.c_void_p * 1)(nothing)
    with _options() as options, Status() as status:
        session = library.TF_NewSession(graph, options, status)
    with _no_stderr(), Status() as status:
        library.TF_SessionRun(session, None, None, None, 0, None, None, 0, targets, 1, None, status)
    with Status() as status:
        library.TF_DeleteSession(session, status)
    library.TF_DeleteGraph(graph)


@contextmanager
def _no_stderr() -> Iterator[None]:
    """Lose what the process writes to stderr, of any thread; where it is closed already, that is nothing."""
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
