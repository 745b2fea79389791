"""Granted credit without an arrival yet."""

__all__ = ["OutstandingCredit"]


class OutstandingCredit:
    """Counts a consumer's outstanding credits, so that it never grants more than it has free slots."""

    def __init__(self) -> None:
        self._count = 0

    def up_to(self, slots: int) -> int:
        """Return the credits to grant so that `slots` are outstanding, at least 0; they count as granted."""
        count = max(0, slots - self._count)
        self._count += count
        return count

    def used(self, count: int) -> None:
        """Subtract the credit of `count` arrivals; those without credit use none."""
        self._count = max(0, self._count - count)
