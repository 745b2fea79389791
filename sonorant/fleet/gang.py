"""Generations of a gang: which ranks train together. Each rank's launcher decides from a board shared by all.

A launcher announces a token, which stands for one process of its rank: once that has ended, however that was, the
launcher takes another and starts a process anew. A generation is a list of tokens, one a rank. So it is over as soon as
one of its ranks announces another token; and the next one begins when every rank has announced one that was in none
before, whose process is ready. As a launcher takes a new token only when the old one's process is gone, no rank of an
earlier generation is left when the next begins. Writes of a launcher that was replaced by another one of its rank are
refused by the ledger, which counts generations of its own.

An announcement is never absent on purpose: a board that lost its data makes all start again, and one that cannot be
read makes none act. A revision is what a launcher was deployed as; a gang is of one, so a roll-out mixes no two
recipes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Action", "Announcement", "Board", "Generation", "Member"]


@dataclass(frozen=True)
class Announcement:
    """The last announcement of a rank's launcher; `ready`: its process waits for the others."""

    token: str
    revision: str
    ready: bool


@dataclass(frozen=True)
class Generation:
    """The gang that was begun last: `tokens` by rank; `rendezvous`, HOST:PORT, is where its ranks find each other."""

    number: int
    rendezvous: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    """The shared state of all launchers; read atomically."""

    generation: Generation | None = None
    announced: Mapping[int, Announcement] = field(default_factory=dict)


class Action(StrEnum):
    """Action of a launcher.

    ANNOUNCE itself; WAIT; BEGIN the next generation, of the tokens that are announced; RUN its process as one of the
    generation on the board; END it, if it still runs, and `renew`; LEAVE, since another launcher has replaced it.
    """

    ANNOUNCE = "announce"
    WAIT = "wait"
    BEGIN = "begin"
    RUN = "run"
    END = "end"
    LEAVE = "leave"


class Member:
    """One launcher's part: rank `rank` of `ranks`, deployed as `revision`; `new_token` makes one unlike all others."""

    def __init__(self, rank: int, ranks: int, revision: str, new_token: Callable[[], str]) -> None:
        self.rank = rank
        self._ranks = ranks
        self._revision = revision
        self._new_token = new_token
        self._ready = False
        self._token = new_token()
        self._own = {self._token}
        self._announced = False
        self._used = False

    @property
    def announcement(self) -> Announcement:
        """The announcement that the board must hold for this rank."""
        return Announcement(self._token, self._revision, self._ready)

    def ready(self) -> None:
        """Note that the process waits for the others."""
        self._ready = True

    def renew(self) -> None:
        """Stand for another process, which is not ready; the one before must be gone."""
        self._ready = False
        self._token = self._new_token()
        self._own.add(self._token)
        self._used = False

    def decide(self, board: Board) -> Action:
        """Return the action to take now; repeated calls on an unchanged board return the same."""
        shown = board.announced.get(self.rank)
        if shown is not None and shown.token in self._own:
            self._announced = True
        elif shown is not None and self._announced:
            return Action.LEAVE
        generation = board.generation
        if generation is not None and self._token in generation.tokens:
            self._used = True
            return Action.END if _over(generation, board) else Action.RUN
        if self._used:
            return Action.END
        if shown != self.announcement:
            return Action.ANNOUNCE
        return Action.BEGIN if self.rank == 0 and self._complete(board) else Action.WAIT

    def next_generation(self, board: Board, rendezvous: str) -> Generation:
        """Return the generation to begin on a board for which `decide` returned BEGIN."""
        number = board.generation.number if board.generation else 0
        tokens = tuple(board.announced[rank].token for rank in range(self._ranks))
        return Generation(number + 1, rendezvous, tokens)

    def _complete(self, board: Board) -> bool:
        """Whether all ranks are ready, of one revision, with tokens that were not used."""
        used = board.generation.tokens if board.generation else ()
        for rank in range(self._ranks):
            shown = board.announced.get(rank)
            if shown is None or not shown.ready or shown.revision != self._revision or shown.token in used:
                return False
        return True


def _over(generation: Generation, board: Board) -> bool:
    """Whether one of a generation's ranks has announced another token."""
    shown = (board.announced.get(rank) for rank in range(len(generation.tokens)))
    return any(a is not None and a.token != token for a, token in zip(shown, generation.tokens, strict=True))
