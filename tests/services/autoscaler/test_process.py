"""The autoscaler as a process, with the options that the chart gives it."""

import pytest
from rigs.api_server import ApiServer
from rigs.autoscaler import AutoscalerProcess, MadeUpTraining
from rigs.ports import free_port
from rigs.small_corpus import digits_recipe
from rigs.waiting import eventually

from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import dump_recipe

RECIPE = digits_recipe()
STAGES = [f"words-{stage.replace('_', '-')}" for stage in stage_order(RECIPE)]


@pytest.fixture
def api():
    api = ApiServer()
    api.replicas = dict.fromkeys(STAGES, 1) | {"words-trainer": 1}
    api.leases["words-autoscaler"] = {"metadata": {"resourceVersion": "1"}, "spec": {}}
    yield api
    api.stop()


@pytest.fixture
def training():
    training = MadeUpTraining(dict.fromkeys(stage_order(RECIPE), 0.001), rate=10)
    yield training
    training.close()


@pytest.fixture
def start(api, training, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(dump_recipe(RECIPE))
    running = []

    def start(*arguments):
        options = ("--deployments", "words-", *arguments)
        running.append(
            AutoscalerProcess(recipe, training.address, free_port(), *options, kubeconfig=api.kubeconfig(tmp_path))
        )

    yield start
    for one in running:
        one.end(kill=True)


@pytest.mark.parametrize("planning", ["--plan", "--no-plan"])
def test_complete_training_rests_and_what_goes_on_has_its_ranks_and_fewest_replicas(api, training, start, planning):
    start(planning, "--rest", "--ranks", "2", f"--bounds={STAGES[0].removeprefix('words-').replace('-', '_')}=3:5")
    eventually(lambda: api.replicas["words-trainer"] == 2, lambda: api.replicas)
    training.finished = True
    eventually(lambda: not any(api.replicas.values()), lambda: api.replicas)
    training.finished = False
    awake = dict.fromkeys(STAGES, 1) | {STAGES[0]: 3, "words-trainer": 2}
    eventually(lambda: api.replicas == awake, lambda: api.replicas)


@pytest.mark.parametrize("finished", [False, True])
def test_who_neither_plans_nor_ends_training_changes_nothing(api, training, start, finished):
    training.finished, training.costs_s = finished, dict.fromkeys(training.costs_s, 1.0)  # a planner would want 13
    start("--no-plan", "--no-rest", "--ranks", "2")
    eventually(lambda: "holderIdentity" in api.leases["words-autoscaler"]["spec"], lambda: api.leases)
    looks = training.examples
    eventually(lambda: training.examples >= looks + 500, lambda: training.examples)
    assert set(api.replicas.values()) == {1}
