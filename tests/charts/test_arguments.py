"""What the chart puts on command lines, read by the programs themselves."""

import re

import pytest
from rigs.helm import component, container, digits_values, pods

from services.autoscaler.main import command as autoscaler
from services.coordinator.main import command as coordinator
from services.evaluation.probe import command as probe
from services.launcher.main import command as launcher
from services.recognizer.main import command as recognizer
from services.stage.command import command as replica
from services.trainer.main import command as trainer
from sonorant.capacity.sizing import Bounds
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order

CHAIN = stage_order(Recipe.model_validate(digits_values()["recipe"]))
FILLED_IN = {"POD_IP": "10.0.0.1", "CPUS": "2", "REVISION": "words-trainer-1"}


@pytest.fixture(scope="module")
def manifests(helm):
    each = {"room": {"minReplicas": 2, "maxReplicas": 40}, "gain": {"maxReplicas": 3}}
    stages = {"each": {"room": {"resources": {"requests": {"cpu": "250m"}}}}}
    return helm.render(
        digits_values(autoscaling={"each": each, "cores": 24, "stabilizationWindowSeconds": 90}, stages=stages)
    )


@pytest.fixture(autouse=True)
def _redis(monkeypatch):
    monkeypatch.setenv("SONORANT_REDIS", "redis://localhost")


def parsed(command, arguments):
    """Parse as the program would, with what the kubelet fills in; click refuses what it does not know."""
    words = [re.sub(r"\$\((\w+)\)", lambda found: FILLED_IN[found[1]], word) for word in arguments]
    return command.make_context("program", words).params


@pytest.mark.parametrize(
    ("name", "command"), [("coordinator", coordinator), ("recognizer", recognizer), ("test", probe), *(
        (component(stage), replica) for stage in CHAIN
    )],
)  # fmt: skip
def test_a_program_takes_what_it_is_given(manifests, name, command):
    parsed(command, container(manifests, name)["args"])


def test_the_launcher_starts_a_rank_that_takes_what_it_is_given(manifests):
    given = parsed(launcher, container(manifests, "trainer")["args"])
    python, module, program, *arguments = given["command"]
    assert (python, module, program) == ("python", "-m", "services.trainer")
    rank = parsed(trainer, arguments)
    assert rank["launched"]
    assert rank["threads"] == 2
    assert rank["host"] == given["host"] == "10.0.0.1"


def test_what_follows_the_cores_of_a_pod_follows_those_it_asks_for(manifests):
    """A limit may be far above: threads for all of it would get in each other's way."""
    counted = [c["env"] for pod in pods(manifests).values() for c in pod["spec"]["containers"] if "$(CPUS)" in str(c)]
    assert counted
    for environment in counted:
        (cpus,) = (entry["valueFrom"] for entry in environment if entry["name"] == "CPUS")
        assert cpus == {"resourceFieldRef": {"resource": "requests.cpu"}}


def test_the_autoscaler_is_told_who_may_have_how_much(manifests):
    given = parsed(autoscaler, container(manifests, "autoscaler")["args"])
    assert given["prefix"] == "words-"
    assert given["cores"] == 24
    assert given["utilisation"] == 0.8
    assert given["stabilisation_s"] == 90
    of_one = {"room": Bounds(2, 40, 0.25), "gain": Bounds(1, 3, 1)}
    assert given["bounds"] == {stage: of_one.get(stage, Bounds(1, 20, 1)) for stage in CHAIN}


def test_who_starts_before_there_are_shards_or_a_model_waits_for_days(manifests):
    waiting = {"coordinator": coordinator, "recognizer": recognizer, component(CHAIN[0]): replica}
    given = [parsed(command, container(manifests, name)["args"]) for name, command in waiting.items()]
    _, _, _, *rank = parsed(launcher, container(manifests, "trainer")["args"])["command"]
    assert {params["patience_s"] for params in (*given, parsed(trainer, rank))} == {7 * 24 * 3600.0}


def test_a_recognizer_that_waits_knows_where_clients_find_its_like(manifests):
    (port,) = manifests["Service", "words-recognizer"]["spec"]["ports"]
    given = parsed(recognizer, container(manifests, "recognizer")["args"])
    assert given["service"] == f"words-recognizer:{port['port']}"
