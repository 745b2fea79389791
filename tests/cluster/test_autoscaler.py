"""The autoscaler on a real cluster, with the rights that it is meant to have and no others.

It needs KUBECONFIG and kubectl. Its Deployments have pods that no node takes, so they cost nothing.
"""

import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from rigs.autoscaler import AutoscalerProcess, MadeUpTraining
from rigs.ports import free_port
from rigs.small_corpus import digits_recipe
from rigs.waiting import eventually

from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import dump_recipe

NAMESPACE = "sonorant-autoscaler-test"
RECIPE = Recipe.model_validate(
    digits_recipe().model_dump(mode="json")
    | {"stages": [{"stage": "vtlp", "alpha": {"low": 0.9, "high": 1.1}}], "pipeline": {}}
)
STAGES = stage_order(RECIPE)
COSTS_S = {"shard_reader": 0.002, "vtlp": 0.05, "featurizer": 0.01}
NEEDED = {"shard_reader": 1, "vtlp": 7, "featurizer": 2}  # of 100 examples a second, at 0.8
NAMES = {stage: f"words-{stage.replace('_', '-')}" for stage in STAGES}
LABELS = {"test": "autoscaler"}
RULES = [
    {
        "apiGroups": ["apps"],
        "resources": ["deployments/scale"],
        "resourceNames": list(NAMES.values()),
        "verbs": ["get", "patch"],
    },
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": ["words-autoscaler"],
        "verbs": ["get", "patch"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
]


def kubectl(*arguments, documents=()):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)}) if documents else None
    done = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def named(kind, api, name, **rest):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **rest}


def deployment(name, replicas=1):
    pods = {
        "metadata": {"labels": LABELS | {"name": name}},
        "spec": {
            "nodeSelector": {"no.such/node": "true"},
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "sleep", "image": "localhost/busybox:1", "command": ["sleep", "86400"]}],
        },
    }
    selector = {"matchLabels": {"name": name}}
    return named("Deployment", "apps/v1", name, spec={"replicas": replicas, "selector": selector, "template": pods})


class Road:
    """The way to the API server through this process, which can be cut."""

    def __init__(self, host, port):
        self.open = True
        self._there = (host, port)
        self._pairs = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.open = False
        while self._pairs:
            for end in self._pairs.pop():
                end.close()

    def mend(self):
        self.open = True

    def _accept(self):
        while True:
            near, _ = self._listening.accept()
            if not self.open:
                near.close()
                continue
            far = socket.create_connection(self._there)
            self._pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            return


@pytest.fixture(scope="module")
def road(tmp_path_factory):
    """A namespace with the stages' Deployments and a service account, and the way there with its token."""
    role = named("Role", "rbac.authorization.k8s.io/v1", "autoscaler", rules=RULES)
    subjects = [{"kind": "ServiceAccount", "name": "autoscaler", "namespace": NAMESPACE}]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "autoscaler"}
    binding = named("RoleBinding", "rbac.authorization.k8s.io/v1", "autoscaler", subjects=subjects, roleRef=ref)
    account = named("ServiceAccount", "v1", "autoscaler")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl("apply", "--filename=-", documents=[namespace, account, role, binding])
    shown = json.loads(kubectl("config", "view", "--raw", "--minify", "--flatten", "--output=json"))
    cluster = shown["clusters"][0]["cluster"]
    host, port = cluster["server"].removeprefix("https://").rsplit(":", 1)
    road = Road(host, int(port))
    cluster |= {"server": f"https://127.0.0.1:{road.port}", "tls-server-name": host}
    shown["users"][0]["user"] = {"token": kubectl("create", "token", "autoscaler", "--namespace", NAMESPACE).strip()}
    road.kubeconfig = Path(tmp_path_factory.mktemp("kube")) / "config"
    road.kubeconfig.write_text(json.dumps(shown))
    os.chmod(road.kubeconfig, 0o600)
    yield road
    kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")


@pytest.fixture
def deployments(road):
    lease = named("Lease", "coordination.k8s.io/v1", "words-autoscaler", spec={})  # which the chart makes
    kubectl("apply", "--filename=-", documents=[lease, *(deployment(name) for name in NAMES.values())])
    for name in NAMES.values():
        kubectl("--namespace", NAMESPACE, "scale", "deployment", name, "--replicas=1")
    road.mend()
    yield
    kubectl("--namespace", NAMESPACE, "delete", "deployments,leases,events", "--all")


@pytest.fixture
def training():
    training = MadeUpTraining(COSTS_S, rate=100)
    yield training
    training.close()


@pytest.fixture
def start(road, training, deployments, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(dump_recipe(RECIPE))
    running = []

    def start(*arguments):
        where = ("--namespace", NAMESPACE, "--deployments", "words-", "--window-s", "3", "--stabilisation-s", "2")
        made = AutoscalerProcess(recipe, training.address, free_port(), *where, *arguments, kubeconfig=road.kubeconfig)
        running.append(made)
        return made

    yield start
    for one in running:
        one.end(kill=True)


def replicas():
    found = json.loads(kubectl("--namespace", NAMESPACE, "get", "deployments", "--output=json"))["items"]
    return {
        stage: next(d["spec"]["replicas"] for d in found if d["metadata"]["name"] == n) for stage, n in NAMES.items()
    }


def events(stage):
    found = json.loads(kubectl("--namespace", NAMESPACE, "get", "events", "--output=json"))["items"]
    return [
        e["message"]
        for e in found
        if e["involvedObject"]["name"] == NAMES[stage] and e["source"].get("component") == "sonorant-autoscaler"
    ]


def test_it_scales_each_stage_to_what_is_needed_and_back_and_tells(start, training):
    scaler = start()
    eventually(lambda: replicas() == NEEDED, lambda: (replicas(), scaler.metrics()))
    found = scaler.metrics()
    assert found[("sonorant_autoscaler_demand_examples_per_second",)] == pytest.approx(100)
    assert found[("sonorant_autoscaler_predicted_examples_per_second",)] == pytest.approx(100)
    assert found[("sonorant_autoscaler_observed_examples_per_second",)] > 0
    assert found["sonorant_autoscaler_service_seconds", "vtlp"] == pytest.approx(0.05)
    assert found["sonorant_autoscaler_replicas", "vtlp"] == 7
    (message,) = (m for m in events("vtlp") if m.startswith("1 to 7"))
    assert message == "1 to 7 replicas: the trainer can take 100 examples/s, at 50 ms each"
    assert "1 to 7 replicas" in kubectl("--namespace", NAMESPACE, "describe", "deployment", NAMES["vtlp"])
    training.rate = 20
    eventually(lambda: replicas()["vtlp"] == 2, replicas)
    assert scaler.end() == 0


def test_it_holds_while_the_coordinator_is_away_or_stages_are_not_measured(start, training):
    scaler = start("--stabilisation-s", "0")
    eventually(lambda: replicas() == NEEDED, lambda: (replicas(), scaler.metrics()))
    training.costs_s = {"shard_reader": 0.002, "featurizer": 0.01}
    eventually(lambda: scaler.metrics().get(("sonorant_autoscaler_held",)) == 1, scaler.metrics)
    training.rate = 10
    eventually(lambda: any(m.startswith("vtlp: no example") for m in events("vtlp")), lambda: events("vtlp"))
    training.close()
    eventually(
        lambda: scaler.metrics().get(("sonorant_autoscaler_failures_total", "coordinator"), 0) > 2, scaler.metrics
    )
    assert replicas() == NEEDED


def test_it_holds_while_the_api_server_is_away_and_goes_on_afterwards(start, training, road):
    scaler = start()
    eventually(lambda: replicas() == NEEDED, lambda: (replicas(), scaler.metrics()))
    road.cut()
    training.rate = 200
    eventually(lambda: scaler.metrics().get(("sonorant_autoscaler_failures_total", "api"), 0) > 5, scaler.metrics)
    eventually(lambda: not scaler.leads(), scaler.metrics)
    assert replicas() == NEEDED
    road.mend()
    eventually(lambda: replicas()["vtlp"] == 13, replicas)


def test_a_stage_that_somebody_scaled_to_0_is_left_alone(start):
    kubectl("--namespace", NAMESPACE, "scale", "deployment", NAMES["vtlp"], "--replicas=0")
    scaler = start()
    eventually(lambda: scaler.metrics().get(("sonorant_autoscaler_turns_total", "held"), 0) > 4, scaler.metrics)
    assert replicas() == {"shard_reader": 1, "vtlp": 0, "featurizer": 1}


def test_one_of_two_leads_and_the_other_takes_over_whatever_the_lease_says_of_time(start, training):
    first = start()
    eventually(first.leads, first.metrics)
    second = start()
    eventually(lambda: second.metrics().get(("sonorant_autoscaler_turns_total", "standby"), 0) > 8, second.metrics)
    assert first.leads()
    assert not second.leads()
    first.end(kill=True)
    far = {"spec": {"renewTime": "2099-01-01T00:00:00.000000Z"}}
    kubectl(
        "--namespace", NAMESPACE, "patch", "lease", "words-autoscaler", "--type=merge", f"--patch={json.dumps(far)}"
    )
    eventually(second.leads, second.metrics)
    third = start()
    eventually(lambda: third.metrics().get(("sonorant_autoscaler_turns_total", "standby"), 0) > 2, third.metrics)
    assert second.end() == 0  # and gives the lease back
    eventually(third.leads, third.metrics)
    training.rate = 50
    eventually(lambda: replicas()["vtlp"] == 4, replicas)
    spec = json.loads(kubectl("--namespace", NAMESPACE, "get", "lease", "words-autoscaler", "--output=json"))["spec"]
    assert spec["leaseTransitions"] == 3  # from nobody, as the lease was made, to each of the three
