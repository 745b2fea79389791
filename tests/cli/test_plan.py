import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner
from rigs.coordinator import seconds

from sonorant.capacity.service_times import ServiceTimes
from sonorant.cli.plan import command
from sonorant.errors import BadShard, Unavailable
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorServicer, add_CoordinatorServicer_to_server

RECIPE = Path(__file__).parents[2] / "recipes" / "digits.yaml"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return tmp_path_factory.mktemp("plan") / "measured.json"


def _plan(measured, *options, **given):
    arguments = ["--recipe", str(RECIPE), "--hours", "100", "--measured", str(measured), *options]
    return CliRunner().invoke(command, arguments, catch_exceptions=False, **given)


def test_a_recipe_is_measured_planned_and_simulated_and_then_planned_again_without(measured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no prepared run lies
    options = ("--gpus", "8", "--step-seconds", "0.5", "--utterance-seconds", "1", "--json")
    first = json.loads(_plan(measured, *options).stdout)
    stages = [stage["stage"] for stage in first["plan"]["stages"]]
    assert stages == ["shard_reader", "speed", "vtlp", "equaliser", "room", "gain", "featurizer", "spec_augment"]
    assert first["plan"]["demand"] == 8 * 32 / 0.5
    assert first["simulated"]["rate"] == pytest.approx(512, rel=0.05)
    assert ServiceTimes.load(measured).utterances.seconds == pytest.approx(1.0)
    again = _plan(measured, "--gpus", "8")
    assert "measuring" not in again.stderr
    assert "8 GPUs, 100 hours of speech: 512 examples/s of 512" in again.stdout


def test_cores_that_do_not_suffice_are_said(measured):
    shown = _plan(measured, "--gpus", "64", "--cores", "9", "--step-seconds", "0.1").stdout
    assert "limit: " in shown
    assert "9 allowed" in shown


def test_a_run_that_is_named_must_be_prepared(tmp_path):
    with pytest.raises(BadShard, match="no shards"):
        _plan(tmp_path / "m.json", "--gpus", "1", "--run", str(tmp_path))


def test_a_coordinator_that_is_not_there_is_named(measured):
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer"):
        _plan(measured, "--gpus", "1", "--coordinator", "127.0.0.1:1")


class _Coordinator(CoordinatorServicer):
    """Of a training whose room simulators, two of them, take 0.5 s an example, and whose ranks take 0.01 s.

    share: of the rooms' time, on a core of their own; None: not told, as by an older coordinator.
    """

    def __init__(self, share):
        self.share = share

    def GetStatus(self, request, context):
        spent = {"busy": seconds(8.0), "cpu": seconds(8.0 * self.share)} if self.share else {}
        room = [pb.ReplicaStatus(stage="room", utilisation=u, examples_per_second=2 * u, **spent) for u in (0.9, 0.7)]
        ranks = [pb.ReplicaStatus(stage="trainer", utilisation=0.25, examples_per_second=25)]
        return pb.GetStatusResponse(replicas=[*room, *ranks])


@pytest.mark.parametrize(("share", "service_s"), [(None, 0.5), (1.0, 0.5), (0.4, 0.2)])
def test_a_running_training_says_what_its_stages_and_ranks_take(measured, share, service_s):
    server = grpc.server(ThreadPoolExecutor(1))
    add_CoordinatorServicer_to_server(_Coordinator(share), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        plan = json.loads(_plan(measured, "--gpus", "2", "--coordinator", f"127.0.0.1:{port}", "--json").stdout)["plan"]
    finally:
        server.stop(grace=0).wait()
    assert plan["demand"] == pytest.approx(2 / 0.01)
    (room,) = (stage for stage in plan["stages"] if stage["stage"] == "room")
    assert room["service_s"] == pytest.approx(service_s)


def test_curves_are_drawn(measured, tmp_path):
    _plan(measured, "--gpus", "4", "--step-seconds", "0.5", "--plot", str(tmp_path / "curves.svg"))
    drawn = (tmp_path / "curves.svg").read_text()
    assert drawn.startswith("<svg")
    assert "what GPUs could take" in drawn
