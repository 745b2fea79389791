"""API keys and the port of HTTP, as the chart installs them."""

import json

import pytest
from rigs.helm import CHART, container, digits_values, edges, pods

from services.recognizer.main import command as recognizer


def values(http_port, **changes):
    found = digits_values(**changes)
    found["recipe"]["serving"]["http_port"] = http_port
    return found


@pytest.fixture(scope="module")
def keyed(helm):
    return helm.render(values(8080, recognizer={"apiKeys": {"secret": "hashes", "client": "tester"}}))


def test_the_service_has_the_port_of_http_where_the_recipe_has_one(keyed, manifests):
    ports = {port["name"]: port["port"] for port in keyed["Service", "words-recognizer"]["spec"]["ports"]}
    assert ports == {"grpc": 50051, "http": 8080}
    assert {"name": "http", "containerPort": 8080} in container(keyed, "recognizer")["ports"]
    assert ("*", "recognizer", 8080) in edges(keyed)[0] or ("test", "recognizer", 8080) in edges(keyed)[0]
    assert [port["name"] for port in manifests["Service", "words-recognizer"]["spec"]["ports"]] == ["grpc"]
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    assert [container(keyed, "recognizer")[probe] for probe in probes] == [
        container(manifests, "recognizer")[probe] for probe in probes
    ]


def test_the_recognizer_reads_the_file_of_the_secret_that_is_mounted(keyed):
    own = container(keyed, "recognizer")
    given = recognizer.make_context("program", [word.replace("$(CPUS)", "1") for word in own["args"]]).params
    (mount,) = (mount for mount in own["volumeMounts"] if mount["name"] == "api-keys")
    (volume,) = (volume for volume in pods(keyed)["recognizer"]["spec"]["volumes"] if volume["name"] == "api-keys")
    (item,) = volume["secret"]["items"]
    assert given["api_keys"] == f"{mount['mountPath']}/{item['path']}"
    assert (mount["readOnly"], volume["secret"]["secretName"]) == (True, "hashes")
    assert volume["secret"]["defaultMode"] & 0o022 == 0  # or the recognizer refuses the file


def test_the_test_has_a_key_and_nobody_else_does(keyed):
    entry = {"name": "SONORANT_API_KEY", "valueFrom": {"secretKeyRef": {"name": "tester", "key": "key"}}}
    assert [name for name in pods(keyed) if entry in container(keyed, name)["env"]] == ["test"]


def test_without_a_secret_no_key_is_asked_for(manifests):
    assert "api-keys" not in json.dumps(list(manifests.values()))
    assert "SONORANT_API_KEY" not in json.dumps(list(manifests.values()))


@pytest.mark.parametrize("port", [7001, 9100, 50051])
def test_a_port_that_the_pods_have_for_something_else_is_refused(helm, port):
    assert f"recipe.serving.http_port: {port}" in helm.refusal(values(port))


def test_the_chart_lints_with_keys(helm):
    given = helm.values(values(8080, recognizer={"apiKeys": {"secret": "a"}}))
    done = helm.run("lint", "--strict", str(CHART), "--values", given)
    assert done.returncode == 0, done.stdout
