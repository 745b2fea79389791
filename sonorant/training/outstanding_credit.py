"""Granted credit without an arrival yet."""

__all__ = ["OutstandingCredit"]

_MOST_AT_ONCE = 10_000  # producers take grants of some more for a fault; the rest is granted with the next ones


class OutstandingCredit:
    """Counts a consumer's outstanding credits, so that it never grants more than it has free slots."""

    def __init__(self) -> None:
        self._count = 0

    def up_to(self, slots: int) -> int:
        """Return the credits to grant so that `slots` are outstanding, or as many as one grant may have; they count."""
        count = max(0, min(slots - self._count, _MOST_AT_ONCE))
        self._count += count
        return count

    def used(self, count: int) -> None:
        """Subtract the credit of `count` arrivals; those without credit use none."""
        self._count = max(0, self._count - count)
