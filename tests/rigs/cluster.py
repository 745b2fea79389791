"""The cluster that KUBECONFIG names: kubectl, namespaces with restricted pods, volumes that are its folders."""

import json
import os
import subprocess

from rigs.helm import CHART, digits_values
from rigs.waiting import eventually

USER = 65532  # whom the images run as
MARK = {"sonorant-tests": "true"}  # of the namespaces, so that those of a run that was cut off are found
SMALL = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "3Gi"}}


def kubectl(*arguments, documents=()):
    """Return what kubectl prints; documents: objects for its standard input."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)}) if documents else None
    done = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def small_values(**changes):
    """Values of the digits recipe for a machine with few cores, with volumes that were made by hand; nobody scales."""
    claim = {"storageClass": "", "accessModes": ["ReadWriteOnce"], "size": "1Gi"}
    return (
        digits_values(
            image={"prefix": os.environ.get("IMAGES", "localhost/sonorant"), "tag": os.environ.get("TAG", "")},
            storage={"runs": claim, "redis": claim},
            autoscaling={"mode": "none"},
            **{name: {"resources": SMALL} for name in ("prepare", "redis", "coordinator", "stages", "trainer")},
            recognizer={"resources": SMALL, "test": {"resources": SMALL}},
        )
        | changes
    )


def delete_namespaces():
    """Delete the namespaces that a run has left which was cut off: what is in them would run beside this one."""
    (selector,) = (f"{label}={value}" for label, value in MARK.items())
    for name in kubectl("get", "namespaces", f"--selector={selector}", "--output=name").split():
        delete_namespace(name.removeprefix("namespace/"))


def delete_namespace(name):
    """Delete a namespace, if it is there, and all that is in it, at once."""
    kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")  # from now on nobody makes pods in it
    kubectl("--namespace", name, "delete", "pods", "--all", "--force", "--grace-period=0")
    kubectl("delete", "namespace", name, "--ignore-not-found", "--timeout=300s")
    classes = kubectl("get", "priorityclasses", "--output=name").split()  # of no namespace, but named after theirs
    if left := [c for c in classes if c.removeprefix("priorityclass.scheduling.k8s.io/").startswith(f"{name}-words-")]:
        kubectl("delete", *left)


class Namespace:
    """A namespace, made anew, and what is in it; `close` deletes it and its volumes. security: its pods' standard."""

    def __init__(self, name, security="restricted"):
        self.name = name
        self._volumes = []
        delete_namespace(name)
        labels = MARK | {f"pod-security.kubernetes.io/{mode}": security for mode in ("enforce", "warn")}
        labelled = {"name": name, "labels": labels}
        kubectl("apply", "--filename=-", documents=[{"apiVersion": "v1", "kind": "Namespace", "metadata": labelled}])

    def kubectl(self, *arguments, documents=()):
        return kubectl("--namespace", self.name, *arguments, documents=documents)

    def found(self, kinds, **labels):
        chosen = ",".join(f"app.kubernetes.io/{key}={value}" for key, value in labels.items())
        return json.loads(self.kubectl("get", kinds, f"--selector={chosen}", "--output=json"))["items"]

    def volume(self, claim, folder, mode="ReadWriteOnce"):
        """Make a folder of this machine the volume that a claim gets."""
        if mode != "ReadOnlyMany":
            os.chown(folder, USER, USER)
        spec = {
            "accessModes": [mode],
            "capacity": {"storage": "1Gi"},
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": self.name, "name": claim},
            "hostPath": {"path": str(folder), "type": "Directory"},
        }
        name = f"{self.name}-{claim}"
        kubectl("delete", "persistentvolume", name, "--ignore-not-found")
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
        kubectl("apply", "--filename=-", documents=[volume])
        self._volumes.append(name)

    def claim(self, name, mode="ReadOnlyMany"):
        spec = {"accessModes": [mode], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
        metadata = {"name": name, "namespace": self.name}
        made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        kubectl("apply", "--filename=-", documents=[made])

    def for_digits(self, data, folders):
        """Make the volumes of a release `words`: recordings in `data`, and `folders` for runs and Redis."""
        self.volume("corpora", data.resolve(), "ReadOnlyMany")
        self.claim("corpora")
        for claim, folder in folders.items():
            self.volume(f"words-{claim}", folder)

    def install(self, helm, values, *arguments):
        done = helm.run(
            "install", "words", str(CHART), "--namespace", self.name, "--values", helm.values(values), *arguments
        )
        assert done.returncode == 0, done.stderr

    def upgrade(self, helm, values, *arguments):
        done = helm.run(
            "upgrade", "words", str(CHART), "--namespace", self.name, "--values", helm.values(values), *arguments
        )
        assert done.returncode == 0, done.stderr

    def pods(self, component):
        """Return the pods of a component that are not about to go."""
        return [p for p in self.found("pods", component=component) if "deletionTimestamp" not in p["metadata"]]

    def logs(self, component, *arguments):
        chosen = f"--selector=app.kubernetes.io/component={component}"
        return self.kubectl("logs", chosen, "--tail=-1", "--prefix", *arguments)

    def wait_until_served(self):
        """Wait until the recognizer has a model; one that waits for its first counts as ready, too."""
        eventually(lambda: "recognizer_ready" in self.logs("recognizer"), lambda: self.logs("recognizer"))
        self.kubectl("rollout", "status", "deployment/words-recognizer", "--timeout=300s")

    def close(self):
        delete_namespace(self.name)
        if self._volumes:
            kubectl("delete", "persistentvolume", *self._volumes)


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))
