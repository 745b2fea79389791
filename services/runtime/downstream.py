"""Links to the replicas of the stage after: one ROUTER, credit comes in, examples go out."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog
import zmq

from services.runtime.addresses import local_address
from services.runtime.liveness import Liveness
from sonorant.errors import Unavailable
from sonorant.pipeline.credit import Outbox
from sonorant.pipeline.wire import PROTOCOL_VERSION, BadMessage, Kind, decode_header, encode_header

__all__ = ["DownstreamLinks", "Parcel"]

log = structlog.get_logger()

_LINGER_MS = 5000  # for the last examples of a draining replica, whose consumers live
_HANDSHAKE_MS = 5000
_COPY_BELOW_BYTES = 100_000  # below it, a copy is cheaper than the bookkeeping of none
_MAX_CONTROL_BYTES = 4096
_MAX_GRANT = 1 << 16
_READS = 256


@dataclass(frozen=True, slots=True)
class Parcel:
    """An example, ready to be sent: the frames after the header, and its audio in seconds."""

    envelope: bytes
    array: memoryview
    audio_s: float


class DownstreamLinks:
    """Sends parcels to consumers with credit, and calls `on_handed` after each; binds a port of `host`.

    Consumers on this machine may come by the port's local address (see `addresses`). Silent consumers are forgotten. A
    parcel whose consumer is gone goes to another; `on_broken` is called, because what was sent before may not have
    arrived. Messages that make no sense are dropped, and counted in `dropped`. Only one thread may use it.
    Raises Unavailable if `host` cannot be bound.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        host: str,
        on_handed: Callable[[Parcel], None],
        *,
        dead_after_s: float,
        on_broken: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_handed = on_handed
        self._on_broken = on_broken
        self._dead_after_s = dead_after_s
        self._outbox: Outbox[bytes, Parcel] = Outbox()
        self._liveness: Liveness[bytes] = Liveness(dead_after_s)
        self._on_parted: Callable[[], None] | None = None
        self._said_goodbye = False
        self._give_up: Callable[[], None] | None = None
        self._give_up_s = float("inf")
        self._lonely_since_s = 0.0
        self.dropped = 0
        self._router = context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._router.setsockopt(zmq.LINGER, _LINGER_MS)
        self._router.setsockopt(zmq.SNDHWM, 0)  # bounded by credit
        self._router.setsockopt(zmq.MAXMSGSIZE, _MAX_CONTROL_BYTES)
        self._router.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
        self._router.copy_threshold = _COPY_BELOW_BYTES
        try:
            self._router.bind(f"tcp://{host}:*")
        except zmq.ZMQError as error:
            self._router.close(linger=0)
            raise Unavailable(
                f"host {host}: cannot bind a port there ({error}); give an address of this machine"
            ) from error
        self.endpoint = self._router.getsockopt_string(zmq.LAST_ENDPOINT)
        try:
            self._router.bind(local_address(self.endpoint))
        except zmq.ZMQError as error:  # consumers on this machine come by TCP, as the others do
            log.warning("no_local_address", endpoint=self.endpoint, error=str(error))

    def sockets(self) -> list[zmq.Socket[bytes]]:
        """Return the socket to listen to."""
        return [self._router]

    @property
    def waiting(self) -> int:
        """Number of parcels that wait for credit."""
        return len(self._outbox)

    def offer(self, parcel: Parcel) -> None:
        """Take a parcel to send."""
        self._outbox.offer(parcel)
        self._pump()

    def part(self, on_parted: Callable[[], None]) -> None:
        """Call `on_parted` once, when no parcel waits and all consumers have what was sent to them.

        No parcel may be offered any more.
        """
        self._on_parted = on_parted
        self._part_if_empty()

    def give_up_at(self, time_s: float, give_up: Callable[[], None]) -> None:
        """Call `give_up` once: at that time, or earlier when nobody has been there for as long as it takes to die."""
        self._give_up_s, self._give_up = time_s, give_up

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        for _ in range(_READS):
            try:
                consumer, *frames = readable.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                self._on_message(consumer, frames, now_s)
            except BadMessage as error:
                self._drop(error)
        self._pump()

    def on_time(self, now_s: float) -> float:
        """Forget the silent; return when the next such thing is due."""
        for consumer in self._liveness.dead(now_s):
            self._forget(consumer, "silent")
        self._part_if_empty()
        if self._outbox.consumers:
            self._lonely_since_s = now_s
        if self._give_up is None:
            return self._liveness.next_look_s(now_s)
        give_up_s = min(self._give_up_s, self._lonely_since_s + self._dead_after_s)
        if now_s >= give_up_s:
            give_up, self._give_up = self._give_up, None
            give_up()
            return self._liveness.next_look_s(now_s)
        return min(self._liveness.next_look_s(now_s), give_up_s)

    def close(self) -> None:
        """Say goodbye to all, and close; what they have not received yet may be lost, if they did not part before."""
        for consumer in self._outbox.consumers:
            self._send(consumer, Kind.BYE)
        self._router.close()

    def _on_message(self, consumer: bytes, frames: list[bytes], now_s: float) -> None:
        if len(frames) != 1:
            raise BadMessage(f"message of {len(frames)} frames from a consumer: must have 1")
        kind, number = decode_header(frames[0])
        if kind is Kind.HELLO:
            self._on_hello(consumer, number, now_s)
            return
        if kind is Kind.BYE:
            self._forget(consumer, "bye")
            return
        if consumer not in self._outbox.consumers:
            self._send(consumer, Kind.BYE)  # it believes in a link that is no more
            raise BadMessage(f"{kind.name} before HELLO")
        self._liveness.heard(consumer, now_s)
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

    def _on_hello(self, consumer: bytes, version: int, now_s: float) -> None:
        if self._said_goodbye:
            return
        if version == PROTOCOL_VERSION:
            self._outbox.join(consumer)
            self._liveness.heard(consumer, now_s)
        self._send(consumer, Kind.WELCOME, PROTOCOL_VERSION)
        if version != PROTOCOL_VERSION:
            raise BadMessage(f"HELLO of protocol version {version}: must be {PROTOCOL_VERSION}")

    def _pump(self) -> None:
        while (send := self._outbox.next_send()) is not None:
            parcel = send.item
            frames = (send.consumer, encode_header(Kind.EXAMPLE, int(send.more)), parcel.envelope, parcel.array)
            try:
                self._router.send_multipart(frames, zmq.NOBLOCK, copy=False)
            except zmq.ZMQError as error:  # EHOSTUNREACH: it is gone; EAGAIN: it does not read
                self._outbox.unsent(send.consumer, parcel)
                self._liveness.forget(send.consumer)
                log.info("consumer_unreachable", error=str(error))
                self._on_broken()
                continue
            self._on_handed(parcel)
        for notice in self._outbox.backlogs():
            self._send(notice.consumer, Kind.BACKLOG, int(notice.waiting))
        self._part_if_empty()

    def _part_if_empty(self) -> None:
        if self._on_parted is None or self._outbox:
            return
        if not self._said_goodbye:
            self._said_goodbye = True
            for consumer in self._outbox.consumers:
                self._send(consumer, Kind.BYE)
        if not self._outbox.consumers:  # each has answered, or died
            on_parted, self._on_parted = self._on_parted, None
            on_parted()

    def _send(self, consumer: bytes, kind: Kind, number: int = 0) -> None:
        try:
            self._router.send_multipart((consumer, encode_header(kind, number)), zmq.NOBLOCK)
        except zmq.ZMQError:
            self._forget(consumer, "unreachable")

    def _forget(self, consumer: bytes, reason: str) -> None:
        if consumer in self._outbox.consumers:
            log.info("consumer_gone", reason=reason)
            if reason != "bye":
                self._on_broken()
        self._outbox.leave(consumer)
        self._liveness.forget(consumer)

    def _drop(self, error: BadMessage) -> None:
        self.dropped += 1
        if self.dropped & (self.dropped - 1) == 0:  # 1, 2, 4, 8 …: a babbling peer must not fill the log
            log.warning("message_dropped", error=str(error), dropped=self.dropped)
