"""The autoscaler's iteration: elect a leader, observe, plan, patch scales, write events."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from services.autoscaler.cluster import Cluster, Scale, Workload
from services.autoscaler.election import Election
from services.autoscaler.measuring import snapshot_of
from services.autoscaler.news import News
from services.autoscaler.resting import Resting
from sonorant.capacity.planner import Decision, Planner, PlannerSettings
from sonorant.capacity.sizing import figure
from sonorant.errors import Unavailable
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["Autoscaler", "Shown", "deployments_of"]

log = structlog.get_logger()


@dataclass
class Shown:
    """What metrics show: figures of the latest iteration, and counts of outcomes and failures."""

    leading: bool = False
    decision: Decision | None = None
    t_session: float | None = None
    # By outcome: standby, held, kept, scaled, rested, watched.
    iterations: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)  # by server: api, coordinator


class Autoscaler:
    """Scales the Deployment of each of `stages`; `ask` returns the coordinator's status or raises Unavailable.

    settings: the planner's; None: no planning. resting: scales to 0 when training is complete; None: no such scaling.
    """

    def __init__(
        self,
        cluster: Cluster,
        deployments: Mapping[str, Workload],
        lease: tuple[str, int],
        identity: str,
        settings: PlannerSettings | None,
        ask: Callable[[], pb.GetStatusResponse],
        resting: Resting | None = None,
    ) -> None:
        self._cluster = cluster
        self._deployments = deployments
        self._lease, self._lease_s = lease
        self._election = Election(identity, self._lease_s)
        self._settings = settings
        self._planner = self._new_planner()
        self._ask = ask
        self._news = News()
        self._resting = resting
        self._known: dict[str, int] = {}
        self.shown = Shown()

    def iterate(self) -> None:
        """Decide once, as the leader; without API server or coordinator replicas stay."""
        self._elect()
        self.shown.leading = self._election.leads(time.monotonic())
        if not self.shown.leading:
            self.shown.decision = None
            self._planner = self._new_planner()  # another leader has scaled since
            if self._resting is not None:
                self._resting.forget()
            self.shown.iterations["standby"] += 1
            return
        status = self._status()
        if not self._rests(status) and self._planner is not None:
            self._plan(status, self._planner)

    def _new_planner(self) -> Planner | None:
        return None if self._settings is None else Planner(tuple(self._deployments), self._settings)

    def _rests(self, status: pb.GetStatusResponse | None) -> bool:
        """Scale to 0 or back at the end of training; return whether there is nothing to plan."""
        rests = False
        try:
            if self._resting is not None:
                rests = self._resting.iterate(None if status is None else status.finished)
                self._succeeded("api", "rest")
        except Unavailable as error:
            self._failed("api", "rest", error)
            rests = True  # a partial rest is not planned over
        if rests or self._planner is None:
            self.shown.decision = None
            self.shown.iterations["rested" if rests else "watched"] += 1
        return rests

    def _plan(self, status: pb.GetStatusResponse | None, planner: Planner) -> None:
        try:
            scales = {stage: self._cluster.scale(workload) for stage, workload in self._deployments.items()}
        except Unavailable as error:
            self._failed("api", "scales", error)
            self._hold(str(error))
            return
        self._succeeded("api", "scales")
        self._known = {stage: scale.replicas for stage, scale in scales.items()}
        if off := [stage for stage, count in self._known.items() if not count]:
            self._hold(f"{', '.join(off)}: scaled to 0, which is kept")
            return
        snapshot = None if status is None else snapshot_of(status, tuple(self._deployments))
        self._carry_out(planner.decide(snapshot, self._known, time.monotonic()), scales)

    def resign(self) -> None:
        """Release the lease, so that a standby need not wait for its expiry."""
        if not self._election.leads(time.monotonic()):
            return
        self._election.lost()
        try:
            found = self._cluster.lease(self._lease)
            if found is not None and found[0].holder == self._election.identity:
                self._cluster.take_lease(self._lease, "", self._lease_s, found)
        except Unavailable as error:
            log.warning("lease_kept", error=str(error))

    def _elect(self) -> None:
        led = self._election.leads(time.monotonic())
        try:
            found = self._cluster.lease(self._lease)
            sent_s = time.monotonic()
            if self._election.may_take(found and found[0], sent_s):
                if self._cluster.take_lease(self._lease, self._election.identity, self._lease_s, found):
                    self._election.took(sent_s)
            else:
                self._election.lost()
            self._succeeded("api", "lease")
        except Unavailable as error:
            self._failed("api", "lease", error)
        if led != (leads := self._election.leads(time.monotonic())):
            log.info("leading" if leads else "standing_by", lease=self._lease)

    def _status(self) -> pb.GetStatusResponse | None:
        try:
            status = self._ask()
        except Unavailable as error:
            self._failed("coordinator", "status", error)
            self.shown.t_session = None
            return None
        self._succeeded("coordinator", "status")
        self.shown.t_session = status.t_session if status.HasField("t_session") else None
        return status

    def _hold(self, why: str) -> None:
        """Keep all replicas; the planner gets an empty observation, which delays scale-downs."""
        if self._known and self._planner is not None:
            self._planner.decide(None, self._known, time.monotonic())
        self.shown.decision = Decision(dict(self._known), held=why)
        self.shown.iterations["held"] += 1
        if self._news.is_new("decided", why):
            log.info("held", because=why)

    def _carry_out(self, decision: Decision, scales: Mapping[str, Scale]) -> None:
        changes = {stage: n for stage, n in decision.replicas.items() if n != scales[stage].replicas}
        self.shown.decision = decision
        self.shown.iterations["scaled" if changes else "held" if decision.held else "kept"] += 1
        if self._news.is_new("decided", _summary(decision)) or changes:
            log.info(
                "decided",
                replicas=dict(decision.replicas),
                held=decision.held,
                demand=decision.demand,
                limits=decision.limits,
            )
        try:
            for stage, replicas in changes.items():
                if self._election.leads(time.monotonic()):
                    self._scale(stage, scales[stage], replicas, decision)
            self._succeeded("api", "scaling")
        except Unavailable as error:
            self._failed("api", "scaling", error)
        self._warn("Held", decision.held, scales)
        self._warn("Saturated", "; ".join(decision.limits), scales)

    def _scale(self, stage: str, scale: Scale, replicas: int, decision: Decision) -> None:
        self._cluster.set_replicas(self._deployments[stage], replicas)
        self._known[stage] = replicas
        why = (
            decision.held or f"the trainer can take {figure(decision.demand.rate if decision.demand else 0)} examples/s"
        )
        if (service_s := decision.service_s.get(stage)) is not None:
            why += f", at {figure(1e3 * service_s)} ms each"
        message = f"{scale.replicas} to {replicas} replicas: {why}"
        log.info("scaled", stage=stage, replicas=replicas, before=scale.replicas)
        self._cluster.write_event(self._deployments[stage], scale.uid, "Scaled", message)

    def _warn(self, reason: str, message: str, scales: Mapping[str, Scale]) -> None:
        """Write a warning event at the stage that the message names, once while it stays the same."""
        if self._news.is_new(reason, message) and message:
            stage = next((stage for stage in scales if message.startswith(f"{stage}:")), next(iter(scales)))
            self._cluster.write_event(self._deployments[stage], scales[stage].uid, reason, message, warning=True)

    def _failed(self, server: str, what: str, error: Unavailable) -> None:
        self.shown.failures[server] += 1
        if self._news.is_new(what, str(error)):
            log.warning("call_failed", server=server, error=str(error))

    def _succeeded(self, server: str, what: str) -> None:
        if self._news.is_new(what, ""):
            log.info("call_succeeded_again", server=server, what=what)


def _summary(decision: Decision) -> str:
    replicas = ", ".join(f"{stage} x{count}" for stage, count in decision.replicas.items())
    return "; ".join((replicas, decision.held, *decision.limits))


def deployments_of(stages: Sequence[str], prefix: str) -> dict[str, Workload]:
    """Return the Deployments of stages, by the chart's names."""
    return {stage: Workload(prefix + stage.replace("_", "-")) for stage in stages}
