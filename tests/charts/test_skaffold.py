"""skaffold.yaml, read dry: skaffold itself is no test's to run."""

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
SKAFFOLD = YAML(typ="safe", pure=True).load((ROOT / "skaffold.yaml").read_text())
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
SCHEMA = json.loads((ROOT / "charts/sonorant/values.schema.json").read_text())
RELEASE = SKAFFOLD["deploy"]["helm"]["releases"][0]


def profiled(name):
    """The configuration under a profile, its patches applied as JSON Patch (RFC 6902) says."""
    config = json.loads(json.dumps(SKAFFOLD))
    for patch in next(p for p in config["profiles"] if p["name"] == name)["patches"]:
        *way, last = [int(step) if step.isdecimal() else step for step in patch["path"].split("/")[1:]]
        place = config
        for step in way:
            place = place[step]
        assert patch["op"] == "add"
        assert last not in place
        place[last] = patch["value"]
    return config


def assert_a_value(path):
    node = SCHEMA
    for key in re.sub(r"\[\d+\]", "", path).split("."):
        node = node.get("anyOf", [node])[0]
        if "$ref" in node:
            node = SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[1]]
        if "properties" not in node:
            return  # a tree of Kubernetes' own
        assert key in node["properties"], path
        node = node["properties"][key]


def test_every_target_is_built_and_every_image_is_given_to_the_chart():
    targets = {a["image"].removeprefix("sonorant-"): a["docker"]["target"] for a in SKAFFOLD["build"]["artifacts"]}
    assert targets == {name: name for name in ("stage", "autoscaler", "trainer", "recognizer", "redis")}
    assert all(f"AS {target}\n" in DOCKERFILE for target in targets.values())
    assert all((ROOT / a["docker"]["dockerfile"]).is_file() for a in SKAFFOLD["build"]["artifacts"])
    given = {f"image.names.{name}": f"{{{{.IMAGE_FULLY_QUALIFIED_sonorant_{name}}}}}" for name in targets}
    assert RELEASE["setValueTemplates"] == given
    assert (ROOT / RELEASE["chartPath"] / "Chart.yaml").is_file()


@pytest.mark.parametrize("name", ["dev", "gpu"])
def test_a_profile_sets_values_that_the_chart_has(name):
    release = profiled(name)["deploy"]["helm"]["releases"][0]
    for path in (*release["setValues"], *release["setValueTemplates"]):
        assert_a_value(path)


def test_the_gpu_profile_builds_the_trainer_with_arguments_that_the_dockerfile_has():
    trainer = next(a for a in profiled("gpu")["build"]["artifacts"] if a["image"] == "sonorant-trainer")
    arguments = trainer["docker"]["buildArgs"]
    assert all(f"ARG {name}" in DOCKERFILE for name in arguments)
    assert (ROOT / "requirements" / f"{arguments['TRAINER_REQUIREMENTS']}.txt").is_file()
