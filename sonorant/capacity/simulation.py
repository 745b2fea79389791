"""A discrete-event simulation of the pipeline: stages of replicas, credit-bounded queues, ranks that step together.

As in the real one, a replica holds at most `credits` examples, waiting, computed or ready; it grants a credit when one
has left, and the oldest credit is served first; the first stage always has input. Not simulated: the messages' latency
(`StageCost.service_s` includes their CPU time), and the ends of epochs.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from sonorant.capacity.measurements import Counters, Snapshot
from sonorant.capacity.scenario import Control, Draw, Moment, StageModel, TrainerModel, Weather
from sonorant.capacity.simulated_gang import Gang
from sonorant.capacity.simulated_node import Node

__all__ = ["Simulation"]

_BLOCK = 4096  # examples a draw of service times


@dataclass(slots=True, eq=False)
class _Replica:
    stage: "_Stage"
    name: str
    waiting: deque[list[Any]] = field(default_factory=deque)
    held: int = 0
    idle: bool = True
    alive: bool = True
    leaving: bool = False
    busy_s: float = 0.0
    cpu_s: float = 0.0
    examples: int = 0


@dataclass(slots=True, eq=False)
class _Stage:
    model: StageModel
    number: int
    desired: int = 0
    starting: int = 0
    replicas: list[_Replica] = field(default_factory=list)
    asking: deque[_Replica] = field(default_factory=deque)  # an entry for each free slot, the oldest first
    ready: deque[tuple[_Replica, list[Any]]] = field(default_factory=deque)  # examples without a credit
    busy_s: float = 0.0  # of all replicas, also ended ones
    alive_s: float = 0.0
    waited_s: float = 0.0  # of all examples, from the end of the stage before to the start of this one
    begun: int = 0
    lost: int = 0


class Simulation:
    """Runs a chain of `stages` and a trainer; `draw` gives the examples' service times."""

    def __init__(
        self,
        stages: Sequence[StageModel],
        trainer: TrainerModel,
        draw: Draw,
        rng: np.random.Generator,
        weather: Weather | None = None,
    ) -> None:
        self.now_s = 0.0
        self._weather = weather or Weather()
        self._node = Node(self._weather.cores)
        self._rng = rng
        self._rows = self._draw_rows(draw)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()
        self._names = count()
        self._stages = [_Stage(model, number) for number, model in enumerate(stages)]
        self.gang = Gang(trainer, self._at, self._serve_trainer)
        for stage in self._stages:
            stage.desired = stage.model.replicas
            for _ in range(stage.desired):
                self._join(stage)

    def run(self, until_s: float, every_s: float | None = None, control: Control | None = None) -> list[Moment]:
        """Run until `until_s`; measure every `every_s`, apply `control`'s decisions, and return the measurements."""
        looks: list[Moment] = []
        every_s = every_s or until_s - self.now_s
        while self.now_s < until_s - 1e-9:
            before = self._totals()
            self._advance(min(self.now_s + every_s, until_s))
            looks.append(self._look(before))
            if control is not None:
                desired = {stage.model.name: stage.desired for stage in self._stages}
                for name, replicas in control(self.snapshot(), desired, self.now_s).items():
                    self.set_replicas(name, replicas)
        return looks

    def snapshot(self) -> Snapshot:
        """Return the snapshot of such a cluster's coordinator."""
        stages = {
            stage.model.name: {r.name: Counters(r.busy_s, r.examples, r.cpu_s) for r in stage.replicas}
            for stage in self._stages
        }
        return Snapshot(stages, self.gang.counters(), {}, self.gang.wanted)

    def set_replicas(self, name: str, replicas: int) -> None:
        """Set a stage's desired replicas: new ones start, the youngest drain."""
        stage = next(stage for stage in self._stages if stage.model.name == name)
        stage.desired = replicas
        staying = [replica for replica in stage.replicas if not replica.leaving]
        for _ in range(replicas - len(staying) - stage.starting):
            stage.starting += 1
            self._at(self._weather.start_s, self._start, stage)
        for replica in staying[replicas:]:
            replica.leaving = True
            self._leave_if_empty(replica)

    def kill(self, name: str) -> None:
        """Kill one replica of a stage, with its examples; a new one replaces it."""
        stage = next(stage for stage in self._stages if stage.model.name == name)
        self._die(stage.replicas[0])

    def waits_s(self) -> dict[str, float]:
        """Return the mean wait of an example before each stage, from the end of the stage before."""
        return {s.model.name: s.waited_s / max(1, s.begun) for s in self._stages}

    def lost(self) -> int:
        """Return the number of examples lost with killed replicas; a real coordinator leases them again."""
        return sum(stage.lost for stage in self._stages)

    def under_way(self) -> int:
        """Return the number of examples read, and neither trained on nor lost."""
        return self._stages[0].begun - self.gang.examples - self.lost()

    def held(self) -> dict[str, int]:
        """Return the number of examples that each stage holds."""
        return {stage.model.name: sum(r.held for r in stage.replicas) for stage in self._stages}

    def _draw_rows(self, draw: Draw) -> Iterator[list[float]]:
        while True:
            yield from draw(self._rng, _BLOCK).tolist()

    def _at(self, delay_s: float, act: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (self.now_s + delay_s, next(self._order), act, arguments))

    def _advance(self, until_s: float) -> None:
        events, pop = self._events, heapq.heappop
        while events and events[0][0] <= until_s:
            self.now_s, _, act, arguments = pop(events)
            act(*arguments)
        self.now_s = until_s

    def _start(self, stage: _Stage) -> None:
        stage.starting -= 1
        if sum(not replica.leaving for replica in stage.replicas) < stage.desired:
            self._join(stage)

    def _join(self, stage: _Stage) -> None:
        replica = _Replica(stage, f"{stage.model.name}-{next(self._names)}")
        stage.replicas.append(replica)
        if self._weather.deaths_per_hour:
            self._at(self._rng.exponential(3600 / self._weather.deaths_per_hour), self._die, replica)
        for _ in range(stage.model.credits):
            self._ask(replica)

    def _die(self, replica: _Replica) -> None:
        if not replica.alive:
            return
        replica.alive = False
        stage = replica.stage
        stage.lost += replica.held
        stage.replicas.remove(replica)
        if not replica.leaving:
            stage.starting += 1
            self._at(self._weather.start_s, self._start, stage)

    def _leave_if_empty(self, replica: _Replica) -> None:
        if replica.leaving and replica.alive and not replica.held:
            replica.alive = False
            replica.stage.replicas.remove(replica)

    def _ask(self, replica: _Replica) -> None:
        """Fill a free slot of a replica, now or once the stage before has an example; that frees a slot there."""
        while True:
            if replica.leaving or not replica.alive:
                self._leave_if_empty(replica)
                return
            stage = replica.stage
            if stage.number == 0:
                self._take(replica, [self.now_s, next(self._rows)])
                return
            given = self._give(self._stages[stage.number - 1])
            if given is None:
                stage.asking.append(replica)
                return
            giver, example = given
            self._take(replica, example)
            replica = giver

    def _give(self, stage: _Stage) -> tuple[_Replica, list[Any]] | None:
        """Return the oldest ready example of a stage, and the replica whose slot it frees."""
        while stage.ready:
            giver, example = stage.ready.popleft()
            if giver.alive:
                giver.held -= 1
                return giver, example
        return None

    def _take(self, replica: _Replica, example: list[Any]) -> None:
        replica.held += 1
        if replica.idle:
            self._begin(replica, example)
        else:
            replica.waiting.append(example)

    def _begin(self, replica: _Replica, example: list[Any]) -> None:
        stage = replica.stage
        replica.idle = False
        stage.waited_s += self.now_s - example[0]
        stage.begun += 1
        if stage.model.waits_s:
            self._at(stage.model.waits_s, self._compute, replica, example)
        else:
            self._compute(replica, example)

    def _compute(self, replica: _Replica, example: list[Any]) -> None:
        stage = replica.stage
        service_s = self._node.begin(example[1][stage.number], stage.model.granted)
        heapq.heappush(
            self._events, (self.now_s + service_s, next(self._order), self._finish, (replica, example, service_s))
        )

    def _finish(self, replica: _Replica, example: list[Any], service_s: float) -> None:
        stage = replica.stage
        self._node.end(stage.model.granted)
        if not replica.alive:
            return
        service_s += stage.model.waits_s
        replica.busy_s += service_s
        replica.cpu_s += example[1][stage.number]
        stage.busy_s += service_s
        replica.examples += 1
        example[0] = self.now_s
        replica.idle = True
        if replica.waiting:
            self._begin(replica, replica.waiting.popleft())
        if self._hand_on(stage, example):
            replica.held -= 1
            self._ask(replica)
        else:
            stage.ready.append((replica, example))

    def _hand_on(self, stage: _Stage, example: list[Any]) -> bool:
        """Give an example to the oldest credit; False without one."""
        if stage.number + 1 == len(self._stages):
            return self.gang.take(self.now_s)
        asking = self._stages[stage.number + 1].asking
        while asking:
            taker = asking.popleft()
            if taker.alive and not taker.leaving:
                self._take(taker, example)
                return True
        return False

    def _serve_trainer(self) -> None:
        """Give the trainer the ready examples, up to its credit."""
        last = self._stages[-1]
        while self.gang.wanted and (given := self._give(last)) is not None:
            self.gang.take(self.now_s)
            self._ask(given[0])

    def _totals(self) -> tuple[float, int, float, list[float]]:
        return self.now_s, self.gang.examples, self.gang.session_s(self.now_s), [s.busy_s for s in self._stages]

    def _look(self, before: tuple[float, int, float, list[float]]) -> Moment:
        since_s, examples, session_s, busy_s = before
        elapsed_s = self.now_s - since_s
        return Moment(
            at_s=self.now_s,
            replicas={s.model.name: s.desired for s in self._stages},
            working={s.model.name: len(s.replicas) for s in self._stages},
            rate=(self.gang.examples - examples) / elapsed_s,
            t_session=(self.gang.session_s(self.now_s) - session_s) / elapsed_s,
            utilisation={
                s.model.name: (s.busy_s - busy) / elapsed_s / max(1, len(s.replicas))
                for s, busy in zip(self._stages, busy_s, strict=True)
            },
        )
