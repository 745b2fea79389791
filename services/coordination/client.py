"""A replica's client of the coordinator: it outlasts an absent coordinator, and registers again with a new one."""

import threading
import time
from collections import deque
from collections.abc import Callable

import grpc
import structlog

from services.coordination.durations import seconds
from services.coordination.meter import Meter
from services.process.backoff import Backoff
from services.process.channels import open_channel
from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import Rejection
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub
from sonorant.v1.example_pb2 import Lineage as Named

__all__ = ["CoordinatorClient"]

log = structlog.get_logger()

_CALL_TIMEOUT_S = 2.0
_LAST_BEAT_TIMEOUT_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.0
_CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
_FINAL = frozenset(
    {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.FAILED_PRECONDITION}
)


class CoordinatorClient:
    """Registers one replica, sends its heartbeats and calls the coordinator for it, in threads of its own.

    replica: its name. A replica that stays waits for leases even when the run is over.

    Calls wait for a connection until their time-outs: gRPC connects only while a call waits, and else every five
    seconds for a moment, which is too short for a TLS handshake. Calls that do not wait may fail for ever.
    """

    def __init__(
        self,
        address: str,
        replica: str,
        meter: Meter,
        *,
        stays: bool = False,
    ) -> None:
        self._address = address
        self._replica = replica
        self._request = pb.RegisterRequest(replica=replica)
        self._meter = meter
        self._on_response: Callable[[pb.HeartbeatResponse], None] = lambda _response: None
        self._stays = stays
        self._channel = open_channel(address, _CHANNEL_OPTIONS)
        self._stub = CoordinatorStub(self._channel)
        self._interval_s = 1.0
        self._beaten_s = time.monotonic()
        self._wake = threading.Event()
        self._no_more_leases = threading.Event()
        self._quit = threading.Event()
        self._registered = threading.Event()
        self._rejections: deque[pb.RejectExampleRequest] = deque()
        self._watches: dict[str, grpc.RpcContext] = {}
        self._threads = [threading.Thread(target=self._live, name="heartbeat", daemon=True)]
        self._troubled: set[str] = set()
        self._reports_end = True

    def start(
        self, register: pb.RegisterRequest, on_response: Callable[[pb.HeartbeatResponse], None] | None = None
    ) -> None:
        """Begin to register and to beat; the coordinator need not be there yet.

        on_response is called with every answer to a heartbeat, in the heartbeat's thread; the answer
        includes the replica's earlier reports.
        """
        self._request = register
        self._on_response = on_response or self._on_response
        self._threads[0].start()

    def wait_registered(self, timeout_s: float | None = None) -> bool:
        """Wait until this replica is registered; return whether it is."""
        return self._registered.wait(timeout_s)

    def beat_now(self) -> None:
        """Send the next heartbeat at once, out of schedule."""
        self._wake.set()

    def link_broke(self) -> None:
        """Report a link that ended without BYE, so that lost examples are leased again."""
        self._meter.link_broke()
        self.beat_now()

    def watch(self, stage: str, on_endpoints: Callable[[list[str]], None]) -> None:
        """Call `on_endpoints` with the stage's endpoints, now and at every change, in a thread of its own."""
        thread = threading.Thread(target=self._watch, args=(stage, on_endpoints), name=f"watch-{stage}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def reject(self, lineage: Lineage, utterance: str, stage: str, reason: str) -> None:
        """Report an example that a stage could not process; it is sent as soon as the coordinator can be reached.

        Names and reasons are shortened: the coordinator would refuse a message that is too large at every retry.
        """
        said = Rejection(lineage, utterance, stage, reason).shortened()
        self._rejections.append(
            pb.RejectExampleRequest(
                lineage=Named(**lineage._asdict()), utterance=said.utterance, stage=said.stage, reason=said.reason
            )
        )
        self._wake.set()

    def acquire_lease(self) -> pb.AcquireLeaseResponse | None:
        """Wait for records to read; return None when the run is over or this replica leaves."""
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._no_more_leases.is_set():
            try:
                answer = self._stub.AcquireLease(
                    pb.AcquireLeaseRequest(replica=self._replica), timeout=_CALL_TIMEOUT_S, wait_for_ready=True
                )
            except grpc.RpcError as error:
                self._note(error, "AcquireLease")
                self._no_more_leases.wait(backoff.pause_s())
                continue
            if answer.finished and not self._stays:
                return None
            if answer.lease:
                return answer
            backoff.reset()
            self._no_more_leases.wait(seconds(answer.retry_after) or backoff.next_s)
        return None

    def stop_leasing(self) -> None:
        """Make `acquire_lease` return None from now on, and wake threads that wait in it."""
        self._no_more_leases.set()

    def close(self, report: bool = True) -> None:
        """Send pending reports and a last heartbeat, unless `report` is False; close the channel."""
        self._reports_end = report
        self._no_more_leases.set()
        self._quit.set()
        self._wake.set()
        for watch in list(self._watches.values()):
            watch.cancel()
        for thread in self._threads:
            thread.join()
        self._channel.close()

    def _live(self) -> None:
        """Run the heartbeat's thread: register, beat, and report rejections on the way."""
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._quit.is_set():
            self._wake.clear()
            if self._quit.is_set():  # `close` came between the two lines above
                break
            try:
                if not self._registered.is_set():
                    self._register()
                self._beat(_CALL_TIMEOUT_S)
            except grpc.RpcError as error:
                if self._note(error, "Heartbeat") is grpc.StatusCode.NOT_FOUND:
                    self._registered.clear()
                self._quit.wait(backoff.pause_s())
                continue
            backoff.reset()
            self._wake.wait(self._interval_s)
        if self._registered.is_set() and self._reports_end:
            try:
                self._beat(_LAST_BEAT_TIMEOUT_S)
            except grpc.RpcError as error:
                self._note(error, "Heartbeat")

    def _register(self) -> None:
        answer = self._stub.Register(self._request, timeout=_CALL_TIMEOUT_S, wait_for_ready=True)
        self._registered.set()
        log.info("registered", coordinator=self._address, endpoint=self._request.endpoint)
        self._interval_s = seconds(answer.heartbeat_interval) or self._interval_s

    def _beat(self, timeout_s: float) -> None:
        now_s = time.monotonic()
        beat = self._meter.take(self._replica, now_s - self._beaten_s)
        try:
            answer = self._stub.Heartbeat(beat, timeout=timeout_s, wait_for_ready=not self._quit.is_set())
        except grpc.RpcError as error:
            if _status(error) not in _FINAL:
                self._meter.restore(beat)
                raise
            log.error("heartbeat_refused", detail=str(error.details() if isinstance(error, grpc.Call) else error))
            return
        self._beaten_s = now_s
        self._interval_s = seconds(answer.heartbeat_interval) or self._interval_s
        if self._troubled:
            log.info("coordinator_back", coordinator=self._address)
            self._troubled.clear()
        self._on_response(answer)
        until_s = now_s + self._interval_s  # rejections must not keep the next beat waiting, if there is to be one
        while self._rejections and (time.monotonic() < until_s or self._quit.is_set()):
            self._send_rejection(self._rejections[0], timeout_s)
            self._rejections.popleft()
        if self._rejections:
            self._wake.set()

    def _send_rejection(self, rejection: pb.RejectExampleRequest, timeout_s: float) -> None:
        """Send one; a final answer is logged, and not tried again."""
        try:
            self._stub.RejectExample(rejection, timeout=timeout_s)
        except grpc.RpcError as error:
            if _status(error) not in _FINAL:
                raise
            log.error("rejection_refused", utterance=rejection.utterance, status=_status(error).name)

    def _watch(self, stage: str, on_endpoints: Callable[[list[str]], None]) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._quit.is_set():
            answers = self._stub.WatchEndpoints(pb.WatchEndpointsRequest(stage=stage), wait_for_ready=True)
            self._watches[stage] = answers
            if self._quit.is_set():
                answers.cancel()
            try:
                for answer in answers:
                    backoff.reset()
                    on_endpoints(list(answer.endpoints))
            except grpc.RpcError as error:
                self._note(error, "WatchEndpoints")
            self._quit.wait(backoff.pause_s())

    def _note(self, error: grpc.RpcError, call: str) -> grpc.StatusCode:
        """Log a failed call, once until the coordinator is back, and return its status."""
        status = _status(error)
        if call not in self._troubled and not self._quit.is_set():
            self._troubled.add(call)
            detail = error.details() if isinstance(error, grpc.Call) else str(error)
            log.warning("coordinator_call_failed", call=call, status=status.name, detail=detail)
        return status


def _status(error: grpc.RpcError) -> grpc.StatusCode:
    return error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN
