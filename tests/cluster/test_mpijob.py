"""The digits recipe with two ranks that kubeflow's training-operator starts: an MPIJob v1, over `kubectl exec`."""

import json
import subprocess
import sys

import pytest
from cluster_rig import Namespace, eventually, kubectl, small_values
from helm_rig import CHART

TRAIN, EPOCHS, RANKS = 400, 4, 2
PATIENCE_S = 900.0


@pytest.fixture(scope="module")
def space(data_folder, tmp_path_factory):
    if "kubeflow.org/v1" not in kubectl("api-versions").split():
        pytest.fail("the cluster does not serve kubeflow.org/v1: install kubeflow's training-operator")
    # The operator's own init container in the launcher's pod is not restricted.
    space = Namespace("sonorant-mpijob-test", security="baseline")
    space.folders = {name: tmp_path_factory.mktemp(name) for name in ("runs", "redis")}
    space.for_digits(data_folder, space.folders)
    yield space
    space.close()


@pytest.fixture(scope="module")
def values():
    values = small_values(recognizer={"replicas": 0})
    values["trainer"] |= {"launcher": "mpijob", "mpiVersion": "v1", "ranks": RANKS}
    recipe = values["recipe"]
    recipe["corpus"]["strings"] |= {"train": TRAIN, "dev": 8, "test": 8, "unseen_speaker": 8}
    halved = {"ranks": RANKS, "batch_examples": recipe["training"]["batch_examples"] // 2}
    recipe["training"] |= halved | {"epochs": EPOCHS, "max_minutes": 0, "patience": 1000, "checkpoint_every_steps": 5}
    return values


@pytest.fixture(scope="module")
def run(space, helm, values):
    """Where the release trains."""
    space.install(helm, values)
    yield space.folders["runs"] / "digits"
    gone = helm.run("uninstall", "words", "--namespace", space.name)
    assert gone.returncode == 0, gone.stderr


def steps(run):
    metrics = run / "metrics.jsonl"
    return metrics.read_text().count('"kind": "step"') if metrics.exists() else 0


def test_ranks_that_the_operator_starts_train_and_a_lost_one_costs_no_example(space, run):
    def state():
        return f"{steps(run)} steps\n{space.kubectl('get', 'pods')}\n{space.logs('trainer')[-3000:]}"

    eventually(lambda: (run / "checkpoints" / "latest").exists(), state, PATIENCE_S)
    workers = [pod for pod in space.pods("trainer") if "worker" in pod["metadata"]["name"]]
    assert len(workers) == RANKS
    space.kubectl("delete", "pod", workers[-1]["metadata"]["name"], "--force", "--grace-period=0")
    eventually((run / "finished.json").exists, state, PATIENCE_S, every_s=1.0)
    totals = json.loads((run / "finished.json").read_text())
    assert totals["reason"] == "epochs"
    assert totals["ledger"] == {"committed": EPOCHS * TRAIN, "rejected": 0, "lost": 0, "duplicated": 0}
    audited = subprocess.run(
        [sys.executable, "-m", "sonorant.cli", "audit", str(run), "--json"], capture_output=True, text=True, check=False
    )
    assert audited.returncode == 0, audited.stderr
    assert json.loads(audited.stdout)["exact"]


def test_the_job_is_said_to_have_succeeded(space, run):
    def succeeded():
        (job,) = space.found("mpijobs", component="trainer")  # its name ends in a checksum of its values
        conditions = job.get("status", {}).get("conditions", [])
        return any(c["type"] == "Succeeded" and c["status"] == "True" for c in conditions)

    eventually(succeeded, lambda: space.kubectl("describe", "mpijobs"))


def test_an_operator_of_the_other_version_is_asked_for_by_name(space, helm, values):
    other = values | {"trainer": values["trainer"] | {"mpiVersion": "v2beta1"}}
    done = helm.run("install", "others", str(CHART), "--namespace", space.name, "--values", helm.values(other))
    assert done.returncode != 0
    assert "the cluster does not serve kubeflow.org/v2beta1/MPIJob. Install kubeflow's mpi-operator" in done.stderr
