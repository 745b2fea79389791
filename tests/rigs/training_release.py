"""A release that trains the digits recipe: what its trainer has written so far, and pods that are deleted by force."""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from rigs.cluster import is_ready
from rigs.waiting import eventually

__all__ = ["Training"]


class Training:
    """An installed release and what its trainer has written so far."""

    def __init__(self, space, helm, values):
        self.space, self.helm, self.values = space, helm, values
        self.run = space.folders["runs"] / "digits"
        self.begun_s = time.monotonic()
        # What waits for shards, or for a first model, keeps nobody waiting.
        space.install(helm, values, "--wait", "--timeout=300s")

    def steps(self):
        try:
            return (self.run / "metrics.jsonl").read_text().count('"kind": "step"')
        except FileNotFoundError:
            return 0

    def finished(self, epochs=0):
        """Whether it is complete, after no fewer epochs."""
        totals = self.run / "finished.json"
        return totals.exists() and json.loads(totals.read_text())["epochs"] >= epochs

    def goes_on(self):
        """Wait for a step. A gang that starts again takes back the lines after its checkpoint."""
        seen = self.steps()

        def moved():
            nonlocal seen
            before, seen = seen, self.steps()
            return seen > before

        eventually(moved, self.state)

    def delete_one(self, name):
        """Delete a pod by force, and wait until a new one is ready. name: a component, or a rank's pod."""

        def found():
            pods = self.space.pods(name.rstrip("-0123456789"))
            return [pod for pod in pods if pod["metadata"]["name"].startswith(f"words-{name}")]

        before = found()
        gone = before[-1]["metadata"]
        self.space.kubectl("delete", "pod", gone["name"], "--force", "--grace-period=0", "--wait=false")

        def replaced():
            pods = found()
            return len(pods) == len(before) and all(is_ready(p) and p["metadata"]["uid"] != gone["uid"] for p in pods)

        eventually(replaced, self.state)

    def hang(self, component, program):
        """Stop the processes of `program` in a component's only pod, and wait until its container is another."""
        (pod,) = self.space.pods(component)

        def container():
            (pod,) = self.space.pods(component)
            (status,) = pod["status"]["containerStatuses"]
            return status["containerID"] if "running" in status["state"] else None

        before, stopped = container(), _processes_of(pod["metadata"]["uid"], program)
        assert stopped, f"no process of {program} here: is this machine the cluster's node?"
        for number in stopped:
            os.kill(number, signal.SIGSTOP)
        eventually(lambda: container() not in (None, before), self.state)

    def state(self):
        pods = self.space.kubectl("get", "pods", "--output=wide")
        return f"{self.steps()} steps\n{pods}\n{self.space.logs('trainer')[-3000:]}"


def _processes_of(pod_uid, program):
    """Return the processes of this machine that run `program` in the pod's cgroup."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            within = pod_uid in (folder / "cgroup").read_text().replace("_", "-")
            if within and (folder / "comm").read_text().strip() == program:
                found.append(int(folder.name))
    return found
