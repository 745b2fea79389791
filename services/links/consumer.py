"""The consumer's end of links: a DEALER for each producer; examples come in, credit goes out."""

from collections.abc import Callable, Collection, Sequence

import structlog
import zmq

from services.links.connection import Connection, open_connection
from services.links.faults import LinkFaults
from services.process.keys import CurvePair
from sonorant.delivery.example import Example
from sonorant.links.credit import Grant, Grants
from sonorant.links.life import Action, Bye, Close, Connect, LinkLife, Ping, State
from sonorant.links.wire import (
    BUNDLE_BYTES,
    PROTOCOL_VERSION,
    BadMessage,
    Kind,
    decode_counts,
    decode_examples,
    decode_header,
    encode_header,
    encode_hello,
)

__all__ = ["ConsumerLinks"]

log = structlog.get_logger()

_READS = 64  # messages read from one socket before the next socket


class ConsumerLinks:
    """A link to each listed endpoint, and `deliver` called with each example of the lane.

    Flow control: a credit for each free slot; `release` frees slots. Life of a link, with
    reconnection and time-outs: `sonorant.links.life`. At-least-once: `on_broken` is called when a link ends without
    BYE, since examples may have been lost on it; its credits go to other producers. Malformed messages are dropped
    and counted. Not thread-safe.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        deliver: Callable[[Example], None],
        *,
        dead_after_s: float,
        max_example_bytes: int,
        on_broken: Callable[[], None] = lambda: None,
        curve: CurvePair | None = None,
        lane_name: str = "",
    ) -> None:
        self._context = context
        self._hello = encode_hello(lane_name)
        self._deliver = deliver
        self._on_broken = on_broken
        self._curve = curve
        self._dead_after_s = dead_after_s
        self._max_bytes = max(max_example_bytes, BUNDLE_BYTES)
        self._lives: dict[str, LinkLife] = {}
        self._connections: dict[str, Connection] = {}  # established, or about to be
        self._by_socket: dict[zmq.Socket[bytes], Connection] = {}
        self._sockets: Sequence[zmq.Socket[bytes]] = ()
        self._written: set[zmq.Socket[bytes]] = set()
        self._grants: Grants[str] = Grants()
        self._look_s = float("inf")  # the earliest time-out of a link
        self._draining = False
        self._on_drained: Callable[[], None] | None = None
        self._faults = LinkFaults()

    @property
    def faults(self) -> int:
        """Messages that were dropped, and links that ended without BYE."""
        return self._faults.total

    @property
    def producers(self) -> int:
        """Number of producers with an open link; any thread may call."""
        return sum(life.is_open for life in tuple(self._lives.values()))

    def sockets(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the sockets to listen to now."""
        return self._sockets

    def written(self) -> set[zmq.Socket[bytes]]:
        """Return the sockets that were written to since the last call."""
        written, self._written = self._written, set()
        return written

    def list_endpoints(self, endpoints: Collection[str], now_s: float) -> None:
        """Connect to new endpoints; links to missing ones stay open, but are not opened again."""
        if self._draining:
            return
        listed = frozenset(endpoints)
        for endpoint in sorted(listed):
            life = self._lives.setdefault(endpoint, LinkLife(self._dead_after_s))
            self._do(endpoint, life, life.listed(now_s), now_s)
        for endpoint in self._lives.keys() - listed:
            life = self._lives[endpoint]
            self._do(endpoint, life, life.unlisted(now_s), now_s)

    def release(self, count: int) -> None:
        """Free `count` slots; `on_time` grants them, once an iteration."""
        self._grants.release(count)

    def drain(self, on_drained: Callable[[], None], now_s: float) -> None:
        """Recall all credit; when all is back and no example can come any more, close and call `on_drained`."""
        self._draining, self._on_drained = True, on_drained
        self._grants.withdraw()
        for life in self._lives.values():
            life.drain()
        self._grant(now_s)

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        link = self._by_socket.get(readable)
        if link is None:
            return
        ended = readable is link.monitor  # messages from before are still to be read
        more = True
        for _ in range(_READS):
            more = self._read(link, now_s)
            if not more:
                break
        if ended and not more and not link.socket.closed:
            self._do(link.endpoint, link.life, link.life.lost(now_s), now_s)

    def on_time(self, now_s: float) -> float:
        """Grant credit, process time-outs of links; return the time of the next."""
        self._grant(now_s)
        if now_s < self._look_s:
            return self._look_s
        for endpoint, life in list(self._lives.items()):
            if life.due_s <= now_s and endpoint in self._lives:
                self._do(endpoint, life, life.tick(now_s), now_s)
        self._look_s = min((life.due_s for life in self._lives.values()), default=float("inf"))
        return self._look_s

    def close(self) -> None:
        """Send BYE and close all links."""
        for link in self._connections.values():
            if link.life.is_open:
                self._send(link, Kind.BYE, 0, 0.0)
            link.close()
        self._clear()

    def abort(self) -> None:
        """Close without BYE: for each producer the link is broken."""
        for link in self._connections.values():
            link.close(linger_ms=0)
        self._clear()

    def _clear(self) -> None:
        self._lives.clear()
        self._connections.clear()
        self._list_sockets()

    def _do(self, endpoint: str, life: LinkLife, actions: Sequence[Action], now_s: float) -> None:
        """Carry out the actions of an event."""
        for action in actions:
            match action:
                case Connect():
                    self._connect(endpoint, life, now_s)
                case Ping():
                    self._send(self._connections[endpoint], Kind.PING, 0, now_s)
                case Bye():
                    self._send(self._connections[endpoint], Kind.BYE, 0, now_s)
                case Close():
                    self._disconnect(endpoint, action, now_s)
        if life.state is State.CLOSED:
            self._lives.pop(endpoint, None)
        self._look_s = min(self._look_s, life.due_s)

    def _connect(self, endpoint: str, life: LinkLife, now_s: float) -> None:
        link = open_connection(self._context, endpoint, life, self._max_bytes, self._curve)
        if link is None:
            life.refused()
            return
        self._connections[endpoint] = link
        self._list_sockets()
        self._send_message(link, self._hello, now_s)

    def _disconnect(self, endpoint: str, close: Close, now_s: float) -> None:
        self._grants.leave(endpoint)
        link = self._connections.pop(endpoint)
        self._list_sockets()
        link.close()
        if close.was_open:
            log.info("link_closed", endpoint=endpoint, reason=close.reason)
        if close.broken:
            self._faults.end()
            self._on_broken()
        self._grant(now_s)

    def _read(self, link: Connection, now_s: float) -> bool:
        """Receive one message; False if there is none, or the link is closed."""
        if link.socket.closed:
            return False
        try:
            frame = link.socket.recv(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return False
        try:
            if frame.more:
                raise BadMessage("message of several frames: must have 1")
            self._on_message(link, frame.buffer, now_s)
        except BadMessage as error:
            self._faults.drop(error, endpoint=link.endpoint)
        while frame.more and not link.socket.closed:
            frame = link.socket.recv(copy=False)
        return True

    def _on_message(self, link: Connection, message: memoryview, now_s: float) -> None:
        kind, number = decode_header(message)
        life = link.life
        if kind is Kind.WELCOME:
            self._on_welcome(link, number, now_s)
        elif kind is Kind.BYE:
            self._do(link.endpoint, life, life.bye_received(now_s), now_s)
        elif not life.is_open:
            raise BadMessage(f"{kind.name} before WELCOME")
        elif kind is Kind.EXAMPLES:
            self._on_examples(link, message, number)
        else:
            self._on_credit_message(link, kind, number)
        life.received(now_s)

    def _on_credit_message(self, link: Connection, kind: Kind, number: int) -> None:
        if kind is Kind.BACKLOG:
            self._grants.on_backlog(link.endpoint, number)
        elif kind is Kind.RETURN:
            if not self._grants.on_return(link.endpoint, number):
                raise BadMessage(f"RETURN of {number} credits, more than were granted and recalled")
        elif kind is not Kind.PONG:
            raise BadMessage(f"{kind.name} from a producer")

    def _on_welcome(self, link: Connection, version: int, now_s: float) -> None:
        if version != PROTOCOL_VERSION:
            # The connect timeout ends the link: at the next attempt the replica may be of another version.
            log.error("protocol_mismatch", endpoint=link.endpoint, found=version, expected=PROTOCOL_VERSION)
            raise BadMessage(f"protocol version {version}: must be {PROTOCOL_VERSION}")
        if link.life.is_open:
            raise BadMessage("second WELCOME")
        link.life.welcomed(now_s)
        self._look_s = min(self._look_s, link.life.due_s)
        self._grants.join(link.endpoint)
        log.info("link_open", endpoint=link.endpoint)

    def _on_examples(self, link: Connection, message: memoryview, number: int) -> None:
        count, waiting = decode_counts(number)
        if not self._grants.on_examples(link.endpoint, count, waiting):
            raise BadMessage(f"{count} examples without credit")
        try:
            if len(message) > self._max_bytes:
                raise BadMessage(f"message of {len(message)} bytes: at most pipeline.max_example_mb, {self._max_bytes}")
            examples = decode_examples(message, count)
        except BadMessage:
            self._grants.release(count)
            raise
        for example in examples:
            self._deliver(example)

    def _list_sockets(self) -> None:
        self._by_socket = {s: link for link in self._connections.values() for s in (link.socket, link.monitor)}
        self._sockets = tuple(self._by_socket)

    def _grant(self, now_s: float) -> None:
        """Send grants and recalls; once drained, close."""
        for action in self._grants.actions():
            if (link := self._connections.get(action.producer)) is not None:
                kind, number = (Kind.GRANT, action.examples) if isinstance(action, Grant) else (Kind.RECALL, 0)
                self._send(link, kind, number, now_s)
        if self._on_drained is not None and self._grants.granted == 0:
            self.close()
            on_drained, self._on_drained = self._on_drained, None
            on_drained()

    def _send(self, link: Connection, kind: Kind, number: int, now_s: float) -> None:
        self._send_message(link, encode_header(kind, number), now_s)

    def _send_message(self, link: Connection, message: bytes, now_s: float) -> None:
        link.life.sent(now_s)
        link.send(message)
        self._written.add(link.socket)
