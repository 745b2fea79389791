"""Errors of `sonorant.delivery.ledger`."""

from collections.abc import Sequence
from typing import Self

from sonorant.errors import SonorantError

__all__ = ["LedgerConflict", "LedgerLost", "StaleGeneration"]


class StaleGeneration(SonorantError):
    """Refused by fencing: a call of a gang of trainers that is not the ledger's current one."""

    exit_code = 75

    def __init__(self, found: int, current: int, where: str = "the ledger") -> None:
        super().__init__(
            f"generation {found}: {where} is in generation {current}; "
            "another gang of trainers has taken over, so this one must stop"
        )
        self.found = found
        self.current = current


class LedgerConflict(SonorantError):
    """A commit of examples that this generation never claimed: they could have been trained on twice."""

    def __init__(self, epoch: int, ordinals: Sequence[int]) -> None:
        super().__init__(
            f"commit in epoch {epoch} of {len(ordinals)} examples that were never claimed "
            f"(first: {list(ordinals[:5])}); claim examples before the step and commit only what was granted"
        )
        self.epoch = epoch
        self.ordinals = tuple(ordinals)


class LedgerLost(SonorantError):
    """The ledger's store has lost writes that it had acknowledged; a new gang goes on from a checkpoint."""

    exit_code = 75

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: the ledger's store was put back to an earlier state (fail-over, power cut, truncated log); "
            "the same command goes on from the last checkpoint"
        )

    @classmethod
    def of_writes(cls, client: str, acknowledged: int, found: int) -> Self:
        """Return the error of a client of whose acknowledged writes the store has `found` only."""
        return cls(f"{acknowledged - found} of {acknowledged} acknowledged writes of {client} are lost")

    @classmethod
    def of_generation(cls, found: int, current: int) -> Self:
        """Return the error of a generation that the ledger has forgotten."""
        return cls(f"generation {found} is lost, the ledger is in generation {current}")
