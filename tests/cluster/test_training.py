"""The digits recipe on the cluster, with two ranks, while each kind of pod is deleted by force.

In strict order, so that it must end with the very weights of a training on this machine that nobody disturbs; pods of a
release that trains in fast order are deleted in test_release, and everything else about that order in `make chaos`.
DIGITS=whole trains what `make demo` trains, and measures error rates; otherwise it is a small part.
LAUNCHER=mpijob has the ranks started by an MPIJob, which is to come to the same; otherwise a StatefulSet has them.
The volumes are folders of this machine, so it must be the cluster's node. Seconds go to runs/cluster.
"""

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rigs.cluster import SMALL, Namespace, is_ready, kubectl, small_values
from rigs.helm import ROOT, digits_values
from rigs.training_release import Training
from rigs.waiting import eventually

from services.process.keys import Keys
from services.recognizer_client.client import connect, open_recognizer, stream_recording
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Lineage
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoints import load_checkpoint

WHOLE = os.environ.get("DIGITS") == "whole"
RECIPE = digits_values()["recipe"]
TRAIN, EPOCHS = (RECIPE["corpus"]["strings"]["train"], RECIPE["training"]["epochs"]) if WHOLE else (400, 27)
LAUNCHER = os.environ.get("LAUNCHER", "statefulset")
BY_MPI = LAUNCHER == "mpijob"
PATIENCE_S = 1500.0
whole = pytest.mark.skipif(not WHOLE, reason="a small part of the recipe is over too soon to say: DIGITS=whole")
STAGES = ["shard-reader", "speed", "vtlp", "equaliser", "room", "gain", "featurizer", "spec-augment"]
OTHERS = [*STAGES, "autoscaler", "coordinator", "redis"]
# Ranks are not alike: the first has the rendezvous and writes checkpoints. The names of an MPIJob's hold a checksum.
RANKS = ["trainer"] if BY_MPI else ["trainer-0", "trainer-1"]
FIGURES = ROOT / "runs" / "cluster" / f"training-{LAUNCHER}.json"


@pytest.fixture(scope="module")
def space(data_folder, tmp_path_factory):
    # The operator's own init container in the launcher's pod is not restricted.
    space = Namespace("sonorant-training-test", security="baseline" if BY_MPI else "restricted")
    space.folders = {name: tmp_path_factory.mktemp(name) for name in ("runs", "redis")}
    space.for_digits(data_folder, space.folders)
    yield space
    space.close()


@pytest.fixture(scope="module")
def figures():
    """Seconds by what was waited for, written at the end."""
    figures = {}
    yield figures
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


@pytest.fixture(scope="module")
def training(space, helm):
    values = small_values(autoscaling={"maxReplicas": 1, "resources": SMALL})
    recipe = values["recipe"]
    recipe["corpus"]["strings"]["train"] = TRAIN
    if not WHOLE:
        recipe["corpus"]["strings"] |= {"dev": 8, "test": 8, "unseen_speaker": 8}
        values["recognizer"]["test"]["maxWer"] = 2  # what trains so little may hear nothing
    password = {"metadata": {"name": "ledger-password"}, "stringData": {"password": "Ein-Wort.0_9~"}}
    space.kubectl("apply", "--filename=-", documents=[{"apiVersion": "v1", "kind": "Secret", **password}])
    values["redis"]["passwordSecret"] = "ledger-password"
    values["trainer"] |= {"launcher": LAUNCHER, "mpiVersion": "v1", "ranks": 2}
    # As many examples a step as on one rank: the same steps, halved.
    halved = {"ranks": 2, "batch_examples": recipe["training"]["batch_examples"] // 2}
    recipe["training"] |= halved | {"epochs": EPOCHS, "max_minutes": 0, "patience": 1000, "checkpoint_every_steps": 20}
    recipe["pipeline"]["order"] = "strict"
    yield Training(space, helm, values)
    helm.run("uninstall", "words", "--namespace", space.name)


@whole
def test_preparation_goes_on_when_its_pod_is_deleted_by_force(training):
    space, shards = training.space, training.run / "shards"
    eventually(lambda: shards.is_dir() and any(shards.iterdir()), training.state)
    (job,) = space.found("jobs", instance="words")
    component = job["metadata"]["labels"]["app.kubernetes.io/component"]  # ends in a checksum of what it prepares
    (first,) = (pod["metadata"] for pod in space.pods(component))
    space.kubectl("delete", "pod", first["name"], "--force", "--grace-period=0")
    # If it was done, there is no other.
    eventually(lambda: [p for p in space.pods(component) if p["metadata"]["uid"] != first["uid"]], training.state)
    space.kubectl("wait", f"job/{job['metadata']['name']}", "--for=condition=Complete", "--timeout=300s")


def test_training_begins_and_everything_came_up_at_the_first_try(training, figures):
    training.goes_on()
    figures["install to first step"] = time.monotonic() - training.begun_s
    states = [s for pod in training.space.found("pods") for s in pod["status"].get("containerStatuses", [])]
    assert {state["name"]: state["restartCount"] for state in states if state["restartCount"]} == {}
    assert {state["name"] for state in states if state["ready"]} >= {*OTHERS, "trainer"}


def status_of(training, *arguments):
    command = [sys.executable, "-m", "sonorant.cli", "status", "--release", "words", "-n", training.space.name]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_status_finds_the_release_by_its_name(training):
    status = json.loads(status_of(training, "--json"))
    assert {replica["stage"] for replica in status["replicas"]} >= {"room", "featurizer", "trainer"}


def test_a_redis_that_hangs_is_started_again_and_training_goes_on(training, figures):
    assert not training.finished(), "training was over too early: nothing is proved"
    struck_s = time.monotonic()
    training.hang("redis", "redis-server")
    training.goes_on()
    figures["redis hangs to next step"] = time.monotonic() - struck_s


@pytest.mark.parametrize("name", [*OTHERS, *RANKS])
def test_a_pod_that_is_deleted_by_force_comes_back_and_training_goes_on(training, figures, name):
    assert not training.finished(), "training was over too early: nothing is proved"
    struck_s = time.monotonic()
    training.delete_one(name)
    training.goes_on()
    figures[f"{name} deleted to next step"] = time.monotonic() - struck_s


def test_each_example_was_trained_on_once_an_epoch(training, figures):
    eventually(training.finished, training.state, patience_s=PATIENCE_S)
    figures["whole training"] = time.monotonic() - training.begun_s
    totals = json.loads((training.run / "finished.json").read_text())
    assert totals["reason"] == "epochs"
    assert totals["examples"] == EPOCHS * TRAIN
    assert totals["ledger"] == {"committed": EPOCHS * TRAIN, "rejected": 0, "lost": 0, "duplicated": 0}
    command = [sys.executable, "-m", "sonorant.cli", "audit", str(training.run), "--json"]
    audited = subprocess.run(command, capture_output=True, text=True, check=False)
    assert audited.returncode == 0, audited.stderr
    assert json.loads(audited.stdout)["exact"]


def working(space):
    """Return the pods of stages and ranks; that of an MPIJob's mpirun stays when it has ended, for its log."""
    pods = [pod for component in (*STAGES, "trainer") for pod in space.pods(component)]
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] not in ("Succeeded", "Failed")]


def test_when_it_is_complete_neither_ranks_nor_stages_are_left(training):
    eventually(lambda: not working(training.space), training.state)
    assert is_ready(*training.space.pods("coordinator"))
    assert "training is complete" in status_of(training)


@pytest.fixture(scope="module")
def undisturbed(training, data_folder, tmp_path_factory):
    """The future folder of a run of the same recipe on this machine, undisturbed: it trains while other tests go on.

    In the other layout, which is the same in all but its processes.
    """
    recipe = tmp_path_factory.mktemp("undisturbed") / "recipe.yaml"
    recipe.write_text(json.dumps(training.values["recipe"]))
    run = recipe.with_name("run")

    def prepare_and_train():
        for command in ("prepare", "train"):
            sonorant(command, "--recipe", recipe, "--run", run, "--data", data_folder, "--set", "pipeline.layout=fused")
        return run

    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(prepare_and_train)


def sonorant(*command):
    """Run one of sonorant's commands on two cores: a rank then has one thread, as in its pod, and so adds as there."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    line = ["nice", "taskset", "--cpu-list", cores, sys.executable, "-m", "sonorant.cli", *map(str, command)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_recognizer_serves_what_was_trained(training, undisturbed):
    training.space.wait_until_served()
    tested = training.helm.run("test", "words", "--namespace", training.space.name, "--timeout", "300s", "--logs")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "digits/1 " in tested.stdout + tested.stderr


def test_a_recognizer_that_is_deleted_by_force_serves_again(training, figures):
    struck_s = time.monotonic()
    training.delete_one("recognizer")
    figures["recognizer deleted to ready"] = time.monotonic() - struck_s


@whole
def test_the_ranks_shared_every_epoch(training):
    totals = json.loads((training.run / "finished.json").read_text())
    least = EPOCHS * -(-TRAIN // RECIPE["training"]["batch_examples"])  # with full batches on both ranks
    assert totals["steps"] <= 1.15 * least


def keys_of_clients(space):
    data = json.loads(space.kubectl("get", "secret", "words-keys-client", "--output=jsonpath={.data}"))
    return Keys(authority=base64.b64decode(data["ca.crt"]))


def recordings(run):
    """Return four recordings of some ten seconds, each several strings of the dev set."""
    shards = ShardSet.open(run / "shards", "dev")
    positions = [shards.locate(n) for n in range(shards.total)]
    heard = [shards.read(s, i).example(Lineage(0, s, i)).waveform for s, i in positions]
    return [np.concatenate(heard[n::4][:4]) for n in range(4)], 8000


async def stream_until(over, address, keys, recordings, rate_hz):
    """Stream all at once in real time, again and again, at last when `over` is set; return each round's transcripts."""
    options = (("grpc.ssl_target_name_override", "words-recognizer"),)  # its name, which only pods can look up
    rounds, last = [], False
    async with open_recognizer(address, options, keys) as channel:
        stub = connect(channel)
        while not last:
            last = over.is_set()
            heard = await asyncio.gather(*(stream_recording(stub, r, rate_hz, paced=True) for r in recordings))
            rounds.append([h.text for h in heard])
    return rounds


def test_an_upgrade_under_four_streams_loses_no_word(training):
    space = training.space
    keys, (waves, rate_hz) = keys_of_clients(space), recordings(training.run)
    address = f"{space.kubectl('get', 'service', 'words-recognizer', '--output=jsonpath={.spec.clusterIP}')}:50051"
    before = space.pods("recognizer")[0]["metadata"]["uid"]
    training.values["recognizer"]["annotations"] = {"restarted": "once"}

    def upgrade():
        time.sleep(3)  # into the streams
        space.upgrade(training.helm, training.values)
        eventually(lambda: before not in {p["metadata"]["uid"] for p in space.pods("recognizer")}, training.state)

    async def with_streams(*works):
        over = asyncio.Event()
        streaming = asyncio.create_task(stream_until(over, address, keys, waves, rate_hz))
        for work in works:
            await asyncio.to_thread(work)
        over.set()
        return await streaming

    (undisturbed,) = asyncio.run(with_streams())
    rounds = asyncio.run(with_streams(upgrade))
    assert any(undisturbed)
    assert len(rounds) > 1  # the last by the new recognizer alone
    assert rounds == [undisturbed] * len(rounds)
    space.kubectl("rollout", "status", "deployment/words-recognizer", "--timeout=300s")


def test_it_ends_with_the_weights_of_an_undisturbed_training_on_this_machine(training, undisturbed, figures):
    here, there = (RunFolder(run) for run in (training.run, undisturbed.result()))
    ends = [json.loads(run.totals.read_text()) for run in (here, there)]
    assert ends[0]["steps"] == ends[1]["steps"]
    assert ends[0]["best_wer"] == ends[1]["best_wer"]
    figures["dev wer"] = ends[0]["best_wer"]
    assert not WHOLE or ends[0]["best_wer"] < 0.1  # of noise, weights would be equal too
    for name in ("best", "latest"):
        ours, theirs = (load_checkpoint(run.checkpoints, name).evaluated for run in (here, there))
        for weight, values in theirs.items():
            np.testing.assert_array_equal(ours[weight], values, err_msg=f"{name}: {weight}")


@whole
def test_the_error_rates_are_those_of_the_training_on_this_machine(training, undisturbed, data_folder, figures):
    sonorant("export", "--run", undisturbed.result())
    here, there = (error_rates(run, data_folder) for run in (training.run, undisturbed.result()))
    figures["wer"] = here["wer"]
    assert here["wer"] == there["wer"]
    for name, wer in here["wer"].items():
        low, high = there["errors"][name]["interval_95"]
        assert low <= wer <= high < 0.25, (name, there["errors"][name])


def error_rates(run, data_folder):
    sonorant("evaluate", "--run", run, "--data", data_folder)
    sonorant("report", "--run", run)
    return json.loads((run / "report.json").read_text())


def test_an_upgrade_with_more_epochs_trains_on_and_ends_again(training):
    recipe = training.values["recipe"]["training"]
    recipe["epochs"] = EPOCHS + 1
    training.space.upgrade(training.helm, training.values)
    eventually(lambda: training.finished(EPOCHS + 1), training.state, patience_s=PATIENCE_S)
    totals = json.loads((training.run / "finished.json").read_text())
    assert totals["ledger"] == {"committed": (EPOCHS + 1) * TRAIN, "rejected": 0, "lost": 0, "duplicated": 0}
    eventually(lambda: not working(training.space), training.state)
    assert "training is complete" in status_of(training)


def test_uninstalling_leaves_the_claims_and_nothing_else(training):
    space = training.space
    space.kubectl("delete", "pod", "words-test", "--ignore-not-found")  # no release owns what a hook made
    how = ("--cascade", "foreground", "--wait", "--timeout", "300s")
    gone = training.helm.run("uninstall", "words", "--namespace", space.name, *how)
    assert gone.returncode == 0, gone.stderr
    owned = "--selector=app.kubernetes.io/instance=words"
    kinds = "deployments,statefulsets,jobs,pods,services,configmaps,secrets,networkpolicies,poddisruptionbudgets"
    kinds += ",serviceaccounts,roles,rolebindings,leases"
    assert space.kubectl("get", kinds, owned, "--output=name") == ""
    assert kubectl("get", "priorityclasses", owned, "--output=name") == ""
    claims = {claim["metadata"]["name"] for claim in space.found("persistentvolumeclaims")}
    assert claims == {"corpora", "words-runs", "words-redis"}
