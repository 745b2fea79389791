"""Links to the replicas of the stage before: a DEALER each, examples come in, credit goes out."""

from collections.abc import Callable, Collection, Sequence

import structlog
import zmq

from services.links.faults import LinkFaults
from services.links.upstream_link import UpstreamLink, open_link
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

__all__ = ["UpstreamLinks"]

log = structlog.get_logger()

_READS = 64  # messages taken from one socket before the others have their turn


class UpstreamLinks:
    """Connects to every endpoint it is given, and calls `deliver` with each example of `stream` that comes.

    A link that breaks or stays silent is closed and opened afresh, its credits go to the others; `on_broken` is called,
    because examples may have been lost on it. An endpoint that is no longer listed keeps its link while it lives: a
    draining replica leaves the list before its last example is out.
    Whoever owns the examples calls `release` when one has been handed on. Messages that make no sense are dropped.
    Only one thread may use it.
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
        stream: str = "",
    ) -> None:
        self._context = context
        self._hello = encode_hello(stream)
        self._deliver = deliver
        self._on_broken = on_broken
        self._curve = curve
        self._dead_after_s = dead_after_s
        self._max_bytes = max(max_example_bytes, BUNDLE_BYTES)
        self._lives: dict[str, LinkLife] = {}
        self._links: dict[str, UpstreamLink] = {}  # of those lives that are connected, or about to be
        self._by_socket: dict[zmq.Socket[bytes], UpstreamLink] = {}
        self._sockets: Sequence[zmq.Socket[bytes]] = ()
        self._written: set[zmq.Socket[bytes]] = set()
        self._grants: Grants[str] = Grants()
        self._look_s = float("inf")  # the earliest time at which something is due in one of the lives
        self._withdrawn = False
        self._on_withdrawn: Callable[[], None] | None = None
        self._faults = LinkFaults()

    @property
    def faults(self) -> int:
        """Messages that were dropped, and links that ended without a goodbye."""
        return self._faults.total

    def sockets(self) -> Sequence[zmq.Socket[bytes]]:
        """Return the sockets to listen to now."""
        return self._sockets

    def written(self) -> set[zmq.Socket[bytes]]:
        """Return the sockets that were written to since this was last asked."""
        written, self._written = self._written, set()
        return written

    def list_endpoints(self, endpoints: Collection[str], now_s: float) -> None:
        """Connect to the endpoints that are new."""
        if self._withdrawn:
            return
        listed = frozenset(endpoints)
        for endpoint in sorted(listed):
            life = self._lives.setdefault(endpoint, LinkLife(self._dead_after_s))
            self._do(endpoint, life, life.listed(now_s), now_s)
        for endpoint in self._lives.keys() - listed:
            life = self._lives[endpoint]
            self._do(endpoint, life, life.unlisted(now_s), now_s)

    def release(self, count: int) -> None:
        """Note that there is room for `count` examples more; `on_time` says so to the producers, once a turn."""
        self._grants.release(count)

    def withdraw(self, on_withdrawn: Callable[[], None], now_s: float) -> None:
        """Take back all credit; call `on_withdrawn` when no example can come any more, and then say goodbye."""
        self._withdrawn, self._on_withdrawn = True, on_withdrawn
        self._grants.withdraw()
        for life in self._lives.values():
            life.drain()
        self._grant(now_s)

    def on_readable(self, readable: zmq.Socket[bytes], now_s: float) -> None:
        """Receive what there is, without blocking."""
        link = self._by_socket.get(readable)
        if link is None:
            return
        ended = readable is link.monitor  # what came before that lies here to be read
        more = True
        for _ in range(_READS):
            more = self._read(link, now_s)
            if not more:
                break
        if ended and not more and not link.socket.closed:
            self._do(link.endpoint, link.life, link.life.lost(now_s), now_s)

    def on_time(self, now_s: float) -> float:
        """Grant what there is room for, ping, give up the silent, try anew; return when the next is due."""
        self._grant(now_s)
        if now_s < self._look_s:
            return self._look_s
        for endpoint, life in list(self._lives.items()):
            if life.due_s <= now_s and endpoint in self._lives:
                self._do(endpoint, life, life.tick(now_s), now_s)
        self._look_s = min((life.due_s for life in self._lives.values()), default=float("inf"))
        return self._look_s

    def close(self) -> None:
        """Say goodbye and close all links."""
        for link in self._links.values():
            if link.life.is_open:
                self._send(link, Kind.BYE, 0, 0.0)
            link.hang_up()
        self._clear()

    def cut(self) -> None:
        """Close all links without a word."""
        for link in self._links.values():
            link.hang_up(linger_ms=0)
        self._clear()

    def _clear(self) -> None:
        self._lives.clear()
        self._links.clear()
        self._list_sockets()

    def _do(self, endpoint: str, life: LinkLife, actions: Sequence[Action], now_s: float) -> None:
        """Carry out what an event of a link's life calls for."""
        for action in actions:
            match action:
                case Connect():
                    self._connect(endpoint, life, now_s)
                case Ping():
                    self._send(self._links[endpoint], Kind.PING, 0, now_s)
                case Bye():
                    self._send(self._links[endpoint], Kind.BYE, 0, now_s)
                case Close():
                    self._disconnect(endpoint, action, now_s)
        if life.state is State.CLOSED:
            self._lives.pop(endpoint, None)
        self._look_s = min(self._look_s, life.due_s)

    def _connect(self, endpoint: str, life: LinkLife, now_s: float) -> None:
        link = open_link(self._context, endpoint, life, self._max_bytes, self._curve)
        if link is None:
            life.refused()
            return
        self._links[endpoint] = link
        self._list_sockets()
        self._send_message(link, self._hello, now_s)

    def _disconnect(self, endpoint: str, close: Close, now_s: float) -> None:
        self._grants.leave(endpoint)
        link = self._links.pop(endpoint)
        self._list_sockets()
        link.hang_up()
        if close.was_open:
            log.info("link_closed", endpoint=endpoint, reason=close.reason)
        if close.broken:
            self._faults.end()
            self._on_broken()
        self._grant(now_s)

    def _read(self, link: UpstreamLink, now_s: float) -> bool:
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

    def _on_message(self, link: UpstreamLink, message: memoryview, now_s: float) -> None:
        kind, number = decode_header(message)
        life = link.life
        if kind is Kind.WELCOME:
            self._on_welcome(link, number, now_s)
        elif kind is Kind.BYE:
            self._do(link.endpoint, life, life.said_goodbye(now_s), now_s)
        elif not life.is_open:
            raise BadMessage(f"{kind.name} before WELCOME")
        elif kind is Kind.EXAMPLES:
            self._on_examples(link, message, number)
        else:
            self._on_credit_message(link, kind, number)
        life.heard(now_s)

    def _on_credit_message(self, link: UpstreamLink, kind: Kind, number: int) -> None:
        if kind is Kind.BACKLOG:
            self._grants.on_backlog(link.endpoint, number)
        elif kind is Kind.RETURN:
            if not self._grants.on_return(link.endpoint, number):
                raise BadMessage(f"RETURN of {number} credits, more than were granted and recalled")
        elif kind is not Kind.PONG:
            raise BadMessage(f"{kind.name} from a producer")

    def _on_welcome(self, link: UpstreamLink, version: int, now_s: float) -> None:
        if version != PROTOCOL_VERSION:
            # The link is left to its connect timeout: after that the replica may be of another version.
            log.error("protocol_mismatch", endpoint=link.endpoint, found=version, expected=PROTOCOL_VERSION)
            raise BadMessage(f"protocol version {version}: must be {PROTOCOL_VERSION}")
        if link.life.is_open:
            raise BadMessage("second WELCOME")
        link.life.welcomed(now_s)
        self._look_s = min(self._look_s, link.life.due_s)
        self._grants.join(link.endpoint)
        log.info("link_open", endpoint=link.endpoint)

    def _on_examples(self, link: UpstreamLink, message: memoryview, number: int) -> None:
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
        self._by_socket = {s: link for link in self._links.values() for s in (link.socket, link.monitor)}
        self._sockets = tuple(self._by_socket)

    def _grant(self, now_s: float) -> None:
        """Tell the producers what credit they have; if all is taken back, end."""
        for action in self._grants.actions():
            if (link := self._links.get(action.producer)) is not None:
                kind, number = (Kind.GRANT, action.examples) if isinstance(action, Grant) else (Kind.RECALL, 0)
                self._send(link, kind, number, now_s)
        if self._on_withdrawn is not None and self._grants.granted == 0:
            self.close()
            on_withdrawn, self._on_withdrawn = self._on_withdrawn, None
            on_withdrawn()

    def _send(self, link: UpstreamLink, kind: Kind, number: int, now_s: float) -> None:
        self._send_message(link, encode_header(kind, number), now_s)

    def _send_message(self, link: UpstreamLink, message: bytes, now_s: float) -> None:
        link.life.sent(now_s)
        link.send(message)
        self._written.add(link.socket)
