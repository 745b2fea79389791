"""gRPC reflection, in both versions that clients such as grpcurl ask for."""

from collections.abc import Sequence

import google.longrunning.operations_pb2  # noqa: F401  the service's descriptor, as our messages have a package of their own
import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

__all__ = ["add_reflection"]

_V1 = "grpc.reflection.v1.ServerReflection"  # grpcio-reflection 1.71 has no module for it; its messages are v1alpha's


def add_reflection(services: Sequence[str], server: grpc.aio.Server) -> None:
    """Let clients of `server` list and describe `services`."""
    names = (*services, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    method = grpc.stream_stream_rpc_method_handler(
        reflection.aio.ReflectionServicer(names).ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_V1, {"ServerReflectionInfo": method})])
