"""kubectl is a script here that does what the real one does; tests/cluster has the real one."""

import base64
import json
import os

import pytest
from rigs.waiting import eventually

from services.coordination.forwarding import forwarded_coordinator
from sonorant.errors import Unavailable

SECRET = {"data": {name: base64.b64encode(name.encode()).decode() for name in ("ca.crt", "tls.crt", "tls.key")}}


def stage(*items):
    """A Deployment whose pods have these keys of the secret `mine`."""
    keys = {"name": "keys", "projected": {"sources": [{"secret": {"name": "mine", "items": list(items)}}]}}
    return {"spec": {"template": {"spec": {"volumes": [{"name": "tmp", "emptyDir": {}}, keys]}}}}


FORWARD = "echo 'Forwarding from 127.0.0.1:4711 -> 7100'; exec sleep 60"


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """Put a kubectl first in PATH that answers by these commands, and notes its arguments."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "secret").write_text(json.dumps(SECRET))

    def make(deployments=(), secret=f"cat {tmp_path}/secret", forward=FORWARD):
        (tmp_path / "deployments").write_text(json.dumps({"items": deployments}))
        answers = f"*deployments*) cat {tmp_path}/deployments ;; *secret*) {secret} ;; *) {forward} ;;"
        (tmp_path / "kubectl").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\ncase "$*" in {answers} esac\n')
        (tmp_path / "kubectl").chmod(0o755)
        return lambda: (tmp_path / "calls").read_text().splitlines()

    return make


SERVER = stage({"key": "ca.crt", "path": "client-ca.crt"})
CLIENT = stage({"key": "ca.crt", "path": "ca.crt"})


def test_the_coordinator_is_reached_with_the_keys_that_the_stages_of_the_release_have(kubectl):
    calls = kubectl([SERVER, CLIENT])
    with forwarded_coordinator("words", "speech") as (address, keys):
        assert address == "127.0.0.1:4711"
        assert keys.certificate == (b"tls.key", b"tls.crt")
        assert keys.authority == b"ca.crt"
    assert calls() == [
        "--namespace speech get deployments --selector=app.kubernetes.io/instance=words --output=json",
        "--namespace speech get secret mine --output=json",
        "--namespace speech port-forward service/words-coordinator :7100 --address=127.0.0.1",
    ]


def test_a_kubectl_that_has_much_to_say_does_not_stand_still(kubectl, tmp_path):
    much = "head -c 300000 /dev/zero | tr '\\0' '\\n'"
    kubectl(
        forward=f"echo 'Forwarding from 127.0.0.1:4711 -> 7100'; {much}; {much} >&2; touch {tmp_path}/done; sleep 60"
    )
    with forwarded_coordinator("words"):
        eventually((tmp_path / "done").exists)


def test_a_secret_with_an_authority_only_gives_no_certificate_to_present(kubectl):
    authority = json.dumps({"data": {"ca.crt": SECRET["data"]["ca.crt"]}})
    kubectl([CLIENT], secret=f"echo '{authority}'")
    with forwarded_coordinator("words") as (_, keys):
        assert keys.certificate is None
        assert keys.authority == b"ca.crt"


def test_a_release_without_keys_leaves_it_to_ones_own(kubectl):
    kubectl([SERVER])
    with forwarded_coordinator("words") as (_, keys):
        assert keys is None


@pytest.mark.parametrize(
    "answers",
    [
        {"secret": "echo 'secrets is forbidden' >&2; exit 1"},
        {"forward": "echo 'services \"words-coordinator\" not found' >&2; exit 1"},
    ],
)
def test_what_kubectl_says_is_passed_on(kubectl, answers):
    kubectl([CLIENT], **answers)
    with pytest.raises(Unavailable, match=r"forbidden|not found"), forwarded_coordinator("words"):
        pass


LOGGED = "E1122 13:51:40.761004 227 memcache.go:265] Unhandled Error: connection refused"
REFUSED = "The connection to the server localhost:8080 was refused - did you specify the right host or port?"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((LOGGED, LOGGED, REFUSED), "no cluster answers at localhost:8080; set KUBECONFIG"),
        ((LOGGED, "Unable to connect: no such host"), "secret mine: kubectl get: Unable to connect: no such host"),
        ((LOGGED,), f"secret mine: kubectl get: {LOGGED}"),
    ],
)
def test_an_error_has_the_end_of_kubectls_output_without_its_log(kubectl, said, told):
    lines = " ".join(f"'{line}'" for line in said)
    kubectl([CLIENT], secret=f"printf '%s\\n' {lines} >&2; exit 1")
    with pytest.raises(Unavailable) as failure, forwarded_coordinator("words"):
        pass
    assert str(failure.value) == told


def test_a_machine_without_kubectl_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"kubectl: not found"), forwarded_coordinator("words"):
        pass
