"""Parcels that share a message: small ones that wait for the same consumer anyway."""

from dataclasses import dataclass, field

from sonorant.pipeline.credit import Outbox
from sonorant.pipeline.wire import BUNDLE_BYTES, Buffer, join_examples

__all__ = ["Bundle", "Parcel", "gather"]

_BUNDLE_EXAMPLES = 64


@dataclass(frozen=True, slots=True)
class Parcel:
    """An example, ready to be sent (`encode_example`), and its audio in seconds."""

    message: memoryview
    audio_s: float


@dataclass(slots=True)
class Bundle:
    """Parcels that go to one consumer in one message."""

    consumer: bytes
    parcels: list[Parcel] = field(default_factory=list)
    size: int = 0
    more: bool = False

    def has_room(self, parcel: Parcel) -> bool:
        """Whether the message stays worth sharing with one parcel more."""
        return len(self.parcels) < _BUNDLE_EXAMPLES and self.size + len(parcel.message) <= BUNDLE_BYTES

    def add(self, parcel: Parcel, more: bool) -> None:
        """Take a parcel in; more: whether others wait."""
        self.parcels.append(parcel)
        self.size += len(parcel.message)
        self.more = more

    def message(self) -> Buffer:
        """Return the message that carries all parcels."""
        return join_examples([parcel.message for parcel in self.parcels], self.more)


def gather(outbox: Outbox[bytes, Parcel]) -> list[Bundle]:
    """Take from the outbox all that may go now."""
    bundles: list[Bundle] = []
    latest: dict[bytes, Bundle] = {}
    while (send := outbox.next_send()) is not None:
        bundle = latest.get(send.consumer)
        if bundle is None or not bundle.has_room(send.item):
            bundle = latest[send.consumer] = Bundle(send.consumer)
            bundles.append(bundle)
        bundle.add(send.item, send.more)
    return bundles
