"""What the chart renders, held by kubeconform against the kinds of Kubernetes' own Python client."""

import json
import shutil
import subprocess

import pytest
from kubernetes.client import models
from rigs.value_sets import SETS, render_set

# The class of each kind that the chart renders, but for those of operators.
CLASSES = {
    ("apps/v1", "Deployment"): "V1Deployment",
    ("apps/v1", "StatefulSet"): "V1StatefulSet",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2HorizontalPodAutoscaler",
    ("batch/v1", "Job"): "V1Job",
    ("coordination.k8s.io/v1", "Lease"): "V1Lease",
    ("networking.k8s.io/v1", "Ingress"): "V1Ingress",
    ("networking.k8s.io/v1", "NetworkPolicy"): "V1NetworkPolicy",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    ("rbac.authorization.k8s.io/v1", "Role"): "V1Role",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "V1RoleBinding",
    ("scheduling.k8s.io/v1", "PriorityClass"): "V1PriorityClass",
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "PersistentVolumeClaim"): "V1PersistentVolumeClaim",
    ("v1", "Pod"): "V1Pod",
    ("v1", "Secret"): "V1Secret",
    ("v1", "Service"): "V1Service",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
}
# Of operators and of the Gateway API, whose schemas the client has not; test_mpijob.py has one.
OF_OPERATORS = {"BackendTLSPolicy", "GRPCRoute", "MPIJob", "PodMonitor"}


@pytest.fixture(scope="module")
def schemas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemas")
    for (version, kind), name in CLASSES.items():
        schema = getattr(models, name).model_json_schema(by_alias=True, mode="serialization")
        group, number = version.split("/")[0], version.split("/")[-1]  # as kubeconform has them
        (folder / f"{group}-{number}-{kind.lower()}.json").write_text(json.dumps(schema))
    return folder


@pytest.fixture(scope="module")
def check(schemas):
    """Return what kubeconform says of objects: their number, or what is wrong."""
    program = shutil.which("kubeconform")
    if program is None:
        pytest.skip("manifests were not held against the kinds of Kubernetes: kubeconform is not in PATH")
    where = f"{schemas}/{{{{.Group}}}}-{{{{.ResourceAPIVersion}}}}-{{{{.ResourceKind}}}}.json"

    def held(documents):
        command = [program, "-strict", "-schema-location", where, "-summary", "-output", "json"]
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout)
        return told["summary"]["valid"] if done.returncode == 0 else told["resources"]

    return held


@pytest.mark.parametrize("name", SETS)
def test_what_is_rendered_is_what_kubernetes_knows(helm, check, name):
    documents = [d for d in render_set(helm, name).values() if d["kind"] not in OF_OPERATORS]
    assert check(documents) == len(documents)


@pytest.mark.parametrize("spec", [{"replica": 1}, {"replicas": "one"}, {"selector": None}], ids=str)
def test_what_kubernetes_does_not_know_is_found(helm, check, spec):
    deployment = render_set(helm, "defaults")["Deployment", "words-room"]
    (wrong,) = check([deployment | {"spec": deployment["spec"] | spec}])
    assert wrong["status"] == "statusInvalid"
