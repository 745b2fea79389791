"""gRPC reflection, in both versions that clients such as grpcurl ask for."""

from collections.abc import Sequence
from typing import Any

import grpc
from google.longrunning import operations_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

__all__ = ["add_reflection"]

_V1 = "grpc.reflection.v1.ServerReflection"  # grpcio-reflection 1.71 has no module for it; its messages are v1alpha's


class _Symbols:
    """The process' descriptors; a method is a symbol too, as the protocol of reflection has it."""

    def __init__(self) -> None:
        # of all; this module's are loaded by nobody else, as our messages have a package of their own
        self._pool: Any = operations_pb2.DESCRIPTOR.pool

    def FindFileContainingSymbol(self, symbol: str) -> Any:
        """Return the file that declares a message, service, method or field; raises KeyError."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return self._pool.FindMethodByName(symbol).containing_service.file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def add_reflection(services: Sequence[str], server: grpc.aio.Server) -> None:
    """Let clients of `server` list and describe `services`."""
    names = (*services, reflection.SERVICE_NAME)
    symbols = _Symbols()
    reflection.enable_server_reflection(names, server, symbols)
    method = grpc.stream_stream_rpc_method_handler(
        reflection.aio.ReflectionServicer(names, symbols).ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_V1, {"ServerReflectionInfo": method})])
