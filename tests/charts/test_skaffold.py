"""skaffold.yaml, read dry: skaffold itself is no test's to run; `tests/cluster` holds it against its schema."""

import json
import re

import pytest
from rigs.helm import ROOT
from rigs.skaffold import SKAFFOLD, profiled

DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
SCHEMA = json.loads((ROOT / "charts/sonorant/values.schema.json").read_text())
RELEASE = SKAFFOLD["deploy"]["helm"]["releases"][0]


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
