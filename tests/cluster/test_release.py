"""One release as a cluster of many nodes would have it: an MPIJob's ranks, and the run in object storage.

In order: a stage is slow on purpose, and the planner adds replicas; strangers knock; HorizontalPodAutoscalers replace
the planner for a while; the pod of rank 0 is deleted by force. At the end every example was trained on once.

The stage's rooms echo long, and it may use 0.15 of a core: four replicas leave more than one of two to all others.
Replicas and t_session over time go to runs/cluster/planner.json and planner.svg. The S3 server is a process of this
machine, which must be the cluster's node: pods reach it at the node's address.
"""

import base64
import json
from dataclasses import replace

import grpc
import pytest
from rigs.cluster import SMALL, Namespace, is_ready, kubectl, small_values
from rigs.helm import CHART, ROOT
from rigs.s3 import S3Server
from rigs.strangers import KeyedRelease, strange_certificate
from rigs.waiting import eventually
from rigs.watch import Watch

from services.storage.objects import ObjectStore

SLOW = "room"
SLOW_ROOM = {"probability": 1, "t60_s": {"low": 0.4, "high": 0.5}}
SLOWED = {"resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"cpu": "150m", "memory": "1Gi"}}}
STARVED, FED, FOR_S = 0.6, 0.9, 20.0
MOST_DECISIONS, MOST_REPLICAS = 3, 4
TRAIN, EPOCHS, RANKS = 400, 32, 2
PATIENCE_S = 900.0
NO_CERTIFICATE, STRANGE_CERTIFICATE = "PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED"  # gRPC's words


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    (node, *_) = json.loads(kubectl("get", "nodes", "--output=json"))["items"]
    address = next(a["address"] for a in node["status"]["addresses"] if a["type"] == "InternalIP")
    try:
        server = S3Server(tmp_path_factory.mktemp("s3"), address)
    except pytest.skip.Exception as missing:
        pytest.fail(str(missing))
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
    if "kubeflow.org/v1" not in kubectl("api-versions").split():
        pytest.fail("the cluster does not serve kubeflow.org/v1: install kubeflow's training-operator")
    # The operator's own init container in the launcher's pod is not restricted.
    space = Namespace("sonorant-release-test", security="baseline")
    space.for_digits(data_folder, {"redis": tmp_path_factory.mktemp("redis")})
    keys = {name: value for name, value in s3.environment.items() if name.endswith("KEY_ID") or "SECRET" in name}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bucket-keys"}, "stringData": keys}
    space.kubectl("apply", "--filename=-", documents=[secret])
    yield space
    space.close()


@pytest.fixture(scope="module")
def values(s3):
    values = small_values(autoscaling=scaling("planner", MOST_REPLICAS))
    kept = {"url": "s3://bucket/runs", "secret": "bucket-keys", "endpoint": s3.endpoint, "sizeLimit": "1Gi"}
    values["storage"] = {"redis": values["storage"]["redis"], "store": kept}
    values["stages"] = values["stages"] | {"each": {SLOW: SLOWED}}
    values["trainer"] |= {"launcher": "mpijob", "mpiVersion": "v1", "ranks": RANKS}
    values["recognizer"]["test"]["maxWer"] = 2  # what trains so little may hear nothing
    recipe = values["recipe"]
    recipe["stages"] = [stage | SLOW_ROOM if stage["stage"] == SLOW else stage for stage in recipe["stages"]]
    recipe["corpus"]["strings"] |= {"train": TRAIN, "dev": 8, "test": 8, "unseen_speaker": 8}
    shared = {"ranks": RANKS, "batch_examples": recipe["training"]["batch_examples"] // RANKS}
    often = {"checkpoint_every_steps": 10, "dev_every_epochs": EPOCHS}
    recipe["training"] |= shared | often | {"epochs": EPOCHS, "max_minutes": 0, "patience": 1000}
    return values


def scaling(mode, most_of_slow):
    each = {SLOW: {"maxReplicas": most_of_slow}}
    return {"mode": mode, "maxReplicas": 1, "each": each, "stabilizationWindowSeconds": 40, "resources": SMALL}


@pytest.fixture(scope="module")
def watch(helm, space, values):
    space.install(helm, values)
    watch = Watch(KeyedRelease(space), SLOW)
    yield watch
    watch.write(ROOT / "runs" / "cluster")
    helm.run("uninstall", "words", "--namespace", space.name)


@pytest.fixture(scope="module")
def release(watch):
    """The release, once it trains."""
    watch.until(lambda status: status.HasField("t_session"))
    return watch.release


def said_by_ranks(space):
    """Return what mpirun handed on of the ranks' logs since it began, as far as it has."""
    launchers = [pod for pod in space.pods("trainer") if pod["metadata"]["name"].endswith("launcher")]
    begun = [p for p in launchers if any("waiting" not in c["state"] for c in p["status"].get("containerStatuses", []))]
    return "".join(space.kubectl("logs", pod["metadata"]["name"], "--container=trainer") for pod in begun)


def state(space):
    return f"{space.kubectl('get', 'pods', '--output=wide')}\n{said_by_ranks(space)[-3000:]}"


def test_only_redis_has_a_volume(watch, space):
    claims = {c["metadata"]["name"] for c in space.found("persistentvolumeclaims", instance="words")}
    assert claims == {"words-redis"}


def told(space, reason):
    """Return the messages of the events at what scales the slow stage, or is scaled."""
    events = json.loads(space.kubectl("get", "events", "--output=json"))["items"]
    return [e["message"] for e in events if (e["reason"], e["involvedObject"]["name"]) == (reason, f"words-{SLOW}")]


def test_the_slow_stage_gets_company_until_the_trainer_waits_no_more(release, watch):
    watch.until(lambda status: watch.fed(FOR_S) >= FED and watch.living > 1)
    assert watch.starved() < STARVED
    assert 1 <= watch.decisions() <= MOST_DECISIONS
    assert any("the trainer can take" in message for message in told(watch.space, "Scaled"))


@pytest.fixture(scope="module")
def strangers(release):
    """Have two pods started like those of `speed`; the test of each deletes it.

    `impostor` has another key of links, `forger` a certificate of another authority.
    """
    assert not release.logs("shard-reader", "link_refused")
    assert not release.logs("coordinator", STRANGE_CERTIFICATE)
    key, chain = strange_certificate()
    release.start_like_speed("impostor", {"words-keys-links": {"curve.key": base64.b64encode(bytes(range(32)))}})
    shown = {"tls.key": key, "tls.crt": chain, "ca.crt": release.keys.authority}
    release.start_like_speed("forger", {"words-keys-client": shown})
    running = "--for=jsonpath={.status.phase}=Running"  # before that nobody may ask for their logs
    release.space.kubectl("wait", "pod/impostor", "pod/forger", running, "--timeout=300s")


def test_a_stage_with_another_key_of_links_gets_no_example_and_delivers_none(release, strangers):
    try:
        # It has a certificate, so the coordinator tells it where the reader is, and the next stage where it is.
        eventually(lambda: release.examples("-impostor-"), release.state)
        eventually(lambda: release.logs("shard-reader", "link_refused"), release.state)
        eventually(
            lambda: [line for line in release.logs("speed", "link_refused") if "impostor" in line], release.state
        )
        release.goes_on()
        assert release.examples("-impostor-") == [0]
        assert sum(release.examples("-words-speed-")) > 0
    finally:
        release.delete("impostor")


def test_a_stage_with_a_certificate_of_another_authority_is_not_even_registered(release, strangers):
    try:
        eventually(lambda: release.logs("coordinator", STRANGE_CERTIFICATE), release.state)
        release.goes_on()
        assert not release.examples("-forger-")
        (pod,) = (p for p in release.space.pods("speed") if p["metadata"]["name"] == "forger")
        assert not is_ready(pod)
    finally:
        release.delete("forger")


@pytest.mark.parametrize(
    ("shown", "reason"),
    [(lambda: None, NO_CERTIFICATE), (strange_certificate, STRANGE_CERTIFICATE)],
    ids=["no certificate", "another authority's"],
)
def test_a_client_without_the_release_s_certificate_learns_nothing(release, shown, reason):
    before = len(release.logs("coordinator", reason))
    with pytest.raises(grpc.RpcError) as caught:
        release.status(replace(release.keys, certificate=shown()))
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    eventually(lambda: len(release.logs("coordinator", reason)) > before, release.state)
    assert release.status().replicas  # who has one is answered


def test_hpa_scales_by_what_metrics_server_says_and_gives_way_to_the_planner_again(release, watch, helm, values):
    more = MOST_REPLICAS + 1  # than the planner may ask for
    watch.space.upgrade(helm, values | {"autoscaling": scaling("hpa", more)})
    (autoscaler,) = watch.space.found("deployments", component="autoscaler")  # which is to end training, whoever scales
    assert "--no-plan" in autoscaler["spec"]["template"]["spec"]["containers"][0]["args"]
    eventually(lambda: any("cpu resource" in why for why in told(watch.space, "SuccessfulRescale")), watch.said)
    (scaler,) = watch.space.found("horizontalpodautoscalers", component=SLOW)
    conditions = {condition["type"]: condition["status"] for condition in scaler["status"]["conditions"]}
    assert conditions["ScalingActive"] == "True"
    watch.space.upgrade(helm, values)
    assert not watch.space.found("horizontalpodautoscalers")
    watch.space.kubectl("rollout", "status", "deployment/words-autoscaler", "--timeout=300s")


def generations(space):
    """Return the events of the ranks that say where they began."""
    lines = said_by_ranks(space).splitlines()
    return [json.loads(line[line.index("{") :]) for line in lines if '"generation_started"' in line]


def test_a_rank_0_that_is_deleted_by_force_goes_on_from_the_store(release, space, store):
    latest = eventually(lambda: store.read("checkpoints/latest"), lambda: state(space))
    saved = int(latest.decode().removeprefix("step-"))
    assert store.read("finished.json") is None, "training was over too early: nothing is proved"
    workers = [pod["metadata"]["name"] for pod in space.pods("trainer") if "worker" in pod["metadata"]["name"]]
    assert len(workers) == RANKS
    before = [event["generation"] for event in generations(space)]
    space.kubectl("delete", "pod", min(workers), "--force", "--grace-period=0")

    def begun_again():
        return [event for event in generations(space) if event["generation"] not in before]

    (begun, *_) = eventually(begun_again, lambda: state(space), patience_s=PATIENCE_S)
    assert begun["step"] >= saved > 0


def test_each_example_was_trained_on_once_an_epoch(watch, space, store):
    totals = json.loads(eventually(lambda: store.read("finished.json"), lambda: state(space), patience_s=PATIENCE_S))
    assert totals["reason"] == "epochs"
    assert totals["examples"] == EPOCHS * TRAIN
    assert totals["ledger"] == {"committed": EPOCHS * TRAIN, "rejected": 0, "lost": 0, "duplicated": 0}


def test_the_job_is_said_to_have_succeeded(watch, space):
    def succeeded():
        (job,) = space.found("mpijobs", component="trainer")  # its name ends in a checksum of its values
        conditions = job.get("status", {}).get("conditions", [])
        return any(c["type"] == "Succeeded" and c["status"] == "True" for c in conditions)

    eventually(succeeded, lambda: space.kubectl("describe", "mpijobs"))


def test_what_nobody_needs_any_more_goes_again(watch):
    watch.until(lambda status: status.finished)
    watch.until(lambda status: watch.living == watch.wanted == 0)


def test_the_recognizer_serves_what_the_store_has(watch, space, helm):
    space.wait_until_served()
    tested = helm.run("test", "words", "--namespace", space.name, "--timeout", "300s")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "digits/1 " in tested.stdout + tested.stderr


def test_an_operator_of_the_other_version_is_asked_for_by_name(space, helm, values):
    other = values | {"trainer": values["trainer"] | {"mpiVersion": "v2beta1"}}
    done = helm.run("install", "others", str(CHART), "--namespace", space.name, "--values", helm.values(other))
    assert done.returncode != 0
    assert "the cluster does not serve kubeflow.org/v2beta1/MPIJob. Install kubeflow's mpi-operator" in done.stderr
