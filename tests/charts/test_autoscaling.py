"""Who scales the stages, and what it may do."""

import pytest
from helm_rig import component, digits_values, pods

from services.autoscaler.scaler import deployments_of
from services.runtime.wiring import stage_order
from sonorant.recipe import Recipe

CHAIN = stage_order(Recipe.model_validate(digits_values()["recipe"]))
STAGES = {component(stage) for stage in CHAIN}
OWN = ("ServiceAccount", "Role", "RoleBinding", "Lease")


def test_the_planner_may_scale_the_stages_hold_its_lease_and_tell_and_nothing_else(manifests):
    assert manifests["Role", "words-autoscaler"]["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale"],
            "resourceNames": list(deployments_of(CHAIN, "words-").values()),
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
    assert all(("Deployment", name) in manifests for name in deployments_of(CHAIN, "words-").values())


def test_it_alone_has_an_account_and_a_token(manifests):
    accounts = {
        name: (t["spec"].get("serviceAccountName"), t["spec"]["automountServiceAccountToken"])
        for name, t in pods(manifests).items()
    }
    assert accounts.pop("autoscaler") == ("words-autoscaler", True)
    assert set(accounts.values()) == {(None, False)}
    assert manifests["ServiceAccount", "words-autoscaler"]["automountServiceAccountToken"] is False
    assert {name for kind, name in manifests if kind in OWN} == {"words-autoscaler"}


def test_it_reaches_the_api_and_the_coordinator_and_nobody_reaches_it(manifests):
    policy = manifests["NetworkPolicy", "words-autoscaler"]["spec"]
    assert "ingress" not in policy
    outside = [rule["ports"] for rule in policy["egress"] if "to" not in rule][1:]  # the first is DNS
    assert outside == [[{"port": port, "protocol": "TCP"}] for port in (443, 6443)]


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
    manifests = helm.render(digits_values(autoscaling=scaling))
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
    values = digits_values(autoscaling={"mode": "none"})
    values["recipe"]["pipeline"]["replicas"] = {"room": 5}
    manifests = helm.render(values)
    replicas = {stage: manifests["Deployment", f"words-{stage}"]["spec"]["replicas"] for stage in STAGES}
    assert replicas == dict.fromkeys(STAGES, 1) | {"room": 5}
    assert not any(kind in (*OWN, "HorizontalPodAutoscaler") for kind, _ in manifests)


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
