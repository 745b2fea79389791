"""A coordinator with answers set by the test: a real gRPC server, so that the client is tested."""

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from google.protobuf.duration_pb2 import Duration

from services.process.channels import add_port
from services.process.keys import Keys
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1 import coordinator_pb2_grpc


def seconds(value):
    duration = Duration()
    duration.FromNanoseconds(round(value * 1e9))
    return duration


class ScriptedCoordinator(coordinator_pb2_grpc.CoordinatorServicer):
    def __init__(self, port=0, keys=None):
        self.known = {}
        self.beats = []
        self.rejections = []
        self.refusals = []  # statuses for the next rejections
        self.beat_refusals = []  # the same of heartbeats
        self.interval_s = 0.05
        self.leases = []
        self.endpoints = []
        self.epochs = []
        self.finished = False
        self.status = pb.GetStatusResponse()
        self.registrations = 0
        self._pool = ThreadPoolExecutor(max_workers=16)
        self._server = grpc.server(self._pool, options=[("grpc.so_reuseport", 0)])
        coordinator_pb2_grpc.add_CoordinatorServicer_to_server(self, self._server)
        self.port = add_port(self._server, f"127.0.0.1:{port}", keys or Keys())
        self.address = f"127.0.0.1:{self.port}"
        self._server.start()

    def close(self):
        self._server.stop(grace=0).wait()
        self._pool.shutdown()

    def Register(self, request, context):
        self.registrations += 1
        self.known[request.replica] = request
        return pb.RegisterResponse(heartbeat_interval=seconds(self.interval_s))

    def WatchEndpoints(self, request, context):
        for endpoints in list(self.endpoints):
            yield pb.WatchEndpointsResponse(endpoints=endpoints)

    def Heartbeat(self, request, context):
        if request.replica not in self.known:
            context.abort(grpc.StatusCode.NOT_FOUND, "register again")
        self.beats.append(request)
        if self.beat_refusals:
            context.abort(self.beat_refusals.pop(0), "not so")
        interval = seconds(self.interval_s)
        return pb.HeartbeatResponse(epochs=self.epochs, finished=self.finished, heartbeat_interval=interval)

    def AcquireLease(self, request, context):
        if self.leases:
            return self.leases.pop(0)
        return pb.AcquireLeaseResponse(retry_after=seconds(0.02), finished=self.finished)

    def GetStatus(self, request, context):
        return self.status

    def RejectExample(self, request, context):
        if self.refusals:
            context.abort(self.refusals.pop(0), "not now")
        self.rejections.append(request)
        return pb.RejectExampleResponse()


def main(port, authority, key, chain):
    """Be a coordinator in TLS, in a process of its own, until killed."""
    keys = Keys(authority=Path(authority).read_bytes(), certificate=(Path(key).read_bytes(), Path(chain).read_bytes()))
    coordinator = ScriptedCoordinator(int(port), keys)
    coordinator.endpoints = [["tcp://h:1"]]
    print(coordinator.port, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
