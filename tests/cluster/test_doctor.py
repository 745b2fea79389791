"""`sonorant doctor` on the cluster that KUBECONFIG names."""

import json
import subprocess
import sys
import uuid

import pytest
from rigs.helm import CHART, digits_values


def kubectl(*arguments, stdin=None):
    done = subprocess.run(["kubectl", *arguments], input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def namespace():
    name = f"doctor-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def doctor(namespace, folder, **changes):
    values = folder / "values.yaml"
    values.write_text(json.dumps(digits_values(**changes)))
    command = [
        sys.executable,
        "-m",
        "sonorant.cli",
        "doctor",
        "-n",
        namespace,
        "-f",
        values,
        "--chart",
        CHART,
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, {(f["about"], f["level"]): f["says"] for f in json.loads(done.stdout)}


def test_what_is_missing_is_said_and_what_is_made_is_found(namespace, tmp_path):
    storage = {name: {"storageClass": ""} for name in ("runs", "redis")}
    code, found = doctor(namespace, tmp_path, storage=storage)
    assert code == 1
    assert f"no claim 'corpora' in {namespace}" in found["data", "failure"]
    assert "restricted" in found["namespace", "well"]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "corpora"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(claim))
    _, found = doctor(namespace, tmp_path, storage=storage)
    assert {about for about, level in found if level == "failure"} <= {"capacity"}  # which other tests' pods may take
    assert "'corpora' is there" in found["data", "well"]


def test_gpus_and_operators_that_are_not_there_fail(namespace, tmp_path):
    code, found = doctor(namespace, tmp_path, trainer={"gpus": 1})
    assert code == 1
    assert "the nodes offer 0: is its device plugin installed?" in found["gpus", "failure"]


def test_a_user_without_rights_is_told_which(namespace, tmp_path):
    kubectl("create", "serviceaccount", "nobody", "-n", namespace)
    token = kubectl("create", "token", "nobody", "-n", namespace).strip()
    config = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    config["users"] = [{"name": config["contexts"][0]["context"]["user"], "user": {"token": token}}]
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(path))
        code, found = doctor(namespace, tmp_path)
    assert code == 1
    assert "you may not create" in found["permissions", "failure"]
    assert "you may not list nodes" in found["capacity", "warning"]
