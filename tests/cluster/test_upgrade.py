"""What an upgrade leaves as it was. No pod has to run for that, so none is given room to."""

import pytest
from rigs.cluster import Namespace
from rigs.helm import digits_values

COMPONENTS = ("prepare", "redis", "coordinator", "stages", "autoscaling", "trainer", "recognizer")


@pytest.fixture
def space():
    space = Namespace("sonorant-upgrade-test")
    yield space
    space.close()


@pytest.fixture
def values(helm, space):
    """Values of an installed release."""
    nowhere = {"nodeSelector": {"no.such/node": "true"}}
    values = digits_values(**{component: nowhere for component in COMPONENTS})
    space.install(helm, values)
    yield values
    helm.run("uninstall", "words", "--namespace", space.name)


def secrets(space):
    return {secret["metadata"]["name"]: secret["data"] for secret in space.found("secrets", instance="words")}


def test_keys_and_the_password_stay_and_what_was_deleted_is_made_again(helm, space, values):
    made = secrets(space)
    assert len(made) == 5
    space.upgrade(helm, values)
    assert secrets(space) == made
    space.kubectl("delete", "secret", "words-keys-client")
    space.upgrade(helm, values)
    again = secrets(space)
    assert {name for name in made if again[name] != made[name]} == {
        "words-keys-client",
        "words-keys-coordinator",  # of the same authority
        "words-keys-recognizer",
    }


def test_stages_keep_the_replicas_that_they_were_scaled_to(helm, space, values):
    space.kubectl("scale", "deployment", "words-room", "--replicas=3")
    space.upgrade(helm, values)
    assert space.kubectl("get", "deployment", "words-room", "--output=jsonpath={.spec.replicas}") == "3"
