import json

import pytest
from click.testing import CliRunner
from rigs.coordinator import ScriptedCoordinator
from rigs.training_run import EPOCHS, tiny_recipe

from sonorant.cli.status import command
from sonorant.errors import Unavailable
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder
from sonorant.v1 import coordinator_pb2 as pb


def test_a_run_without_a_training_is_named(tmp_path):
    (tmp_path / "recipe.yaml").touch()
    result = CliRunner().invoke(command, ["--run", str(tmp_path)])
    assert isinstance(result.exception, Unavailable)
    assert "no training has been started" in str(result.exception)


def test_a_coordinator_that_is_gone_is_named(tmp_path):
    (tmp_path / "recipe.yaml").touch()
    (tmp_path / "coordinator.address").write_text("127.0.0.1:1\n")
    result = CliRunner().invoke(command, ["--run", str(tmp_path), "--json"])
    assert isinstance(result.exception, Unavailable)
    assert "127.0.0.1:1 does not answer" in str(result.exception)


@pytest.mark.parametrize("started_here", [True, False])
def test_of_a_run_whose_training_is_complete_that_is_said(tmp_path, started_here):
    run = RunFolder(tmp_path)
    run.recipe.write_text(dump_recipe(tiny_recipe()))
    run.totals.write_text(json.dumps({"epochs": EPOCHS, "train_seconds": 1.0}))
    if started_here:
        (tmp_path / "coordinator.address").write_text("127.0.0.1:1\n")
    ended = CliRunner().invoke(command, ["--run", str(tmp_path)]).exception
    assert f"{tmp_path}: training is complete ({EPOCHS} epochs), so none runs" in str(ended)
    assert ended.exit_code == 69
    run.recipe.write_text(dump_recipe(tiny_recipe(epochs=EPOCHS + 1)))
    assert "is complete" not in str(CliRunner().invoke(command, ["--run", str(tmp_path)]).exception)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"localhost"])
def test_an_address_that_is_none_is_named(tmp_path, content):
    (tmp_path / "recipe.yaml").touch()
    (tmp_path / "coordinator.address").write_bytes(content)
    result = CliRunner().invoke(command, ["--run", str(tmp_path)])
    assert isinstance(result.exception, Unavailable)
    assert "coordinator.address: found '" in str(result.exception)


def test_a_coordinator_without_a_port_is_refused():
    result = CliRunner().invoke(command, ["--coordinator", "localhost"])
    assert (result.exit_code, "such as localhost:7100" in result.output) == (2, True)


class _Crowd(ScriptedCoordinator):
    def GetStatus(self, request, context):
        return pb.GetStatusResponse(replicas=[pb.ReplicaStatus(stage="vtlp", replica=f"v-{n}") for n in range(30)])


@pytest.fixture
def crowd():
    coordinator = _Crowd()
    yield ["--coordinator", coordinator.address]
    coordinator.close()


@pytest.mark.parametrize(("options", "listed"), [([], 0), (["--replicas"], 30)])
def test_many_replicas_are_listed_on_request(crowd, options, listed):
    shown = CliRunner().invoke(command, [*crowd, *options]).output
    assert "30 replicas" in shown
    assert shown.count("v-") == listed


def test_json_has_each_replica(crowd):
    shown = json.loads(CliRunner().invoke(command, [*crowd, "--json"]).output)
    assert [replica["replica"] for replica in shown["replicas"]] == [f"v-{n}" for n in range(30)]
