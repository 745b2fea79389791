"""Parcels that share a message: small ones that wait for the same consumer anyway."""

from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
import zmq

from services.links.zmq_message import ZmqMessage
from sonorant.links.lanes import Lanes
from sonorant.links.wire import BUNDLE_BYTES, ExampleMessage, join_examples

__all__ = ["OWN_ABOVE_BYTES", "Bundle", "Parcel", "gather"]

OWN_ABOVE_BYTES = BUNDLE_BYTES  # what is larger travels alone, so it is written where ZeroMQ will send it from
_BUNDLE_EXAMPLES = 64


class Parcel(NamedTuple):
    """The message of an example, ready to be sent, seconds of audio, its lane; who owns the memory, if ZeroMQ does."""

    message: memoryview
    audio_s: float
    lane: int = 0
    owner: ZmqMessage | None = None

    @classmethod
    def pack(cls, unwritten: ExampleMessage, audio_s: float, lane: int = 0) -> Self:
        """Write a message."""
        owner = ZmqMessage(unwritten.size) if unwritten.size > OWN_ABOVE_BYTES else None
        message = np.empty(unwritten.size, np.uint8).data if owner is None else owner.buffer
        unwritten.write(message)
        return cls(message, audio_s, lane, owner)


@dataclass(slots=True)
class Bundle:
    """Parcels that go to one consumer in one message."""

    consumer: bytes
    parcels: list[Parcel] = field(default_factory=list)
    size: int = 0
    waiting: int = 0

    def has_room(self, parcel: Parcel) -> bool:
        """Whether the message stays worth sharing with one parcel more."""
        return len(self.parcels) < _BUNDLE_EXAMPLES and self.size + len(parcel.message) <= BUNDLE_BYTES

    def add(self, parcel: Parcel, waiting: int) -> None:
        """Take a parcel in, while `waiting` others wait."""
        self.parcels.append(parcel)
        self.size += len(parcel.message)
        self.waiting = waiting

    def send(self, socket: "zmq.Socket[bytes]") -> None:
        """Send one message with all parcels, without blocking; raise ZMQError if the socket does not take it."""
        message = join_examples([parcel.message for parcel in self.parcels], self.waiting)
        owner = self.parcels[0].owner
        if owner is not None and len(self.parcels) == 1:
            owner.send(socket)
        else:
            socket.send(message, zmq.NOBLOCK)


def gather(outbox: Lanes[bytes, Parcel]) -> list[Bundle]:
    """Take from the outbox all that may go now."""
    bundles: list[Bundle] = []
    latest: dict[bytes, Bundle] = {}
    while (send := outbox.next_send()) is not None:
        bundle = latest.get(send.consumer)
        if bundle is None or not bundle.has_room(send.item):
            bundle = latest[send.consumer] = Bundle(send.consumer)
            bundles.append(bundle)
        bundle.add(send.item, send.waiting)
    return bundles
