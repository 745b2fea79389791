"""The simulation's trainer: ranks that each fill a pool and draw batches from it, and step together."""

from collections import deque
from collections.abc import Callable

from sonorant.capacity.measurements import Counters
from sonorant.capacity.scenario import TrainerModel

__all__ = ["Gang"]


class _Rank:
    __slots__ = ("busy_s", "entered_s", "examples", "has_batch", "inside", "pool")

    def __init__(self, pool: int) -> None:
        self.pool = pool
        self.inside = False  # the step, or waiting there for the others
        self.has_batch = False
        self.entered_s = 0.0
        self.busy_s = 0.0
        self.examples = 0


class Gang:
    """All ranks. `at(delay_s, act, *arguments)` schedules an event; `serve` gives them ready examples."""

    def __init__(self, model: TrainerModel, at: Callable[..., None], serve: Callable[[], None]) -> None:
        self._model = model
        self._at = at
        self._serve = serve
        self._ranks = [_Rank(model.filled) for _ in range(model.ranks)]
        self._asking = deque(
            rank for _ in range(model.pool - model.filled) for rank in self._ranks
        )  # an entry for each free slot
        self._outside = model.ranks
        self._step = 0
        self._session_s = 0.0  # summed over ranks, of steps that are over
        self.examples = 0
        self._at(0.0, self._open, 0.0)

    @property
    def wanted(self) -> int:
        """Free slots of the pools."""
        return len(self._asking)

    def counters(self) -> dict[str, Counters]:
        """Return each rank's time in steps for which it had a batch, and its examples, as ranks report them."""
        return {f"trainer-{n}": Counters(rank.busy_s, rank.examples) for n, rank in enumerate(self._ranks)}

    def session_s(self, now_s: float) -> float:
        """Return the time in steps with a batch so far, as a mean over ranks; the step under way counts."""
        under_way_s = sum(now_s - rank.entered_s for rank in self._ranks if rank.inside and rank.has_batch)
        return (self._session_s + under_way_s) / len(self._ranks)

    def take(self, now_s: float) -> bool:
        """Put an example into the pool that has waited longest for one; False if all are full."""
        if not self._asking:
            return False
        rank = self._asking.popleft()
        rank.pool += 1
        if not rank.inside and rank.pool >= self._model.enough:
            self._enter(rank, now_s=now_s)
        return True

    def _enter(self, *ranks: _Rank, now_s: float) -> None:
        """Start the step of ranks, each with a batch if there is one for it; their pools then have free slots."""
        drawing = [rank for rank in ranks if rank.pool >= self._model.enough]
        for rank in ranks:
            rank.inside, rank.entered_s, rank.has_batch = True, now_s, False
        for rank in drawing:
            rank.has_batch = True
            rank.pool -= self._model.batch
        for _ in range(self._model.batch):
            self._asking.extend(drawing)
        self._outside -= len(ranks)
        if not self._outside:
            step_s = self._model.step_s if any(rank.has_batch for rank in self._ranks) else 0.0
            self._at(step_s, self._open, now_s + step_s)

    def _open(self, now_s: float) -> None:
        """End the step, and start the next of ranks with a batch."""
        for rank in self._ranks:
            if rank.inside and rank.has_batch:
                rank.busy_s += now_s - rank.entered_s
                self._session_s += now_s - rank.entered_s
                rank.examples += self._model.batch
                self.examples += self._model.batch
            rank.inside = False
        self._outside = len(self._ranks)
        self._step += 1
        self._at(self._model.patience_s, self._lose_patience, self._step, now_s + self._model.patience_s)
        self._enter(*(rank for rank in self._ranks if rank.pool >= self._model.enough), now_s=now_s)
        self._serve()

    def _lose_patience(self, step: int, now_s: float) -> None:
        """Start the step of ranks without a batch."""
        if step == self._step and self._outside:
            self._enter(*(rank for rank in self._ranks if not rank.inside), now_s=now_s)
