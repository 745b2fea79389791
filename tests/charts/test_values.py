"""The chart's values and their schema."""

import json
from pathlib import Path

import pytest
from rigs.helm import container, digits_values, pods
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "sonorant"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = YAML(typ="safe", pure=True).load((CHART / "values.yaml").read_text())

OF_EACH = {"extraEnv", "extraVolumes", "extraVolumeMounts"}  # values.yaml tells of them once, with `pods`


def resolved(node):
    for branch in node.get("anyOf", [node]):
        if "$ref" in branch:
            return SCHEMA["$defs"][branch["$ref"].rsplit("/", 1)[1]]
    return node


def test_every_value_is_described_and_every_section_refuses_what_it_does_not_know():
    def walk(section, path):
        assert section["additionalProperties"] is False, path
        for key, node in section["properties"].items():
            assert node.get("description"), f"{path}{key} has no description"
            if "properties" in resolved(node) and key != "recipe":
                walk(resolved(node), f"{path}{key}.")

    walk(SCHEMA, "")


def test_values_and_schema_have_the_same_keys():
    def walk(values, section, path):
        of_each = set() if path == "pods." else OF_EACH
        assert set(values) == set(section["properties"]) - of_each, path
        for key, value in values.items():
            inner = resolved(section["properties"][key])
            if isinstance(value, dict) and "properties" in inner:
                walk(value, inner, f"{path}{key}.")

    walk(VALUES, SCHEMA, "")


def nullable(node):
    return {"type": "null"} in node.get("anyOf", ())


def test_what_null_would_take_away_is_required_but_for_what_may_be_null():
    def walk(values, section, path):
        for key, value in values.items():
            node = section["properties"][key]
            assert nullable(node) != (key in section.get("required", ())), f"{path}{key}"
            if isinstance(value, dict) and "properties" in resolved(node):
                walk(value, resolved(node), f"{path}{key}.")

    walk(VALUES, SCHEMA, "")


def test_all_that_may_be_null_may_be_null(helm):
    def nulls(section):
        inner = {key: resolved(node) for key, node in section["properties"].items() if key not in ("recipe", "global")}
        return {
            key: None if nullable(section["properties"][key]) else nulls(node)
            for key, node in inner.items()
            if nullable(section["properties"][key]) or "properties" in node
        }

    done = helm.template(digits_values() | nulls(SCHEMA) | {"data": {"claim": "corpora"}})
    assert done.returncode == 0, done.stderr
    assert "<nil>" not in done.stdout
    assert "%!" not in done.stdout


def test_a_value_that_null_takes_away_is_named(helm):
    done = helm.template(digits_values(), "--set", "autoscaling.rest=null")
    assert "at '/autoscaling': missing property 'rest'" in done.stderr


def test_the_recipe_in_it_is_the_recipes_own_schema():
    recipe = json.loads((ROOT / "docs" / "recipe.schema.json").read_text())
    inside = SCHEMA["$defs"]["Recipe"]
    assert inside == {key: value for key, value in recipe.items() if key != "$defs"}
    assert all(SCHEMA["$defs"][name] == definition for name, definition in recipe["$defs"].items())


@pytest.mark.parametrize("cpu", [2, 0.5, "2", "1500m"])
@pytest.mark.parametrize("memory", [1 << 30, "512Mi", "1.5G", "1e9"])
def test_resources_are_quantities_of_kubernetes(helm, cpu, memory):
    requests = {"cpu": cpu, "memory": memory, "ephemeral-storage": "1Gi"}
    manifests = helm.render(digits_values(trainer={"resources": {"requests": requests, "limits": {"memory": None}}}))
    assert container(manifests, "trainer")["resources"]["requests"] == requests


@pytest.mark.parametrize(
    ("values", "path", "said"),
    [
        ({"trainer": {"resources": {"requests": {"cpu": "lots"}}}}, "trainer/resources/requests/cpu", "lots"),
        ({"trainer": {"resources": {"requests": {"cpu": -1}}}}, "trainer/resources/requests/cpu", "-1"),
        ({"trainer": {"mpiResources": {"limits": {"cpu": "1Gi"}}}}, "trainer/mpiResources/limits/cpu", "1Gi"),
        ({"stages": {"resources": {"limits": {"memory": "1GB"}}}}, "stages/resources/limits/memory", "1GB"),
        ({"stages": {"each": {"room": {"resources": {"limits": {"memory": "1 G"}}}}}}, "stages/each/room", "1 G"),
        ({"recognizer": {"test": {"resources": {"limits": {"memory": "1K"}}}}}, "recognizer/test/resources", "1K"),
        ({"prepare": {"resources": {"request": {"cpu": 1}}}}, "prepare/resources", "request"),
        ({"storage": {"runs": {"size": "1.2.3"}}}, "storage/runs/size", "1.2.3"),
    ],
)
def test_resources_that_are_none_are_refused_with_their_place(helm, values, path, said):
    refusal = helm.refusal(digits_values(**values))
    assert f"'/{path}" in refusal
    assert f"'{said}'" in refusal or f"got {said}" in refusal


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [("autoscaling.utilisation", "0.7", "--utilisation=0.7"), ("autoscaling.cores", "12.5", "--cores=12.5")],
)
def test_fractions_may_be_set_on_the_command_line_which_makes_text_of_them(helm, key, value, told):
    values = digits_values()
    assert told in container(helm.render(values, "--set", f"{key}={value}"), "autoscaler")["args"]
    for wrong in ("lots", "-1", "0"):
        done = helm.template(values, "--set", f"{key}={wrong}")
        assert (done.returncode, key.replace(".", "/") in done.stderr) == (1, True), wrong


@pytest.mark.parametrize(
    "component", ["prepare", "redis", "coordinator", "stages", "autoscaling", "trainer", "recognizer"]
)
def test_resources_may_be_left_to_the_namespace(helm, component):
    """Those of a LimitRange, say: `null` takes the chart's own away."""
    manifests = helm.render(digits_values(), "--set", f"{component}.resources=null")
    name = {"stages": "room", "autoscaling": "autoscaler"}.get(component, component)
    name = next(pod for pod in pods(manifests) if pod.startswith(name))
    own = container(manifests, name)
    assert own["resources"] == {"requests": {"ephemeral-storage": "256Mi"}}
    assert {"name": "CPUS", "value": "1"} in own["env"]  # Kubernetes has none to tell
