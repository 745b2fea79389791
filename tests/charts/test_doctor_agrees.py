"""What `sonorant doctor` says of values, beside what the chart makes of the same."""

import pytest
from kubernetes.utils import parse_quantity
from rigs.helm import CHART, digits_values
from rigs.value_sets import SETS, STORE, render_set
from ruamel.yaml import YAML

from services.coordination.forwarding import object_name
from services.doctor.checks import examine
from services.doctor.cluster import Cluster
from services.doctor.nodes import Node
from services.doctor.permissions import needed
from services.doctor.values import unfit_release
from sonorant.cli.doctor import merge_values

EVERYTHING = {"cpu": 1e4, "memory": 1e13, "ephemeral-storage": 1e13, "pods": 1e4, "nvidia.com/gpu": 64.0}
CLUSTER = Cluster(
    version="1.34.4",
    nodes=(Node("a", EVERYTHING, labels={"pool": "gpu"}),),
    kinds={
        ("PodMetrics", "metrics.k8s.io"): frozenset({"v1"}),
        ("PodMonitor", "monitoring.coreos.com"): frozenset({"v1"}),
        ("MPIJob", "kubeflow.org"): frozenset({"v1", "v2beta1"}),
        ("GRPCRoute", "gateway.networking.k8s.io"): frozenset({"v1"}),
        ("BackendTLSPolicy", "gateway.networking.k8s.io"): frozenset({"v1"}),
    },
    storage_classes={"any": True},
    priority_classes=frozenset(),
    claims=frozenset({"corpora", "runs"}),
    secrets=None,
    forbidden=frozenset(),
    labels={"pod-security.kubernetes.io/enforce": "baseline"},
)
OUTSIDE = [{"namespaceSelector": {}}]


def whole(changes):
    """Return all values, those of values.yaml included."""
    return merge_values(YAML(typ="safe").load(CHART / "values.yaml"), digits_values(**changes))


def examined(changes, level):
    return {f.about: f.says for f in examine(CLUSTER, whole(changes), "speech") if f.level == level}


@pytest.mark.parametrize("name", SETS)
def test_what_the_chart_takes_the_doctor_takes(name):
    assert examined(SETS[name], "failure") == {}


@pytest.mark.parametrize("name", SETS)
def test_the_rights_that_are_asked_for_are_those_to_what_is_rendered(helm, name):
    kinds = {kind for kind, _ in render_set(helm, name)} - {"Pod"} | {"Secret"}  # a test's; where Helm keeps a release
    assert {verb.resource for verb in needed(whole(SETS[name]))} == set(map(plural, kinds))


def plural(kind):
    word = kind.lower()
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}{'es' if word.endswith('s') else 's'}"


@pytest.mark.parametrize("name", SETS)
def test_the_pods_that_are_counted_are_those_that_are_rendered(helm, name):
    asked = {"cpu": 0.0, "memory": 0.0}
    for document in render_set(helm, name).values():
        for count, pod in rendered_pods(document, SETS[name].get("trainer", {}).get("ranks", 1)):
            requests = pod["spec"]["containers"][0]["resources"]["requests"]
            asked = {key: total + count * float(parse_quantity(requests[key])) for key, total in asked.items()}
    says = examined(SETS[name], "well")["capacity"]
    assert says.startswith(f"all pods ask for {asked['cpu']:g} cores and {asked['memory'] / 1e9:.3g} GB")


def rendered_pods(document, ranks):
    """Yield (count, template) of what runs for long, or at the beginning; where an autoscaler counts, ranks or one."""
    kind, spec = document["kind"], document.get("spec", {})
    if kind == "MPIJob":
        yield from ((role["replicas"], role["template"]) for role in spec["mpiReplicaSpecs"].values())
    elif kind in ("Deployment", "StatefulSet", "Job"):
        trains = document["metadata"]["name"].endswith("-trainer")
        yield spec.get("replicas", ranks if trains else 1), spec["template"]


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        ({"redis": {"url": "redis://there", "secret": "ledger"}}, "redis"),
        ({"redis": {"url": "redis://there", "passwordSecret": "a"}}, "redis"),
        ({"storage": {"store": STORE | {"secret": ""}}}, "storage.store"),
        ({"storage": {"store": STORE, "runs": {"claim": "runs"}}}, "storage.store"),
        ({"storage": {"store": {"region": "x"}}}, "storage.store"),
        ({"metrics": {"podMonitors": True}}, "metrics.scrapers"),
        ({"recognizer": {"gateway": {"parents": [{"name": "public"}]}}}, "recognizer.clients"),
        ({"recognizer": {"ingress": {"host": "a.example"}}}, "recognizer.clients"),
        ({"keys": {"secrets": {"client": "s"}}}, "keys.secrets"),
        ({"recipe": digits_values()["recipe"] | {"serving": {"http_port": 9100}}}, "recipe.serving.http_port"),
        ({"data": {"claim": ""}}, "data"),
        ({"stages": {"each": {"rooom": {}}}}, "stages.each"),
        ({"autoscaling": {"each": {"room": {"minReplicas": 30}}}}, "autoscaling"),
    ],
)
def test_values_that_the_chart_refuses_the_doctor_refuses(helm, changes, about):
    assert helm.refusal(digits_values(**changes))
    assert about in examined(changes, "failure")


def test_recordings_of_noise_need_a_volume_says_the_doctor_too():
    values = whole({"data": {"claim": ""}, "prepare": {"enabled": False}})
    values["recipe"]["stages"] = [{"stage": "room", "noise": {"kinds": ["folder"], "folder": "musan/noise"}}]
    found = [f.says for f in examine(CLUSTER, values, "speech") if (f.about, f.level) == ("data", "failure")]
    assert found == ["data.claim is empty, but the recipe's stage room plays recordings of musan/noise"]


@pytest.mark.parametrize("release", ["words", "a.b", "1st", "words-in.eu-west", "x" * 39 + ".y", "x" * 38 + "--y"])
def test_a_release_has_the_name_by_which_status_looks_for_it(helm, release):
    assert unfit_release(release) == ""
    done = helm.run("template", release, str(CHART), "--kube-version=1.34", "--values", helm.values(digits_values()))
    assert f"name: {object_name(release)}-coordinator\n" in done.stdout
    assert f"name: {object_name(release)}\n" in done.stdout


@pytest.mark.parametrize("release", ["Words", "words-", ".words", "a..b", "a.-b", "w" * 54, ""])
def test_a_name_that_helm_refuses_the_doctor_refuses(helm, release):
    done = helm.run("template", release, str(CHART), "--kube-version=1.34", "--values", helm.values(digits_values()))
    assert done.returncode
    assert unfit_release(release)
