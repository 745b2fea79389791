"""The digits recipe on the cluster with no volume in common: the run is in object storage, a real S3 server's.

The server is a process of this machine, which must be the cluster's node: pods reach it at the node's address.
"""

import json

import pytest
from cluster_rig import SMALL, Namespace, eventually, is_ready, kubectl, small_values
from s3_rig import S3Server

from services.storage.objects import ObjectStore

TRAIN, EPOCHS = 200, 12


@pytest.fixture(scope="module")
def node_address():
    (node, *_) = json.loads(kubectl("get", "nodes", "--output=json"))["items"]
    return next(a["address"] for a in node["status"]["addresses"] if a["type"] == "InternalIP")


@pytest.fixture(scope="module")
def s3(tmp_path_factory, node_address):
    server = S3Server(tmp_path_factory.mktemp("s3"), node_address)
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def store(s3):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3.environment.items():
            patch.setenv(name, value)
        yield ObjectStore("s3://bucket/runs/digits", 20)


@pytest.fixture(scope="module")
def space(data_folder, tmp_path_factory, s3):
    space = Namespace("sonorant-storage-test")
    space.for_digits(data_folder, {"redis": tmp_path_factory.mktemp("redis")})
    keys = {name: value for name, value in s3.environment.items() if name.endswith("KEY_ID") or "SECRET" in name}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bucket-keys"}, "stringData": keys}
    space.kubectl("apply", "--filename=-", documents=[secret])
    yield space
    space.close()


@pytest.fixture(scope="module")
def installed(space, helm, s3):
    values = small_values(autoscaling={"mode": "none", "resources": SMALL})
    kept = {"url": "s3://bucket/runs", "secret": "bucket-keys", "endpoint": s3.endpoint, "sizeLimit": "1Gi"}
    values["recognizer"]["test"]["maxWer"] = 2  # what trains so little may hear nothing
    values["storage"] = {"redis": values["storage"]["redis"], "store": kept}
    recipe = values["recipe"]
    recipe["corpus"]["strings"] |= {"train": TRAIN, "dev": 8, "test": 8, "unseen_speaker": 8}
    recipe["training"] |= {"epochs": EPOCHS, "max_minutes": 0, "patience": 1000, "checkpoint_every_steps": 10}
    space.install(helm, values)
    yield space
    helm.run("uninstall", "words", "--namespace", space.name)


def state(space):
    return f"{space.kubectl('get', 'pods', '--output=wide')}\n{space.logs('trainer')[-3000:]}"


def generations(space):
    """Return the events of the trainer's pod that say where it began."""
    lines = (line.partition("] ")[2] for line in space.logs("trainer").splitlines())
    events = [json.loads(line) for line in lines if line.startswith("{")]
    return [event for event in events if event["event"] == "generation_started"]


def test_only_redis_has_a_volume(installed):
    claims = {c["metadata"]["name"] for c in installed.found("persistentvolumeclaims", instance="words")}
    assert claims == {"words-redis"}


def test_a_trainer_that_is_deleted_by_force_goes_on_from_the_store(installed, store):
    eventually(lambda: store.read("checkpoints/latest"), lambda: state(installed), 900.0)
    (before,) = installed.pods("trainer")
    saved = int(store.read("checkpoints/latest").decode().removeprefix("step-"))
    assert store.read("finished.json") is None, "training was over too early: nothing is proved"
    installed.kubectl("delete", "pod", before["metadata"]["name"], "--force", "--grace-period=0", "--wait=false")

    def replaced():
        pods = installed.pods("trainer")
        return len(pods) == 1 and is_ready(pods[0]) and pods[0]["metadata"]["uid"] != before["metadata"]["uid"]

    eventually(replaced, lambda: state(installed))
    (begun, *_) = eventually(lambda: generations(installed), lambda: state(installed))
    assert begun["step"] >= saved > 0


def test_each_example_was_trained_on_once_an_epoch(installed, store):
    totals = json.loads(eventually(lambda: store.read("finished.json"), lambda: state(installed), 1500.0, every_s=2.0))
    assert totals["examples"] == EPOCHS * TRAIN
    assert totals["ledger"] == {"committed": EPOCHS * TRAIN, "rejected": 0, "lost": 0, "duplicated": 0}


def test_the_recognizer_serves_what_the_store_has(installed, helm):
    installed.kubectl("rollout", "status", "deployment/words-recognizer", "--timeout=300s")
    tested = helm.run("test", "words", "--namespace", installed.name, "--timeout", "300s")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "digits/1 " in tested.stdout + tested.stderr
