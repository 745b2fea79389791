"""TensorFlow's C library, which `import tensorflow` would load with a thousand modules of Python, for seconds.

Of its C API (`tensorflow/c/c_api.h`, the one whose functions stay the same from version to version) only what sessions
need.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sonorant.errors import SonorantError, Unavailable

__all__ = ["Buffer", "Output", "Status", "TensorFlowError", "c_library", "version"]


class TensorFlowError(SonorantError):
    """What TensorFlow says of a SavedModel, or of the arguments of its functions."""

    exit_code = 65


class Output(ctypes.Structure):
    """`TF_Output`: a tensor of a graph."""

    _fields_ = (("operation", c_void_p), ("index", c_int))


class Buffer(ctypes.Structure):
    """`TF_Buffer`: bytes."""

    _fields_ = (("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p))


_FUNCTIONS = {
    "TF_Version": (c_char_p, []),
    "TF_NewStatus": (c_void_p, []),
    "TF_GetCode": (c_int, [c_void_p]),
    "TF_Message": (c_char_p, [c_void_p]),
    "TF_DeleteStatus": (None, [c_void_p]),
    "TF_NewBuffer": (POINTER(Buffer), []),
    "TF_DeleteBuffer": (None, [POINTER(Buffer)]),
    "TF_AllocateTensor": (c_void_p, [c_int, POINTER(c_int64), c_int, c_size_t]),
    "TF_DeleteTensor": (None, [c_void_p]),
    "TF_TensorType": (c_int, [c_void_p]),
    "TF_NumDims": (c_int, [c_void_p]),
    "TF_Dim": (c_int64, [c_void_p, c_int]),
    "TF_TensorData": (c_void_p, [c_void_p]),
    "TF_NewSessionOptions": (c_void_p, []),
    "TF_SetConfig": (None, [c_void_p, c_char_p, c_size_t, c_void_p]),
    "TF_DeleteSessionOptions": (None, [c_void_p]),
    "TF_NewGraph": (c_void_p, []),
    "TF_DeleteGraph": (None, [c_void_p]),
    "TF_NewOperation": (c_void_p, [c_void_p, c_char_p, c_char_p]),
    "TF_FinishOperation": (c_void_p, [c_void_p, c_void_p]),
    "TF_GraphOperationByName": (c_void_p, [c_void_p, c_char_p]),
    "TF_NewSession": (c_void_p, [c_void_p, c_void_p, c_void_p]),
    "TF_LoadSessionFromSavedModel": (
        c_void_p,
        [c_void_p, c_void_p, c_char_p, POINTER(c_char_p), c_int, c_void_p, POINTER(Buffer), c_void_p],
    ),
    "TF_SessionRun": (
        None,
        [c_void_p, c_void_p, POINTER(Output), POINTER(c_void_p), c_int, POINTER(Output), POINTER(c_void_p), c_int,
         POINTER(c_void_p), c_int, c_void_p, c_void_p],
    ),
    "TF_DeleteSession": (None, [c_void_p, c_void_p]),
}  # fmt: skip


class Status:
    """`TF_Status`: the last argument of what can fail, for one call; leaving the context raises TensorFlowError."""

    def __enter__(self) -> int:
        pointer: int = c_library().TF_NewStatus()
        self._pointer = pointer
        return pointer

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        library = c_library()
        failed, message = library.TF_GetCode(self._pointer), library.TF_Message(self._pointer)
        library.TF_DeleteStatus(self._pointer)
        if failed and kind is None:
            raise TensorFlowError(message.decode(errors="replace"))


@cache
def c_library() -> ctypes.CDLL:
    """Load the library of the installed TensorFlow, once; raises Unavailable."""
    package = find_spec("tensorflow")
    folder = Path(package.origin).parent if package and package.origin else Path()
    found = sorted(folder.glob("libtensorflow_cc.*")) if package else []
    if not found:
        raise Unavailable("TensorFlow's C library is not installed; expected the package tensorflow-cpu or tensorflow")
    try:
        library = ctypes.CDLL(str(found[0]))
    except OSError as error:
        raise Unavailable(f"{found[0]}: {error}") from error
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def version() -> str:
    """Return TensorFlow's version."""
    return str(c_library().TF_Version().decode())
