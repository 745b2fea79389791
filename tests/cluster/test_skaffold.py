"""skaffold.yaml against skaffold's own schema, which its Go module brings: that needs Go, and its module proxy once."""

import json
import subprocess

import pytest
from rigs.skaffold import SKAFFOLD, profiled

MODULE = "github.com/GoogleContainerTools/skaffold/v2@v2.13.2"


@pytest.fixture(scope="module")
def schemas():
    got = subprocess.run(["go", "mod", "download", "-json", MODULE], capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stdout + got.stderr
    return json.loads(got.stdout)["Dir"] + "/docs-v2/content/en/schemas"


def held_against(schemas, config):
    where = f"{schemas}/{{{{.ResourceAPIVersion}}}}.json"
    command = ["kubeconform", "-schema-location", where, "-summary", "-output", "json"]
    done = subprocess.run(command, input=json.dumps(config), capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


@pytest.mark.parametrize("profile", [None, "dev", "gpu"])
def test_skaffold_takes_it(schemas, profile):
    told = held_against(schemas, profiled(profile) if profile else SKAFFOLD)
    assert told["summary"]["valid"] == 1, told


def test_what_skaffold_does_not_know_is_found(schemas):
    wrong = SKAFFOLD | {"deploy": {"helm": {"releases": [{"chartPatth": "charts/sonorant"}]}}}
    assert held_against(schemas, wrong)["summary"]["invalid"] == 1
