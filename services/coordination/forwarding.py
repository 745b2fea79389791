"""Access from a user's machine to a release of the chart: kubectl's port-forward, and the keys of clients."""

import base64
import json
import re
import selectors
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from services.process.keys import Keys
from sonorant.errors import Unavailable

__all__ = ["forwarded_coordinator", "object_name", "secret_of_clients"]

_COORDINATOR_PORT = 7100
_PATIENCE_S = 15.0
_LONGEST_ERROR = 500
_LOG_LINE = re.compile(r"^[IWEF]\d{4} .*\n?", re.MULTILINE)  # of kubectl's tries, before the result
_REFUSED = re.compile(r"The connection to the server (\S+) was refused")
_LONGEST_NAME = 40  # of a release in the names of its objects, as the chart cuts it


@contextmanager
def forwarded_coordinator(release: str, namespace: str = "") -> Iterator[tuple[str, Keys | None]]:
    """Yield the address of this machine that leads to a release's coordinator, and its clients' keys, if there are any.

    namespace: default, the context's. Raises Unavailable if kubectl is not installed, or with its message if it fails.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise Unavailable("kubectl: not found in PATH; install it, or give --coordinator HOST:PORT")
    kubectl = [program, *(("--namespace", namespace) if namespace else ())]
    name = object_name(release)
    keys = _client_keys(kubectl, release)
    where = [f"service/{name}-coordinator", f":{_COORDINATOR_PORT}", "--address=127.0.0.1"]
    command = [*kubectl, "port-forward", *where]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, bufsize=0, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        try:
            address = f"127.0.0.1:{_local_port(process, where[0])}"
            for pipe_end in (process.stdout, process.stderr):
                threading.Thread(target=_drain, args=(pipe_end,), name="kubectl", daemon=True).start()
            yield address, keys
        finally:
            process.terminate()


def secret_of_clients(deployments: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the name of the secret with the authority that a release's stages trust; None: all is plain text.

    deployments: as the API server shows them. The user may have chosen the name, and only these hold it.
    """
    for deployment in deployments:
        for volume in deployment["spec"]["template"]["spec"].get("volumes", ()):
            for source in volume.get("projected", {"sources": []})["sources"]:
                if "ca.crt" in [item["path"] for item in source.get("secret", {}).get("items", [])]:
                    return str(source["secret"]["name"])
    return None


def object_name(release: str) -> str:
    """Return a release's name as the chart's objects have it: a Service's may have no dot, and begins with a letter."""
    name = release.replace(".", "-")
    return (name if name[:1].isalpha() else f"release-{name}")[:_LONGEST_NAME].rstrip("-")


def _client_keys(kubectl: list[str], release: str) -> Keys | None:
    deployments = _got(kubectl, "deployments", f"--selector=app.kubernetes.io/instance={release}")
    secret = secret_of_clients(deployments["items"])
    if secret is None:
        return None
    data = _got(kubectl, "secret", secret)["data"]
    files = {name: base64.b64decode(text) for name, text in data.items()}
    certificate = (files["tls.key"], files["tls.crt"]) if {"tls.key", "tls.crt"} <= files.keys() else None
    return Keys(certificate=certificate, authority=files["ca.crt"])


def _got(kubectl: list[str], *what: str) -> Any:
    """Return what kubectl gets."""
    done = subprocess.run([*kubectl, "get", *what, "--output=json"], capture_output=True, check=False)
    if done.returncode:
        raise _failed(f"{' '.join(what)}: kubectl get", done.stderr)
    return json.loads(done.stdout)


def _local_port(process: "subprocess.Popen[bytes]", service: str) -> int:
    """Return the port that kubectl took, from its line "Forwarding from 127.0.0.1:PORT -> …"."""
    assert process.stdout is not None
    assert process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        answered = selector.select(_PATIENCE_S)
    line = process.stdout.readline().decode() if answered else ""
    if line.startswith("Forwarding from "):
        return int(line.split(" -> ")[0].rpartition(":")[2])
    process.terminate()
    output = process.stderr.read() if answered else f"no answer within {_PATIENCE_S:g} s".encode()
    raise _failed(f"{service}: kubectl port-forward", output)


def _drain(pipe_end: IO[bytes]) -> None:
    """Read and discard: kubectl writes a line for each connection, and blocks once the pipe is full."""
    with suppress(ValueError, OSError):  # it was closed, at the end
        deque(pipe_end, 0)


def _failed(doing: str, output: bytes) -> Unavailable:
    text = output.decode(errors="replace")
    if refused := _REFUSED.search(text):
        return Unavailable(f"no cluster answers at {refused[1]}; set KUBECONFIG")
    return Unavailable(f"{doing}: {(_LOG_LINE.sub('', text) or text).strip()[:_LONGEST_ERROR]}")
