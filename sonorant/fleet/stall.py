"""Standstill of a run: its detection, the process to restart, and when to abort the run.

Progress is a step, a settled example or an utterance of dev that was recognised. A trainer that waits for batches, and
one whose run is complete, may stand still for `stall_after_s`; for loading, compiling and any one iteration of a rank's
loop the limit is `max_iteration_s`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sonorant.fleet.silence import LONGEST_LOOK_S

__all__ = ["COORDINATOR", "REDIS", "TRAINER", "GiveUp", "Restart", "Scene", "StageScene", "StallWatch"]

REDIS, COORDINATOR, TRAINER = "redis", "coordinator", "trainer"

_RESTARTS = 2  # without any progress, before the run is given up


@dataclass(frozen=True)
class StageScene:
    """One stage, all replicas together: registered replicas, examples that wait, examples sent."""

    name: str
    registered: int = 1
    queued: int = 0
    handed_on: int = 0


@dataclass(frozen=True)
class Scene:
    """Observations of a run at one look.

    redis, coordinator: whether they answer; the other fields count only if the coordinator does.
    marks: counts by name (a step's number, utterances of dev, settled examples of an epoch), which only grow while a
    generation lasts. stages: from the reader to the featurizer. ranks: how many are registered; waited_s: that these
    have waited for batches, on the average. finished: training is complete, by the coordinator's status.
    """

    redis: bool = True
    coordinator: bool = True
    generation: int = 0
    marks: Mapping[str, float] = field(default_factory=dict)
    stages: Sequence[StageScene] = ()
    ranks: int = 0
    waited_s: float = 0.0
    finished: bool = False


@dataclass(frozen=True)
class Restart:
    """Restart all replicas of `name`: REDIS, COORDINATOR, TRAINER or a stage; `because` ends a sentence."""

    name: str
    because: str


@dataclass(frozen=True)
class GiveUp:
    """End the run: nothing helped; `because` ends a sentence."""

    because: str


class StallWatch:
    """Decides from one scene after the other; `look` is called about every second."""

    def __init__(self, stall_after_s: float, max_iteration_s: float) -> None:
        self._stall_after_s = stall_after_s
        self._max_iteration_s = max(max_iteration_s, stall_after_s)
        self._quiet_s = 0.0  # since the last progress, restart or begin of a generation
        self._barren_s = 0.0  # since the last progress
        self._restarts = 0
        self._waited_s = 0.0  # by the ranks, while it is quiet
        self._moving: set[str] = set()  # stages that sent an example meanwhile
        self._last = Scene()

    def look(self, elapsed_s: float, scene: Scene) -> Restart | GiveUp | None:
        """Return the action to take now. elapsed_s: since the look before."""
        elapsed_s = min(elapsed_s, LONGEST_LOOK_S)
        self._quiet_s += elapsed_s
        self._barren_s += elapsed_s
        if scene.coordinator:
            self._note(scene)
        name, because, patience_s = self._blocking(scene)
        if self._quiet_s < patience_s and self._barren_s < (_RESTARTS + 1) * self._max_iteration_s:
            return None
        stood = f"no step and no settled example for {self._barren_s:.0f} s: {because}"
        if self._restarts >= _RESTARTS or self._barren_s >= (_RESTARTS + 1) * self._max_iteration_s:
            return GiveUp(stood)
        self._restarts += 1
        if self._restarts > 1:  # a new gang has everything leased again, whatever was lost on the way
            name = TRAINER
        self._begin()
        return Restart(name, stood)

    def _begin(self) -> None:
        self._quiet_s = self._waited_s = 0.0
        self._moving.clear()

    def _note(self, scene: Scene) -> None:
        last, self._last = self._last, scene
        if scene.generation != last.generation:
            self._begin()
        elif any(count > last.marks.get(name, 0) for name, count in scene.marks.items()):
            self._begin()
            self._barren_s, self._restarts = 0.0, 0
        else:  # counts begin anew with the coordinator
            self._waited_s += max(0.0, scene.waited_s - last.waited_s)
            before = {stage.name: stage.handed_on for stage in last.stages}
            self._moving |= {s.name for s in scene.stages if s.handed_on > before.get(s.name, s.handed_on)}

    def _blocking(self, scene: Scene) -> tuple[str, str, float]:
        """Return the process that blocks the run, the reason, and the allowed time."""
        if not scene.redis:
            return REDIS, "Redis does not answer", self._stall_after_s
        if not scene.coordinator:
            return COORDINATOR, "the coordinator does not answer", self._stall_after_s
        if scene.finished:
            return TRAINER, "training is complete, but the trainer does not leave", self._stall_after_s
        for stage in scene.stages:
            if not stage.registered:
                return stage.name, f"no replica of {stage.name} is registered", self._max_iteration_s
        if not scene.ranks:
            return TRAINER, "no rank of the trainer is registered", self._max_iteration_s
        if 2 * self._waited_s < self._quiet_s:
            return TRAINER, "the trainer does not come to its next batch", self._max_iteration_s
        return self._idle_stage(scene)

    def _idle_stage(self, scene: Scene) -> tuple[str, str, float]:
        """Return the stage nearest to the trainer that has examples and sends none; the reader if none has any."""
        for stage in reversed(scene.stages):
            if stage.queued and stage.name not in self._moving:
                because = f"{stage.name} has {stage.queued} examples and sends none"
                return stage.name, because, self._stall_after_s
        reader = scene.stages[0].name if scene.stages else TRAINER
        return reader, f"the trainer waits, no stage has an example, and {reader} reads none", self._stall_after_s
