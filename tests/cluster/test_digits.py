"""The digits recipe on a real cluster: prepared, trained, exported and served by what `helm install` starts.

It needs KUBECONFIG, kubectl, and the images of `make images` in the cluster (IMAGES is their prefix, TAG their tag).
The volumes are folders of this machine, so it must be the cluster's node.
"""

import json
import os
import subprocess

import pytest
from helm_rig import CHART, digits_values

NAMESPACE = "sonorant-test"
PATIENCE = "900s"
EPOCHS, EXAMPLES = 2, 160
USER = 65532  # whom the images run as
RESOURCES = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "3Gi"}}


def kubectl(*arguments, documents=()):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)}) if documents else None
    done = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def found(kinds):
    return json.loads(kubectl("--namespace", NAMESPACE, "get", kinds, "--output=json"))["items"]


def volume(claim, folder, mode):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{NAMESPACE}-{claim}"},
        "spec": {
            "accessModes": [mode],
            "capacity": {"storage": "1Gi"},
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": NAMESPACE, "name": claim},
            "hostPath": {"path": str(folder), "type": "Directory"},
        },
    }


@pytest.fixture(scope="module")
def runs(data_folder, tmp_path_factory):
    """A namespace with restricted pods and volumes that are folders; the one with the runs is returned."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("runs", "redis")}
    for folder in folders.values():
        os.chown(folder, USER, USER)
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "corpora", "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    volumes = [
        volume("corpora", data_folder.resolve(), "ReadOnlyMany"),
        volume("words-runs", folders["runs"], "ReadWriteOnce"),
        volume("words-redis", folders["redis"], "ReadWriteOnce"),
    ]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    kubectl("apply", "--filename=-", documents=[namespace, claim, *volumes])
    yield folders["runs"]
    kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")
    kubectl("delete", "persistentvolume", *(v["metadata"]["name"] for v in volumes))


@pytest.fixture(scope="module")
def release(helm, runs):
    """An installed release, and uninstalled at the end."""
    values = digits_values(
        image={"prefix": os.environ.get("IMAGES", "localhost/sonorant"), "tag": os.environ.get("TAG", "dev")},
        storage={name: {"storageClass": "", "accessModes": ["ReadWriteOnce"]} for name in ("runs", "redis")},
        **{name: {"resources": RESOURCES} for name in ("prepare", "redis", "coordinator", "stages", "trainer")},
        recognizer={"resources": RESOURCES, "test": {"resources": RESOURCES}},
    )
    for claim in values["storage"].values():
        claim["size"] = "1Gi"
    values["recipe"]["corpus"]["strings"] |= {"train": EXAMPLES, "dev": 8, "test": 8, "unseen_speaker": 8}
    values["recipe"]["training"] |= {"epochs": EPOCHS, "checkpoint_every_steps": 4, "dev_every_epochs": 1}
    installed = helm.run("install", "words", str(CHART), "--namespace", NAMESPACE, "--values", helm.values(values))
    assert installed.returncode == 0, installed.stderr
    yield helm
    helm.run("uninstall", "words", "--namespace", NAMESPACE, "--wait")


def test_the_server_accepts_every_manifest(helm, runs):
    rendered = helm.template(digits_values(), namespace=NAMESPACE)
    command = ["kubectl", "apply", "--dry-run=server", "--filename=-"]
    done = subprocess.run(command, input=rendered.stdout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "violate" not in done.stderr


def test_the_recipe_is_prepared_trained_once_an_example_exported_and_served(release, runs):
    kubectl("--namespace", NAMESPACE, "rollout", "status", "deployment/words-recognizer", f"--timeout={PATIENCE}")
    totals = json.loads((runs / "digits" / "finished.json").read_text())
    assert totals["reason"] == "epochs"
    assert totals["examples"] == EPOCHS * EXAMPLES
    assert totals["ledger"] == {"committed": EPOCHS * EXAMPLES, "rejected": 0, "lost": 0, "duplicated": 0}
    assert (runs / "digits" / "exports" / "digits" / "1" / "manifest.json").is_file()
    tested = release.run("test", "words", "--namespace", NAMESPACE, "--timeout", PATIENCE)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "digits/1 " in tested.stdout + tested.stderr


def test_everything_came_up_at_the_first_try_and_stays_when_training_is_complete(release, runs):
    states = [state for pod in found("pods") for state in pod["status"].get("containerStatuses", [])]
    assert {state["name"]: state["restartCount"] for state in states if state["restartCount"]} == {}
    running = {state["name"] for state in states if state["ready"]}
    assert running >= {"redis", "coordinator", "shard-reader", "room", "featurizer", "trainer", "recognizer"}


def test_uninstalling_leaves_the_claims_and_nothing_else(release, runs):
    how = ("--cascade", "foreground", "--wait", "--timeout", PATIENCE)
    gone = release.run("uninstall", "words", "--namespace", NAMESPACE, *how)
    assert gone.returncode == 0, gone.stderr
    owned = "--selector=app.kubernetes.io/instance=words"
    kinds = "deployments,statefulsets,jobs,pods,services,configmaps,secrets,networkpolicies,poddisruptionbudgets"
    assert kubectl("--namespace", NAMESPACE, "get", kinds, owned, "--output=name") == ""
    assert kubectl("get", "priorityclasses", owned, "--output=name") == ""
    assert {claim["metadata"]["name"] for claim in found("persistentvolumeclaims")} == {
        "corpora",
        "words-runs",
        "words-redis",
    }
