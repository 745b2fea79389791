"""Who has not the release's keys gets nothing, and what refuses it says so in its log.

A training with one stage on waveforms runs meanwhile, so that there is something to get.
"""

import base64
import json
from dataclasses import replace

import grpc
import pytest
import trustme
from cluster_rig import Namespace, eventually, is_ready, small_values

from services.runtime.channels import open_channel
from services.runtime.keys import Keys
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

NO_CERTIFICATE, STRANGE_CERTIFICATE = "PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED"  # gRPC's words
STRANGER = trustme.CA()


@pytest.fixture(scope="module")
def space(data_folder, tmp_path_factory):
    space = Namespace("sonorant-keys-test")
    space.for_digits(data_folder, {name: tmp_path_factory.mktemp(name) for name in ("runs", "redis")})
    yield space
    space.close()


class Release:
    """An installed release, asked as its own clients would, and as strangers."""

    def __init__(self, space):
        self.space = space
        own = self.secret("words-keys-client")
        self.keys = Keys(certificate=(own["tls.key"], own["tls.crt"]), authority=own["ca.crt"])
        self.address = (
            f"{space.kubectl('get', 'service', 'words-coordinator', '--output=jsonpath={.spec.clusterIP}')}:7100"
        )

    def secret(self, name):
        data = json.loads(self.space.kubectl("get", "secret", name, "--output=jsonpath={.data}"))
        return {key: base64.b64decode(value) for key, value in data.items()}

    def status(self, keys=None):
        options = (("grpc.ssl_target_name_override", "words-coordinator"),)  # its name, which only pods can look up
        with open_channel(self.address, options, keys or self.keys) as channel:
            return CoordinatorStub(channel).GetStatus(pb.GetStatusRequest(), timeout=10)

    def examples(self, name):
        """Return the examples of each replica whose name has `name` in it."""
        return [replica.examples for replica in self.status().replicas if name in replica.replica]

    def goes_on(self):
        """Wait until the trainer has taken 100 examples more."""
        goal = sum(self.examples("trainer")) + 100
        eventually(lambda: sum(self.examples("trainer")) >= goal, self.state, every_s=1.0)

    def logs(self, component, words):
        return [line for line in self.space.logs(component, "--all-containers").splitlines() if words in line]

    def state(self):
        return self.space.kubectl("get", "pods", "--output=wide") + "".join(map(str, self.status().replicas))


@pytest.fixture(scope="module")
def release(helm, space):
    values = small_values(recognizer={"replicas": 0})
    recipe = values["recipe"]
    recipe["stages"] = [stage for stage in recipe["stages"] if stage["stage"] == "speed"]
    recipe["corpus"]["strings"] |= {"train": 100, "dev": 8, "test": 8, "unseen_speaker": 8}
    recipe["training"] |= {"epochs": 100_000, "max_minutes": 0, "patience": 1000, "dev_every_epochs": 1000}
    space.install(helm, values)
    space.kubectl("rollout", "status", "deployment/words-coordinator", "--timeout=300s")
    release = Release(space)
    release.goes_on()
    yield release
    helm.run("uninstall", "words", "--namespace", space.name)


def like_speed(space, name, secrets):
    """Start a pod as the Deployment of `speed` makes them, that has other `secrets` by the names of the release's."""
    (deployment,) = space.found("deployments", component="speed")
    template = deployment["spec"]["template"]
    (keys,) = (volume["projected"] for volume in template["spec"]["volumes"] if volume["name"] == "keys")
    for source in keys["sources"]:
        named = source["secret"]
        if given := secrets.get(named["name"]):
            named["name"] = f"{name}-{named['name']}"
            data = {key: base64.b64encode(value).decode() for key, value in given.items()}
            made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": named["name"]}, "data": data}
            space.kubectl("apply", "--filename=-", documents=[made])
    metadata = {key: template["metadata"][key] for key in ("labels", "annotations") if key in template["metadata"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"name": name}, "spec": template["spec"]}
    space.kubectl("apply", "--filename=-", documents=[pod])


def certificate():
    """What another authority would give to clients of this name: key and chain."""
    issued = STRANGER.issue_cert("words-client")
    return issued.private_key_pem.bytes(), b"".join(blob.bytes() for blob in issued.cert_chain_pems)


def test_a_stage_with_another_key_of_links_gets_no_example_and_delivers_none(release):
    assert not release.logs("shard-reader", "link_refused")
    like_speed(release.space, "impostor", {"words-keys-links": {"curve.key": base64.b64encode(bytes(range(32)))}})
    try:
        # It has a certificate, so the coordinator tells it where the reader is, and the featurizer where it is.
        eventually(lambda: release.examples("-impostor-"), release.state)
        eventually(lambda: release.logs("shard-reader", "link_refused"), release.state)
        eventually(
            lambda: [line for line in release.logs("speed", "link_refused") if "impostor" in line], release.state
        )
        release.goes_on()
        assert release.examples("-impostor-") == [0]
        assert sum(release.examples("-words-speed-")) > 0
    finally:
        release.space.kubectl("delete", "pod", "impostor", "--grace-period=0", "--force")


def test_a_stage_with_a_certificate_of_another_authority_is_not_even_registered(release):
    key, chain = certificate()
    shown = {"tls.key": key, "tls.crt": chain, "ca.crt": release.keys.authority}
    before = len(release.logs("coordinator", STRANGE_CERTIFICATE))
    like_speed(release.space, "forger", {"words-keys-client": shown})
    try:
        eventually(lambda: len(release.logs("coordinator", STRANGE_CERTIFICATE)) > before, release.state)
        release.goes_on()
        assert not release.examples("-forger-")
        (pod,) = (p for p in release.space.pods("speed") if p["metadata"]["name"] == "forger")
        assert not is_ready(pod)
    finally:
        release.space.kubectl("delete", "pod", "forger", "--grace-period=0", "--force")


@pytest.mark.parametrize(
    ("shown", "reason"),
    [(lambda: None, NO_CERTIFICATE), (certificate, STRANGE_CERTIFICATE)],
    ids=["no certificate", "another authority's"],
)
def test_a_client_without_the_release_s_certificate_learns_nothing(release, shown, reason):
    before = len(release.logs("coordinator", reason))
    with pytest.raises(grpc.RpcError) as caught:
        release.status(replace(release.keys, certificate=shown()))
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    eventually(lambda: len(release.logs("coordinator", reason)) > before, release.state)
    assert release.status().replicas  # who has one is answered
