"""The producer's end of links: one ROUTER for all consumers; credit comes in, examples go out."""

import contextlib
import time
from collections.abc import Callable, Sequence

import structlog
import zmq
from zmq.utils.monitor import parse_monitor_message

from services.links.curve import Authenticator
from services.links.faults import LinkFaults
from services.links.liveness import Liveness
from services.links.router import bind_router, open_router
from services.links.zmq_message import ZmqMessage
from services.process.keys import CurvePair
from sonorant.errors import Unavailable
from sonorant.links.outbox import Bundle, Outbox
from sonorant.links.wire import (
    PROTOCOL_VERSION,
    BadMessage,
    Kind,
    Parcel,
    decode_header,
    encode_header,
    join_examples,
    lane_name_of,
)

__all__ = ["ProducerLinks"]

log = structlog.get_logger()

_LINGER_MS = 5000  # for the last examples of a draining replica, whose consumers live
_LONGEST_SHOWN = 80
_MAX_GRANT = 1 << 16
_READS = 256
_MORE_FOLLOWS = zmq.SNDMORE | zmq.NOBLOCK
_EVENTS = zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL


class ProducerLinks:
    """Flow control by credit: a parcel for each credit, to the consumer with most; `on_handed` is called after each.

    Bundling: small parcels for one consumer in the same iteration of the loop share a message; none waits for others.
    Lanes: one for each of `lane_names`; a consumer's HELLO names its own. Liveness: a consumer that is silent for
    dead_after_s is dead. At-least-once: a parcel that was not sent goes to another consumer of its lane; `on_broken` is
    called when a link ends without BYE after parcels were sent on it, since they may not have arrived.
    Address: `port` of `host`, 0: a free one, and the port's local address (`addresses`). curve: the key that consumers
    must have; None: any. Malformed messages are dropped and counted. Not thread-safe. Raises Unavailable if it cannot
    bind.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        host: str,
        on_handed: Callable[[Parcel], None],
        *,
        port: int = 0,
        dead_after_s: float,
        on_broken: Callable[[], None] = lambda: None,
        curve: CurvePair | None = None,
        lane_names: Sequence[str] = ("",),
    ) -> None:
        self._lanes = {name: lane for lane, name in enumerate(lane_names)}
        self._on_handed = on_handed
        self._on_broken = on_broken
        self._dead_after_s = dead_after_s
        self._outbox: Outbox[bytes, Parcel] = Outbox(len(lane_names))
        self._served: set[bytes] = set()  # consumers with an example sent: only with these can one be lost
        self._liveness: Liveness[bytes] = Liveness(dead_after_s)
        self._on_drained: Callable[[], None] | None = None
        self._bye_sent = False
        self._on_overdue: Callable[[], None] | None = None
        self._overdue_s = float("inf")
        self._lonely_since_s = 0.0
        self._faults = LinkFaults()
        self._router = open_router(context, _LINGER_MS)
        self._monitor = self._router.get_monitor_socket(_EVENTS)
        self._sockets = (self._router, self._monitor)
        self._authenticator = None if curve is None else Authenticator(context, curve)
        if self._authenticator is not None:
            self._authenticator.guard(self._router)
        try:
            self.endpoint = bind_router(self._router, host, port)
        except Unavailable:
            self.abort()
            raise

    def sockets(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the sockets to listen to."""
        return self._sockets

    def written(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the socket that may have been written to."""
        return (self._router,)

    @property
    def faults(self) -> int:
        """Messages that were dropped, and connections that ended without BYE."""
        return self._faults.total

    @property
    def consumers(self) -> int:
        """Number of consumers with an open link; any thread may read it."""
        return len(self._outbox.consumers)

    @property
    def waiting(self) -> int:
        """Number of parcels that wait for credit."""
        return len(self._outbox)

    def offer(self, parcel: Parcel) -> None:
        """Queue a written parcel; `on_time` sends it, once an iteration."""
        self._outbox.offer(parcel)

    def drain(self, on_drained: Callable[[], None]) -> None:
        """Call `on_drained` once, when no parcel waits and all consumers have received theirs.

        No parcel may be offered any more.
        """
        self._on_drained = on_drained
        self._drain_if_empty()

    def give_up_at(self, time_s: float, on_overdue: Callable[[], None]) -> None:
        """Call `on_overdue` once: at that time, or earlier, after dead_after_s without any consumer."""
        self._overdue_s, self._on_overdue = time_s, on_overdue

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        if readable is self._monitor:
            self._on_events()
        else:
            self._receive(now_s)

    def on_time(self, now_s: float) -> float:
        """Send parcels that have credit, forget silent consumers; return the time of the next call."""
        self._pump()
        for consumer in self._liveness.dead(now_s):
            self._forget(consumer, "silent")
        self._drain_if_empty()
        if self._outbox.consumers:
            self._lonely_since_s = now_s
        if self._on_overdue is None:
            return self._liveness.next_look_s(now_s)
        overdue_s = min(self._overdue_s, self._lonely_since_s + self._dead_after_s)
        if now_s >= overdue_s:
            on_overdue, self._on_overdue = self._on_overdue, None
            on_overdue()
            return self._liveness.next_look_s(now_s)
        return min(self._liveness.next_look_s(now_s), overdue_s)

    def close(self) -> None:
        """Send BYE to all, and close; examples under way may be lost, unless the links were drained before."""
        for consumer in self._outbox.consumers:
            self._send(consumer, Kind.BYE)
        self._close_sockets(_LINGER_MS)

    def abort(self) -> None:
        """Close without BYE: for each consumer the link is broken."""
        self._close_sockets(linger_ms=0)

    def _close_sockets(self, linger_ms: int) -> None:
        self._router.disable_monitor()
        self._monitor.close(linger=0)
        self._router.close(linger=linger_ms)
        if self._authenticator is not None:
            self._authenticator.close()

    def _receive(self, now_s: float) -> None:
        for _ in range(_READS):
            try:
                consumer, *frames = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                self._on_message(consumer, frames, now_s)
            except BadMessage as error:
                self._faults.drop(error)

    def _on_message(self, consumer: bytes, frames: list[bytes], now_s: float) -> None:
        if len(frames) != 1:
            raise BadMessage(f"message of {len(frames)} frames from a consumer: must have 1")
        kind, number = decode_header(frames[0])
        if kind is Kind.HELLO:
            self._on_hello(consumer, number, lane_name_of(frames[0]), now_s)
            return
        if kind is Kind.BYE:
            if consumer in self._outbox:
                self._faults.excuse()
                self._forget(consumer, "bye")
            return
        if consumer not in self._outbox:
            self._send(consumer, Kind.BYE)  # its link has ended here: it was silent, or this is another process
            raise BadMessage(f"{kind.name} before HELLO")
        self._liveness.received(consumer, now_s)
        if kind is Kind.GRANT:
            if number > _MAX_GRANT:
                raise BadMessage(f"GRANT of {number} credits: at most {_MAX_GRANT}")
            self._outbox.on_grant(consumer, number)
        elif kind is Kind.RECALL:
            self._send(consumer, Kind.RETURN, self._outbox.on_recall(consumer))
        elif kind is Kind.PING:
            self._send(consumer, Kind.PONG)
        else:
            raise BadMessage(f"{kind.name} from a consumer")

    def _on_hello(self, consumer: bytes, version: int, lane_name: str, now_s: float) -> None:
        if self._bye_sent:
            return
        if version != PROTOCOL_VERSION:
            self._send(consumer, Kind.WELCOME, PROTOCOL_VERSION)
            raise BadMessage(f"HELLO of protocol version {version}: must be {PROTOCOL_VERSION}")
        if lane_name not in self._lanes:
            self._send(consumer, Kind.BYE)
            raise BadMessage(f"HELLO for {lane_name[:_LONGEST_SHOWN]!r}: this producer has {next(iter(self._lanes))!r}")
        self._outbox.join(consumer, self._lanes[lane_name])
        self._liveness.received(consumer, now_s)
        self._send(consumer, Kind.WELCOME, PROTOCOL_VERSION)

    def _pump(self) -> None:
        while bundles := self._outbox.bundles():
            self._outbox.unsent([bundle for bundle in bundles if not self._send_bundle(bundle)])
        for notice in self._outbox.backlogs():
            self._send(notice.consumer, Kind.BACKLOG, notice.waiting)

    def _send_bundle(self, bundle: Bundle[bytes, Parcel]) -> bool:
        """Send a bundle in one message; False if its consumer cannot be reached."""
        parcels = bundle.items
        message = join_examples([parcel.message for parcel in parcels], bundle.waiting)
        memory = parcels[0].memory
        try:
            self._router.send(bundle.consumer, _MORE_FOLLOWS)
            if isinstance(memory, ZmqMessage) and len(parcels) == 1:
                memory.send(self._router)
            else:
                self._router.send(message, zmq.NOBLOCK)
        except zmq.ZMQError as error:  # EHOSTUNREACH: it is gone; EAGAIN: it does not read
            self._lose(bundle.consumer, str(error))
            return False
        self._served.add(bundle.consumer)
        for parcel in parcels:
            self._on_handed(parcel)
        return True

    def _drain_if_empty(self) -> None:
        if self._on_drained is None or self._outbox:
            return
        if not self._bye_sent:
            self._bye_sent = True
            for consumer in self._outbox.consumers:
                self._send(consumer, Kind.BYE)
        if not self._outbox.consumers:  # each has answered, or is dead
            on_drained, self._on_drained = self._on_drained, None
            on_drained()

    def _send(self, consumer: bytes, kind: Kind, number: int = 0) -> None:
        try:
            self._router.send_multipart((consumer, encode_header(kind, number)), zmq.NOBLOCK)
        except zmq.ZMQError as error:
            self._lose(consumer, str(error))

    def _lose(self, consumer: bytes, error: str) -> None:
        """Forget a consumer that cannot be reached; its BYE may lie here unread."""
        self._receive(time.monotonic())
        self._forget(consumer, error)

    def _forget(self, consumer: bytes, reason: str) -> None:
        if consumer in self._outbox:
            log.info("consumer_gone", reason=reason)
            if reason != "bye" and consumer in self._served:
                self._on_broken()
        self._served.discard(consumer)
        self._outbox.leave(consumer)
        self._liveness.forget(consumer)

    def _on_events(self) -> None:
        """Count the ends of connections, but not of those without a completed handshake."""
        with contextlib.suppress(zmq.Again):
            while True:
                event = parse_monitor_message(self._monitor.recv_multipart(zmq.NOBLOCK))
                if event["event"] == zmq.EVENT_DISCONNECTED:
                    self._faults.end()
                elif event["event"] == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                    self._faults.excuse()
                else:
                    log.warning("link_refused", reason="no CurveZMQ handshake with the fleet's key")
