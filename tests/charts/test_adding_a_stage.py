"""A new stage of the library is one of the chart's as soon as what the chart knows of stages is printed anew."""

import copy
import shutil
import subprocess
import sys

import yaml
from rigs.helm import CHART, digits_values, pods
from rigs.new_stage import ROOT, copy_with_stage


def test_the_chart_renders_a_stage_that_was_added_to_the_library(helm, tmp_path):
    values = copy.deepcopy(digits_values())
    values["recipe"]["stages"].insert(0, {"stage": "backwards"})
    assert "/recipe/stages/0/stage" in helm.refusal(values)
    chart = tmp_path / "sonorant"
    shutil.copytree(CHART, chart)
    environment = copy_with_stage(tmp_path / "tree")
    for program, printed in (("schema.py", "values.schema.json"), ("stages.py", "stages.yaml")):
        with (chart / printed).open("w") as file:
            subprocess.run([sys.executable, ROOT / "charts" / program], env=environment, stdout=file, check=True)
    done = helm.run("template", "words", str(chart), "--kube-version", "1.34", "--values", helm.values(values))
    assert done.returncode == 0, done.stderr
    documents = [document for document in yaml.safe_load_all(done.stdout) if document]
    manifests = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    (container,) = pods(manifests)["backwards"]["spec"]["containers"]
    assert container["command"] == ["python", "-m", "services.augmenter", "backwards"]
