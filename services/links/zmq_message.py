"""Messages in ZeroMQ's own memory: examples written there are sent without a copy.

pyzmq can send from Python's memory without a copy too, but then ZeroMQ notifies a thread of pyzmq when it is done: a
wake-up for each message. Memory of its own ZeroMQ frees by itself. pyzmq has no call that allocates it; the libzmq
below it has (zmq_msg_init_size and zmq_msg_send, in its manual).
"""

import ctypes
import errno

import zmq
from zmq.backend.cython import _zmq

from sonorant.links.wire import BUNDLE_BYTES

__all__ = ["OWN_ABOVE_BYTES", "ZmqMessage", "memory_for"]

OWN_ABOVE_BYTES = BUNDLE_BYTES  # what is larger travels alone, so it is written where ZeroMQ will send it from
_Struct = ctypes.c_char * 64  # zmq_msg_t, whose size is part of libzmq's ABI since 4.1

# A PyDLL keeps the interpreter's lock: no call here blocks, and no other can come between a failure and its errno.
_libzmq = ctypes.PyDLL(_zmq.__file__)
_init_size = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(("zmq_msg_init_size", _libzmq))
_data = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(("zmq_msg_data", _libzmq))
_send = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(("zmq_msg_send", _libzmq))
_close = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(("zmq_msg_close", _libzmq))
_errno = ctypes.PYFUNCTYPE(ctypes.c_int)(("zmq_errno", _libzmq))
_view = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_WRITABLE = 0x200  # PyBUF_WRITE


class ZmqMessage:
    """A message of `size` bytes, none of them set, to be written to `buffer` and sent once.

    Raises MemoryError if it cannot be allocated.
    """

    def __init__(self, size: int) -> None:
        self._struct = _Struct()
        self._at = ctypes.addressof(self._struct)
        if _init_size(self._at, size) != 0:
            _init_size(self._at, 0)  # something that `__del__` can close
            raise MemoryError(f"no memory for a message of {size} bytes")
        self.buffer: memoryview = _view(_data(self._at), size, _WRITABLE)

    def send(self, socket: "zmq.Socket[bytes]") -> None:
        """Send it without blocking; its memory is ZeroMQ's from now on, and `buffer` cannot be read any more.

        Raises ZMQError if the socket does not take it: it may be sent again, to another. No array may be left that was
        made of `buffer`.
        """
        while _send(self._at, socket.underlying, zmq.NOBLOCK) < 0:
            if (failed := _errno()) != errno.EINTR:
                raise zmq.ZMQError(failed)
        self._at = 0
        self.buffer.release()

    def __del__(self) -> None:
        if self._at:
            _close(self._at)


def memory_for(size: int) -> ZmqMessage | None:
    """Return memory for a message of `size` bytes if it travels alone; None if it may share a message with others."""
    return ZmqMessage(size) if size > OWN_ABOVE_BYTES else None
