"""Iterations of an autoscaler with and without its API server, a real HTTP server of the paths it needs."""

import pytest
from kubernetes import config
from rigs.api_server import ApiServer
from rigs.autoscaler import seconds
from rigs.log import WrittenLog

from services.autoscaler.cluster import Cluster, Workload
from services.autoscaler.resting import Resting
from services.autoscaler.scaler import Autoscaler, deployments_of
from sonorant.capacity.planner import PlannerSettings
from sonorant.capacity.rest import Rest
from sonorant.capacity.sizing import Bounds
from sonorant.errors import Unavailable
from sonorant.v1 import coordinator_pb2 as pb

COSTS_S = {"vtlp": 0.05, "featurizer": 0.01}
NEEDED = {"vtlp": 7, "featurizer": 2}  # of 100 examples a second, at 0.8
TWICE = {"vtlp": 13, "featurizer": 3}


@pytest.fixture
def api():
    api = ApiServer()
    yield api
    api.stop()


class Training:
    """At each look 100 examples more are through, and all replicas that were asked for are there."""

    def __init__(self, api):
        self.api, self.rate, self.looks, self.trained_s = api, 100, 0, 0.0
        self.finished = False

    def __call__(self):
        if self.finished is None:
            raise Unavailable("the coordinator is away")
        self.looks += 1
        done, self.trained_s = 100 * self.looks, self.trained_s + 100 / self.rate
        stages = [
            pb.ReplicaStatus(stage=stage, replica=stage, busy=seconds(cost_s * done), examples=done)
            for stage, cost_s in COSTS_S.items()
        ]
        rank = pb.ReplicaStatus(stage="trainer", replica="t", busy=seconds(self.trained_s), examples=done)
        return pb.GetStatusResponse(replicas=[*stages, rank], t_session=0.5, finished=self.finished)


@pytest.fixture
def bounds():
    return {}


@pytest.fixture
def make(api, tmp_path, monkeypatch, bounds):
    """A function that makes another autoscaler process of the same training."""
    path = api.kubeconfig(tmp_path)
    for module in (config, config.kube_config):
        monkeypatch.setattr(module, "KUBE_CONFIG_DEFAULT_LOCATION", str(path))
    deployments = deployments_of(tuple(COSTS_S), "words-")
    api.replicas = {deployment.name: 1 for deployment in deployments.values()} | {"words-trainer": 1}
    training = Training(api)
    # A decision follows from the latest look.
    settings = PlannerSettings(window_s=1e-6, settle_s=0, stabilisation_s=0, bounds=bounds)

    def make(resting=None, planning=True):
        planner = settings if planning else None
        made = Autoscaler(Cluster("speech", "me"), deployments, ("lease", 60), "me", planner, training, resting)
        made.training = training
        return made

    return make


@pytest.fixture
def scaler(make):
    return make()


def told(api):
    counts = {name.removeprefix("words-"): count for name, count in api.replicas.items()}
    return {stage: counts[stage] for stage in COSTS_S}


def iterate(scaler, count):
    for _ in range(count):
        scaler.iterate()


def test_it_scales_tells_and_holds_its_lease(api, scaler):
    iterate(scaler, 2)
    assert told(api) == NEEDED
    message = "1 to 7 replicas: the trainer can take 100 examples/s, at 50 ms each"
    assert ("Normal", "Scaled", "words-vtlp", message) in api.events
    assert not [event for event in api.events if event[1] == "Saturated"]
    assert api.leases["lease"]["spec"]["holderIdentity"] == "me"


@pytest.mark.parametrize("bounds", [{"featurizer": Bounds(1, 1)}])
def test_what_keeps_the_trainer_from_its_rate_is_told_at_the_stage_once_until_it_is_another(api, scaler):
    def saturated():
        return [event for event in api.events if event[1] == "Saturated"]

    about = ("Warning", "Saturated", "words-featurizer")
    first = (*about, "featurizer: 3 replicas are needed, 1 allowed; they hand on 100 of 200 examples/s")
    scaler.training.rate = 200
    iterate(scaler, 4)
    assert saturated() == [first]
    scaler.training.rate = 400
    iterate(scaler, 2)
    second = (*about, "featurizer: 5 replicas are needed, 1 allowed; they hand on 100 of 400 examples/s")
    assert saturated() == [first, second]


@pytest.mark.parametrize("how", ["refuses", "breaks"])
def test_it_holds_while_the_api_server_cannot_be_asked_and_goes_on_afterwards(api, scaler, how):
    iterate(scaler, 2)
    scaler.training.rate = 200
    if how == "refuses":
        api.stop()
    else:
        api.broken = True
    iterate(scaler, 3)
    assert scaler.shown.failures["api"] == 6  # the lease, and the scales
    assert scaler.shown.iterations["held"] == 1 + 3  # the first, for want of measurements
    assert scaler.shown.decision.replicas == NEEDED
    assert ("cannot be reached" if how == "refuses" else "503") in scaler.shown.decision.held
    assert told(api) == NEEDED
    if how == "refuses":
        api.start()
    api.broken = False
    iterate(scaler, 1)
    assert told(api) == TWICE


def test_who_cannot_renew_its_lease_stops_though_it_could_scale(api, scaler):
    iterate(scaler, 2)
    api.leases["lease"] = {"metadata": {"resourceVersion": "9"}, "spec": {"holderIdentity": "another"}}
    api.leases["lease"]["spec"] |= {"leaseDurationSeconds": 60, "renewTime": "1970-01-01T00:00:00.000000Z"}
    scaler.training.rate = 200
    iterate(scaler, 2)
    assert not scaler.shown.leading
    assert told(api) == NEEDED
    assert api.leases["lease"]["spec"]["holderIdentity"] == "another"  # however old it says that it is


def test_who_leads_again_decides_nothing_by_what_it_saw_before_another_did(api, scaler):
    iterate(scaler, 2)
    api.leases["lease"] = {"metadata": {"resourceVersion": "9"}, "spec": {"holderIdentity": "another"}}
    api.leases["lease"]["spec"]["leaseDurationSeconds"] = 60
    iterate(scaler, 1)
    api.leases.clear()
    scaler.training.rate = 200
    iterate(scaler, 1)
    assert scaler.shown.leading
    assert "no example" in scaler.shown.decision.held
    assert told(api) == NEEDED
    iterate(scaler, 1)
    assert told(api) == TWICE


@pytest.mark.parametrize("bounds", [{"featurizer": Bounds(1, 1)}])
def test_turns_that_change_nothing_log_nothing(api, scaler, monkeypatch):
    written = WrittenLog()
    monkeypatch.setattr("services.autoscaler.scaler.log", written)
    scaler.training.rate = 200
    iterate(scaler, 3)
    before = [entry["event"] for entry in written.entries]
    assert before == ["leading", "decided", "decided", "scaled"]  # held at first, for want of measurements
    scaler.training.rate = 202  # measurements waver
    iterate(scaler, 20)
    assert [entry["event"] for entry in written.entries] == before
    events = list(api.events)
    api.broken = True
    iterate(scaler, 10)
    api.broken = False
    iterate(scaler, 10)
    told = [entry["event"] for entry in written.entries[len(before) :]]
    both = ["call_failed", "call_failed", "held", *["call_succeeded_again"] * 2]  # of the lease and of the scales
    assert told == [*both, "decided"]
    assert api.events == events


ASLEEP = {"words-vtlp": 0, "words-featurizer": 0, "words-trainer": 0}


def resting():
    """Scales stages and a trainer of two ranks to 0 at the end of training."""
    workloads = deployments_of(tuple(COSTS_S), "words-") | {"trainer": Workload("words-trainer", "StatefulSet")}
    wanted = dict.fromkeys(workloads, 1) | {"trainer": 2}
    return Resting(Cluster("speech", "me"), "lease", workloads, Rest(wanted, frozenset({"trainer"})))


def test_complete_training_leaves_neither_stages_nor_ranks_and_what_goes_on_has_both_again(api, make):
    scaler = make(resting())
    iterate(scaler, 2)
    assert api.replicas == {f"words-{stage}": count for stage, count in NEEDED.items()} | {"words-trainer": 2}
    scaler.training.finished = True
    iterate(scaler, 2)
    assert api.replicas == ASLEEP
    assert ("Normal", "Scaled", "words-trainer", "2 to 0 replicas: training is complete") in api.events
    scaler = make(resting())  # another process, which reads the annotation of the lease
    scaler.training.finished = None
    iterate(scaler, 2)
    assert api.replicas == ASLEEP
    scaler.training.finished = False
    iterate(scaler, 3)
    assert api.replicas["words-trainer"] == 2
    assert all(told(api).values())
    assert "annotations" not in {key for key, value in api.leases["lease"]["metadata"].items() if value}


def test_what_somebody_scaled_to_nothing_is_left_alone_while_training_goes_on(api, make):
    scaler = make(resting())
    iterate(scaler, 2)
    api.replicas["words-trainer"] = api.replicas["words-vtlp"] = 0
    iterate(scaler, 3)
    assert api.replicas["words-trainer"] == api.replicas["words-vtlp"] == 0


def test_without_a_planner_it_does_nothing_but_end_training(api, make):
    scaler = make(resting(), planning=False)
    iterate(scaler, 3)
    assert api.replicas == {"words-vtlp": 1, "words-featurizer": 1, "words-trainer": 2}
    scaler.training.finished = True
    iterate(scaler, 1)
    assert api.replicas == ASLEEP
