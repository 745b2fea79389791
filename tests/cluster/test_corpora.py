"""How recordings get into their claim: the cluster page's commands; and a preparation that finds none at first."""

import re
import shlex
import subprocess

import pytest
import yaml
from rigs.cluster import Namespace, small_values
from rigs.helm import ROOT
from rigs.waiting import eventually

from sonorant.cli.settings import BROUGHT


@pytest.fixture
def space(tmp_path):
    space = Namespace("sonorant-corpora-test")
    space.folders = {name: tmp_path / name for name in ("corpora", "runs", "redis")}
    for folder in space.folders.values():
        folder.mkdir()
    space.volume("corpora", space.folders["corpora"], "ReadWriteMany")
    for name in ("runs", "redis"):
        space.volume(f"words-{name}", space.folders[name])
    yield space
    space.close()


def page(beginning):
    """Return the cluster page's command that begins so, without its comment."""
    (line,) = re.findall(rf"^{re.escape(beginning)}[^#\n]*", (ROOT / "docs/cluster.md").read_text(), re.MULTILINE)
    return line.strip()


def test_recordings_get_into_the_claim_and_a_preparation_that_found_none_goes_on(space, helm, data_folder):
    values = small_values()
    claim, loader = yaml.safe_load_all((ROOT / "charts" / "corpora.yaml").read_text())
    claim["spec"] |= {"storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    loader["spec"]["containers"][0]["image"] = "{prefix}-stage:{tag}".format(**values["image"])
    space.kubectl("apply", "--filename=-", documents=[claim, loader])
    values["recipe"]["corpus"]["strings"] |= {"train": 40, "dev": 4, "test": 4, "unseen_speaker": 4}
    nowhere = {"nodeSelector": {"no.such/node": "true"}}
    for component in ("redis", "coordinator", "stages", "trainer", "recognizer"):
        values[component] |= nowhere
    values["autoscaling"]["rest"] = False
    space.install(helm, values)
    (job,) = space.found("jobs", instance="words")
    prepare = job["metadata"]["labels"]["app.kubernetes.io/component"]

    def failures():
        return sum(s["restartCount"] for pod in space.pods(prepare) for s in pod["status"].get("containerStatuses", []))

    eventually(failures, lambda: space.kubectl("get", "pods"))
    (pod,) = space.pods(prepare)
    assert "the volume of data.claim must have fsdd/recordings" in space.kubectl(
        "describe", "pod", pod["metadata"]["name"]
    )
    kubectl = f"kubectl --namespace {space.name} "
    assert str(BROUGHT) in page("tar -C")
    for beginning in ("kubectl wait", "tar -C"):
        command = page(beginning).replace("kubectl ", kubectl).replace(str(BROUGHT), shlex.quote(str(data_folder)))
        subprocess.run(command, shell=True, check=True)
    assert any((space.folders["corpora"] / "fsdd" / "recordings").iterdir())
    space.kubectl("wait", f"job/{job['metadata']['name']}", "--for=condition=Complete", "--timeout=300s")
    assert (space.folders["runs"] / "digits" / "shards" / "card.json").is_file()
