"""Keys that the chart makes: who gets which, and whether what is mounted opens what it should."""

import base64
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from rigs.helm import component, container, digits_values, pods

from services.coordination.forwarding import secret_of_clients
from services.process.channels import add_port, open_channel
from services.process.keys import KEYS_VARIABLE, load_keys
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order

CHAIN = [component(stage) for stage in stage_order(Recipe.model_validate(digits_values()["recipe"]))]
FOLDER = "/etc/sonorant-keys"
SHOWN = {"tls.crt", "tls.key"}
GIVEN = {"coordinator": "c", "recognizer": "r", "client": "s"}


def sources(manifests, name):
    """(secret, its key, file) of all keys of a component."""
    volumes = [volume for volume in pods(manifests)[name]["spec"]["volumes"] if volume["name"] == "keys"]
    secrets = [source["secret"] for volume in volumes for source in volume["projected"]["sources"]]
    return {(secret["name"], item["key"], item["path"]) for secret in secrets for item in secret["items"]}


def files(manifests, name):
    return {file for _, _, file in sources(manifests, name)}


def mounted(manifests, name, folder):
    """Write the keys of a component to a folder, as its node would, and read them as its program does."""
    folder.mkdir()
    for secret, key, file in sources(manifests, name):
        (folder / file).write_bytes(base64.b64decode(manifests["Secret", secret]["data"][key], validate=True))
    return load_keys(folder)


def ask(served, asking, name):
    """Serve with one's keys and ask with another's, as the Service `name`."""
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    port = add_port(server, "127.0.0.1:0", served)
    server.start()
    try:
        options = (("grpc.ssl_target_name_override", name),) if asking.authority else ()
        with open_channel(f"127.0.0.1:{port}", options, keys=asking) as channel:
            return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10).status
    finally:
        server.stop(None)


def test_each_pod_gets_the_keys_that_it_needs_and_no_others(manifests):
    client = {"ca.crt"} | SHOWN  # the coordinator asks for a certificate
    links = {"curve.key"} | client
    expected = {"coordinator": SHOWN | {"client-ca.crt"}, "recognizer": SHOWN, "test": {"ca.crt"}, "trainer": links}
    expected |= {stage: links for stage in CHAIN} | {"autoscaler": client}
    for name in pods(manifests):
        assert files(manifests, name) == expected.get(name, set()), name
    assert {secret for secret, _, _ in sources(manifests, "coordinator")} == {"words-keys-coordinator"}
    assert {secret for secret, _, _ in sources(manifests, "recognizer")} == {"words-keys-recognizer"}
    assert {secret for secret, _, _ in sources(manifests, "room")} == {"words-keys-links", "words-keys-client"}


def test_they_are_mounted_read_only_where_the_program_looks_for_them(manifests):
    for name, template in pods(manifests).items():
        own = container(manifests, name)
        mounts = [mount for mount in own["volumeMounts"] if mount["name"] == "keys"]
        variables = [entry["value"] for entry in own["env"] if entry["name"] == KEYS_VARIABLE]
        if files(manifests, name):
            assert mounts == [{"name": "keys", "mountPath": FOLDER, "readOnly": True}], name
            assert variables == [FOLDER], name
            (volume,) = (v["projected"] for v in template["spec"]["volumes"] if v["name"] == "keys")
            assert volume["defaultMode"] == 0o440, name
        else:
            assert (mounts, variables) == ([], []), name


def test_stages_and_trainer_have_one_key_of_links_and_another_release_another(helm, manifests, tmp_path):
    room = mounted(manifests, "room", tmp_path / "room").curve
    assert mounted(manifests, "trainer", tmp_path / "trainer").curve == room
    assert mounted(helm.render_anew(digits_values()), "room", tmp_path / "other").curve != room


@pytest.mark.parametrize("name", ["words-coordinator", "words-coordinator.speech.svc.cluster.local", "localhost"])
def test_a_stage_and_the_coordinator_believe_each_other(manifests, tmp_path, name):
    coordinator, room = mounted(manifests, "coordinator", tmp_path / "c"), mounted(manifests, "room", tmp_path / "r")
    assert ask(coordinator, room, name) == health_pb2.HealthCheckResponse.SERVING


def test_the_coordinator_refuses_who_has_no_certificate_and_another_release_s(helm, manifests, tmp_path):
    coordinator = mounted(manifests, "coordinator", tmp_path / "coordinator")
    tester = mounted(manifests, "test", tmp_path / "tester")  # knows the authority and shows nothing
    stranger = mounted(helm.render_anew(digits_values()), "room", tmp_path / "stranger")
    for client in (tester, stranger):
        with pytest.raises(grpc.RpcError):
            ask(coordinator, client, "words-coordinator")


def test_the_recognizer_asks_for_no_certificate_unless_told_to(helm, manifests, tmp_path):
    recognizer, tester = mounted(manifests, "recognizer", tmp_path / "r"), mounted(manifests, "test", tmp_path / "t")
    assert ask(recognizer, tester, "words-recognizer") == health_pb2.HealthCheckResponse.SERVING
    mutual = helm.render(digits_values(keys={"mutual": ["recognizer"]}))
    assert files(mutual, "recognizer") == SHOWN | {"client-ca.crt"}
    assert files(mutual, "test") == SHOWN | {"ca.crt"}
    assert files(mutual, "coordinator") == SHOWN
    assert files(mutual, "room") == {"curve.key", "ca.crt"}


def test_secrets_that_are_given_take_the_place_of_the_chart_s(helm):
    manifests = helm.render(digits_values(keys={"secrets": GIVEN | {"links": "l"}}))
    assert {name for kind, name in manifests if kind == "Secret"} == {"words-redis"}
    assert {secret for secret, _, _ in sources(manifests, "room")} == {"l", "s"}
    assert {secret for secret, _, _ in sources(manifests, "coordinator")} == {"c"}
    links_made = helm.render(digits_values(keys={"secrets": GIVEN}))
    assert {name for kind, name in links_made if kind == "Secret"} == {"words-redis", "words-keys-links"}


def test_the_secret_of_clients_is_found_whatever_its_name(helm, manifests):
    def found(manifests):
        deployments = [manifest for (kind, _), manifest in manifests.items() if kind == "Deployment"]
        assert {d["metadata"]["labels"]["app.kubernetes.io/instance"] for d in deployments} == {"words"}
        return secret_of_clients(deployments)

    assert found(manifests) == "words-keys-client"
    assert found(helm.render(digits_values(keys={"secrets": GIVEN}))) == "s"
    assert found(helm.render(digits_values(keys={"enabled": False}))) is None


def test_certificates_of_two_authorities_are_refused(helm):
    assert "give all three, or none" in helm.refusal(digits_values(keys={"secrets": {"client": "s"}}))


def test_without_keys_nothing_of_them_is_left(helm):
    manifests = helm.render(digits_values(keys={"enabled": False}))
    assert not any("keys" in name for _, name in manifests)
    for name in pods(manifests):
        assert KEYS_VARIABLE not in str(container(manifests, name)), name
