"""What an upgrade leaves as it was. No pod has to run for that, so none is given room to."""

import json
import subprocess

import pytest
from helm_rig import CHART, digits_values

NAMESPACE = "sonorant-upgrade-test"


def kubectl(*arguments):
    done = subprocess.run(["kubectl", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


@pytest.fixture
def values(helm):
    """Values of an installed release, uninstalled at the end."""
    nowhere = {"nodeSelector": {"no.such/node": "true"}}
    values = digits_values(
        **{name: nowhere for name in ("prepare", "redis", "coordinator", "stages", "trainer", "recognizer")}
    )
    arguments = ("--namespace", NAMESPACE, "--create-namespace", "--values", helm.values(values))
    installed = helm.run("install", "words", str(CHART), *arguments)
    assert installed.returncode == 0, installed.stderr
    yield values
    helm.run("uninstall", "words", "--namespace", NAMESPACE, "--wait")
    kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")


def upgrade(helm, values):
    done = helm.run("upgrade", "words", str(CHART), "--namespace", NAMESPACE, "--values", helm.values(values))
    assert done.returncode == 0, done.stderr


def secrets():
    chosen = ("get", "secrets", "--selector=app.kubernetes.io/instance=words", "--output=json")
    found = json.loads(kubectl("--namespace", NAMESPACE, *chosen))["items"]
    return {secret["metadata"]["name"]: secret["data"] for secret in found}


def test_keys_and_the_password_stay_and_what_was_deleted_is_made_again(helm, values):
    made = secrets()
    assert len(made) == 5
    upgrade(helm, values)
    assert secrets() == made
    kubectl("--namespace", NAMESPACE, "delete", "secret", "words-keys-client")
    upgrade(helm, values)
    again = secrets()
    assert {name for name in made if again[name] != made[name]} == {
        "words-keys-client",
        "words-keys-coordinator",  # of the same authority
        "words-keys-recognizer",
    }
