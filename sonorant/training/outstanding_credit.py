"""Credit that was granted and that no arrival has used."""

__all__ = ["OutstandingCredit"]


class OutstandingCredit:
    """Counts a consumer's credits, so that it never grants more than it has room for."""

    def __init__(self) -> None:
        self._count = 0

    def up_to(self, room: int) -> int:
        """Return how many credits to grant so that `room` are outstanding, 0 if as many are; they count as granted."""
        count = max(0, room - self._count)
        self._count += count
        return count

    def used(self, count: int) -> None:
        """Take off what `count` arrivals used; what came without credit uses none."""
        self._count = max(0, self._count - count)
