"""Kubernetes' recommended labels, on everything alike."""

import pytest
import yaml
from rigs.helm import CHART, pods
from rigs.value_sets import SETS, render_set

LABEL = "app.kubernetes.io/"
VERSIONS = yaml.safe_load((CHART / "Chart.yaml").read_text())
SELECTING = {f"{LABEL}name": "sonorant", f"{LABEL}instance": "words"}
RECOMMENDED = SELECTING | {
    f"{LABEL}part-of": "sonorant",
    f"{LABEL}version": VERSIONS["appVersion"],
    f"{LABEL}managed-by": "Helm",
    "helm.sh/chart": f"sonorant-{VERSIONS['version']}",
}
OF_THE_RELEASE = {"ConfigMap", "Secret", "PersistentVolumeClaim", "PriorityClass"}


@pytest.fixture(scope="module", params=SETS)
def manifests(helm, request):
    return render_set(helm, request.param)


def test_each_object_has_the_recommended_labels_and_its_component_if_it_is_of_one(manifests):
    for (kind, name), document in manifests.items():
        labels = dict(document["metadata"]["labels"])
        labels.pop("grafana_dashboard", None)
        labels.pop("azure.workload.identity/use", None)  # of the test's pod
        component = labels.pop(f"{LABEL}component", None)
        assert labels == RECOMMENDED, (kind, name)
        if kind in OF_THE_RELEASE or name in ("words", "words-deny"):
            assert component is None, (kind, name)
        elif kind == "MPIJob":
            assert name.startswith(f"words-{component}-")
        else:
            assert name == f"words-{component}", kind


def test_pods_have_what_selects_them_and_nothing_that_changes_with_the_version(manifests):
    site = "azure.workload.identity/use"
    for name, template in pods(manifests).items():
        labels = {key: value for key, value in template["metadata"]["labels"].items() if key != site}
        changes = RECOMMENDED if name == "test" else SELECTING  # a hook's pod is made anew each time
        assert labels == changes | {f"{LABEL}component": name}


def test_selectors_which_kubernetes_lets_nobody_change_stay_what_they_were(manifests):
    for (kind, name), document in manifests.items():
        if kind in ("Deployment", "StatefulSet"):
            match = SELECTING | {f"{LABEL}component": name.removeprefix("words-")}
            assert document["spec"]["selector"] == {"matchLabels": match}
