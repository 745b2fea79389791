"""Calls of a release `words` by its own clients, and by clients without its keys."""

import base64
import json

import trustme
from rigs.waiting import eventually

from services.process.channels import open_channel
from services.process.keys import Keys
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

_STRANGER = trustme.CA()


def strange_certificate():
    """Return what another authority gives to clients of the release's name: key and chain."""
    issued = _STRANGER.issue_cert("words-client")
    return issued.private_key_pem.bytes(), b"".join(blob.bytes() for blob in issued.cert_chain_pems)


class KeyedRelease:
    """The release's coordinator and logs, and pods like its stage `speed` that have other secrets."""

    def __init__(self, space):
        self.space = space
        own = self._secret("words-keys-client")
        self.keys = Keys(certificate=(own["tls.key"], own["tls.crt"]), authority=own["ca.crt"])
        address = space.kubectl("get", "service", "words-coordinator", "--output=jsonpath={.spec.clusterIP}")
        self._address = f"{address}:7100"

    def _secret(self, name):
        data = json.loads(self.space.kubectl("get", "secret", name, "--output=jsonpath={.data}"))
        return {key: base64.b64decode(value) for key, value in data.items()}

    def status(self, keys=None):
        options = (("grpc.ssl_target_name_override", "words-coordinator"),)  # its name, which only pods can look up
        with open_channel(self._address, options, keys or self.keys) as channel:
            return CoordinatorStub(channel).GetStatus(pb.GetStatusRequest(), timeout=10)

    def examples(self, name):
        """Return the examples of each replica whose name has `name` in it."""
        return [replica.examples for replica in self.status().replicas if name in replica.replica]

    def goes_on(self):
        """Wait until the trainer has taken 100 examples more."""
        goal = sum(self.examples("trainer")) + 100
        eventually(lambda: sum(self.examples("trainer")) >= goal, self.state)

    def logs(self, component, words):
        return [line for line in self.space.logs(component, "--all-containers").splitlines() if words in line]

    def state(self):
        return self.space.kubectl("get", "pods", "--output=wide") + "".join(map(str, self.status().replicas))

    def start_like_speed(self, name, secrets):
        """Start a pod as the Deployment of `speed` makes them, with other `secrets` by the names of the release's."""
        (deployment,) = self.space.found("deployments", component="speed")
        template = deployment["spec"]["template"]
        (keys,) = (volume["projected"] for volume in template["spec"]["volumes"] if volume["name"] == "keys")
        for source in keys["sources"]:
            named = source["secret"]
            if given := secrets.get(named["name"]):
                named["name"] = f"{name}-{named['name']}"
                data = {key: base64.b64encode(value).decode() for key, value in given.items()}
                made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": named["name"]}, "data": data}
                self.space.kubectl("apply", "--filename=-", documents=[made])
        metadata = {key: template["metadata"][key] for key in ("labels", "annotations") if key in template["metadata"]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"name": name}, "spec": template["spec"]}
        self.space.kubectl("apply", "--filename=-", documents=[pod])

    def delete(self, name):
        self.space.kubectl("delete", "pod", name, "--grace-period=0", "--force")
