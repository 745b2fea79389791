"""Who scales the stages, and what it may do."""

import pytest
from prometheus_client import CollectorRegistry
from rigs.helm import component, container, digits_values, pods
from rigs.value_sets import SCRAPER

from services.autoscaler.scaler import deployments_of
from services.recognizer.metrics import RecognizerMetrics
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order
from sonorant.serving.admission import Admission

CHAIN = stage_order(Recipe.model_validate(digits_values()["recipe"]))
STAGES = {component(stage) for stage in CHAIN}
NAMES = [deployment.name for deployment in deployments_of(CHAIN, "words-").values()]
OWN = ("Role", "RoleBinding", "Lease")


def test_the_planner_may_scale_the_stages_hold_its_lease_and_tell_and_nothing_else(manifests):
    assert manifests["Role", "words-autoscaler"]["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale"],
            "resourceNames": NAMES,
            "verbs": ["get", "patch"],
        },
        {
            "apiGroups": ["apps"],
            "resources": ["statefulsets/scale"],
            "resourceNames": ["words-trainer"],
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
    assert manifests["Lease", "words-autoscaler"]["spec"] == {}
    binding = manifests["RoleBinding", "words-autoscaler"]
    assert binding["roleRef"]["name"] == "words-autoscaler"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "words-autoscaler", "namespace": "speech"}]
    assert all(("Deployment", name) in manifests for name in NAMES)


def test_it_alone_has_an_account_and_a_token(manifests):
    accounts = {
        name: (t["spec"].get("serviceAccountName"), t["spec"]["automountServiceAccountToken"])
        for name, t in pods(manifests).items()
    }
    assert accounts.pop("autoscaler") == ("words-autoscaler", True)
    assert set(accounts.values()) == {("words", False)}
    assert manifests["ServiceAccount", "words"]["automountServiceAccountToken"] is False
    assert manifests["ServiceAccount", "words-autoscaler"]["automountServiceAccountToken"] is False
    assert {name for kind, name in manifests if kind in OWN} == {"words-autoscaler"}


def test_it_reaches_the_api_and_the_coordinator_and_nobody_reaches_it(helm, manifests):
    policy = manifests["NetworkPolicy", "words-autoscaler"]["spec"]
    assert "ingress" not in policy
    ports = [[{"port": port, "protocol": "TCP"}] for port in (443, 6443)]
    assert [rule["ports"] for rule in policy["egress"] if "to" not in rule] == ports
    narrow = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    policy = helm.render(digits_values(networkPolicies={"peers": {"api": narrow}}))["NetworkPolicy", "words-autoscaler"]
    assert [rule["ports"] for rule in policy["spec"]["egress"] if rule["to"] == narrow] == ports


@pytest.mark.parametrize("mode", ["planner", "hpa"])
def test_what_was_scaled_is_not_scaled_back_by_an_upgrade(helm, mode):
    manifests = helm.render(digits_values(autoscaling={"mode": mode}))
    told = {name for (kind, name), document in manifests.items() if "replicas" in document.get("spec", {})}
    assert told.isdisjoint(f"words-{stage}" for stage in STAGES)
    assert "words-coordinator" in told
    for stage in STAGES:
        assert "topologySpreadConstraints" in pods(manifests)[stage]["spec"], stage


def test_the_hpa_scales_each_stage_within_its_bounds(helm):
    each = {"room": {"minReplicas": 2, "maxReplicas": 40}}
    scaling = {"mode": "hpa", "each": each, "utilisation": 0.7, "stabilizationWindowSeconds": 45}
    manifests = helm.render(digits_values(autoscaling=scaling | {"rest": False}))
    scalers = {name: document["spec"] for (kind, name), document in manifests.items() if "Autoscaler" in kind}
    assert set(scalers) == {f"words-{stage}" for stage in STAGES}
    for name, spec in scalers.items():
        assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        (metric,) = spec["metrics"]
        assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 70}
        expected = (2, 40) if name == "words-room" else (1, 20)
        assert (spec["minReplicas"], spec["maxReplicas"]) == expected
        assert spec["behavior"] == {"scaleDown": {"stabilizationWindowSeconds": 45}}
    assert "autoscaler" not in pods(manifests)
    assert not any(kind in OWN for kind, _ in manifests)


def test_without_either_stages_have_the_recipe_s_replicas(helm):
    values = digits_values(autoscaling={"mode": "none", "rest": False})
    values["recipe"]["pipeline"]["replicas"] = {"room": 5}
    manifests = helm.render(values)
    assert manifests["StatefulSet", "words-trainer"]["spec"]["replicas"] == 1
    replicas = {stage: manifests["Deployment", f"words-{stage}"]["spec"]["replicas"] for stage in STAGES}
    assert replicas == dict.fromkeys(STAGES, 1) | {"room": 5}
    assert not any(kind in (*OWN, "HorizontalPodAutoscaler") for kind, _ in manifests)


@pytest.mark.parametrize("mode", ["planner", "hpa", "none"])
def test_whoever_scales_the_stages_the_autoscaler_ends_training(helm, mode):
    values = digits_values(autoscaling={"mode": mode}, trainer={"ranks": 3})
    values["recipe"]["pipeline"]["replicas"] = {"room": 5}
    manifests = helm.render(values)
    told = set(container(manifests, "autoscaler")["args"])
    assert {"--rest", "--ranks=3", "--plan" if mode == "planner" else "--no-plan"} <= told
    if mode == "none":
        assert {"--bounds=room=5:5:1", "--bounds=gain=1:1:1"} <= told
    assert "replicas" not in manifests["StatefulSet", "words-trainer"]["spec"]  # or GitOps brings them back


def test_an_mpijob_ends_by_itself(helm):
    values = digits_values(trainer={"launcher": "mpijob"})
    manifests = helm.render(values, "--api-versions", "kubeflow.org/v1/MPIJob")
    assert not any(word.startswith("--ranks") for word in container(manifests, "autoscaler")["args"])
    assert all("statefulsets/scale" not in rule["resources"] for rule in manifests["Role", "words-autoscaler"]["rules"])


@pytest.mark.parametrize(
    ("autoscaling", "said"),
    [
        ({"each": {"rooom": {}}}, "autoscaling.each.rooom: the recipe has no such stage"),
        ({"each": {"room": {"minReplicas": 30}}}, "minReplicas=30 of room are more than maxReplicas=20"),
        ({"mode": "vpa"}, "mode"),
        ({"minReplicas": 0}, "minReplicas"),
    ],
)
def test_bounds_that_cannot_be_are_refused(helm, autoscaling, said):
    assert said in helm.refusal(digits_values(autoscaling=autoscaling))


def test_the_recognizer_is_scaled_by_the_load_that_its_pods_measure(helm, manifests):
    assert manifests["Deployment", "words-recognizer"]["spec"]["replicas"] == 1
    assert ("HorizontalPodAutoscaler", "words-recognizer") not in manifests
    scaling = {"enabled": True, "minReplicas": 2, "load": 0.65, "stabilizationWindowSeconds": 0}
    values = digits_values(recognizer={"autoscaling": scaling}, metrics={"scrapers": [SCRAPER]})
    manifests = helm.render(values)
    spec = manifests["HorizontalPodAutoscaler", "words-recognizer"]["spec"]
    assert spec["scaleTargetRef"]["name"] == "words-recognizer"
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 10)
    (metric,) = spec["metrics"]
    assert metric["pods"]["metric"]["name"] in sampled_names()
    assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "650m"}
    assert spec["behavior"] == {"scaleDown": {"stabilizationWindowSeconds": 0}}
    assert "replicas" not in manifests["Deployment", "words-recognizer"]["spec"]
    assert [name for kind, name in manifests if kind == "HorizontalPodAutoscaler"] == ["words-recognizer"]


def sampled_names():
    registry = CollectorRegistry()
    RecognizerMetrics(registry, Admission(1))
    return {sample.name for family in registry.collect() for sample in family.samples}


@pytest.mark.parametrize(
    ("recognizer", "said"),
    [
        ({"autoscaling": {"enabled": True}}, "metrics.scrapers"),
        ({"autoscaling": {"enabled": True, "minReplicas": 11}}, "minReplicas=11 of the recognizer"),
        ({"autoscaling": {"load": 2}}, "load"),
    ],
)
def test_a_load_that_cannot_be_followed_is_refused(helm, recognizer, said):
    assert said in helm.refusal(digits_values(recognizer=recognizer))
