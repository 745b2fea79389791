"""How metrics come to Prometheus, and what Grafana shows of them."""

import itertools
import json
import re
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector
from rigs.helm import CHART, component, container, digits_values, edges, pods
from rigs.value_sets import SCRAPER

from services.autoscaler.metrics import autoscaler_metrics
from services.autoscaler.scaler import Shown
from services.coordination.meter import Meter
from services.coordinator.control import Tallies
from services.coordinator.metrics import coordinator_metrics
from services.process.metrics import on_scrape
from services.recognizer.metrics import RecognizerMetrics
from services.stage.metrics import stage_metrics
from services.trainer.metrics import rank_metrics
from sonorant.capacity.measurements import Demand
from sonorant.capacity.planner import Decision
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order
from sonorant.serving.admission import Admission
from sonorant.v1 import coordinator_pb2 as pb

CHAIN = {component(stage) for stage in stage_order(Recipe.model_validate(digits_values()["recipe"]))}
COUNTING = CHAIN | {"coordinator", "autoscaler", "trainer", "recognizer"}
PORT = 9100
DASHBOARD = json.loads((CHART / "dashboards" / "sonorant.json").read_text())
PANELS = DASHBOARD["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel.get("targets", ())]
DISCOVERED = {"namespace", "pod", "le"}  # labels that Prometheus adds


@pytest.fixture(scope="module")
def watched(helm):
    metrics = {"podMonitors": True, "scrapers": [SCRAPER], "dashboard": True, "labels": {"release": "prometheus"}}
    return helm.render(digits_values(metrics=metrics))


@pytest.fixture(scope="module")
def exported():
    """Labels by name of all that the programs tell Prometheus."""
    epoch = pb.EpochProgress(epoch=0, total=1)
    status = pb.GetStatusResponse(
        replicas=[pb.ReplicaStatus(stage="room")], rejected={"room": 1}, epochs=[epoch], t_session=0.5
    )
    control = SimpleNamespace(status=lambda now: status, tallies=lambda: Tallies(0, 0, 0, 0, 0))
    rank = Meter()
    rank.show({"epoch": 0, "loss": 1, "wer": 1, "skipped_steps": 0})
    decision = Decision({"room": 1}, demand=Demand(1, 1), predicted=1, service_s={"room": 1})
    registry = CollectorRegistry()
    for collect in (
        lambda: coordinator_metrics(control, 0),
        lambda: stage_metrics("room", Meter(), {}),
        lambda: rank_metrics(rank),
        lambda: autoscaler_metrics(Shown(decision=decision, t_session=0.5)),
    ):
        on_scrape(registry, collect)
    recognizer = RecognizerMetrics(registry, Admission(1))
    recognizer.refusals.labels("UNAVAILABLE").inc()
    ProcessCollector(registry=registry)
    samples = [sample for family in registry.collect() for sample in family.samples]
    return {sample.name: set(sample.labels) for sample in samples}


def test_what_counts_listens_and_is_monitored_and_nothing_else(watched):
    listening = {name for name in pods(watched) if f"--metrics-port={PORT}" in container(watched, name)["args"]}
    assert listening == COUNTING
    ports = {name: container(watched, name).get("ports", []) for name in pods(watched)}
    named = {name for name, own in ports.items() if {"name": "metrics", "containerPort": PORT} in own}
    assert named == COUNTING
    assert {name for kind, name in watched if kind == "PodMonitor"} == {f"words-{name}" for name in COUNTING}
    for name in COUNTING:
        monitor = watched["PodMonitor", f"words-{name}"]
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
        selected = monitor["spec"]["selector"]["matchLabels"]
        assert selected.items() <= pods(watched)[name]["metadata"]["labels"].items()
        assert monitor["spec"]["podMetricsEndpoints"] == [{"port": "metrics"}]


def test_metrics_are_served_where_pods_are_reached(watched):
    for name in COUNTING:
        hosts = [argument for argument in container(watched, name)["args"] if argument.startswith("--host=")]
        assert hosts in (["--host=$(POD_IP)"], ["--host=0.0.0.0"], ["--host=$(POD_IP)"] * 2), name


def test_scrapers_reach_metrics_and_nothing_else_does(manifests, watched):
    into, out_of = edges(watched)
    before_in, before_out = edges(manifests)
    assert into - before_in == {("*", name, PORT) for name in COUNTING}
    assert out_of == before_out
    for name in COUNTING:
        rules = watched["NetworkPolicy", f"words-{name}"]["spec"]["ingress"]
        assert {"from": [SCRAPER], "ports": [{"port": PORT, "protocol": "TCP"}]} in rules


def test_monitors_that_nobody_could_follow_are_refused(helm):
    assert "metrics.scrapers: nobody" in helm.refusal(digits_values(metrics={"podMonitors": True}))


def test_by_default_there_is_nothing_of_an_operator_or_of_grafana(manifests):
    assert "PodMonitor" not in {kind for kind, _ in manifests}
    assert ("ConfigMap", "words-dashboard") not in manifests


def test_the_dashboard_is_installed_as_it_is_here(watched):
    document = watched["ConfigMap", "words-dashboard"]
    assert document["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(document["data"]["sonorant.json"]) == DASHBOARD


def test_the_dashboard_shows_only_what_programs_export(exported):
    for expression in EXPRESSIONS:
        names = set(re.findall(r"\b(?:sonorant|process)_\w+", expression))
        assert names, expression
        assert names <= set(exported), expression
        used = set(re.findall(r"(\w+)=~?\"", expression))
        used |= {label.strip() for by in re.findall(r"by \(([^)]*)\)", expression) for label in by.split(",")}
        assert used <= DISCOVERED.union(*(exported[name] for name in names)), expression


def test_every_program_is_on_the_dashboard():
    shown = set(re.findall(r"sonorant_([a-z]+)_", " ".join(EXPRESSIONS)))
    assert shown == {"coordinator", "stage", "trainer", "autoscaler", "recognizer"}


def test_the_dashboard_is_one_that_grafana_takes():
    assert DASHBOARD["uid"]
    assert isinstance(DASHBOARD["schemaVersion"], int)
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for panel in PANELS:
        assert panel["title"]
        if panel["type"] == "row":
            continue
        assert panel["description"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(PANELS)))
    assert used == variables | {"__rate_interval"}


def test_panels_lie_within_the_grid_and_none_on_another():
    boxes = [panel["gridPos"] for panel in PANELS]
    for box in boxes:
        assert box["w"] > 0
        assert box["h"] > 0
        assert 0 <= box["x"] <= 24 - box["w"]
    for one, other in itertools.combinations(boxes, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)
