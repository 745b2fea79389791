"""A release that trains the digits recipe: what its trainer has written so far, and pods that are deleted by force."""

import json
import time

from cluster_rig import eventually, is_ready

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

        eventually(moved, self.state, every_s=0.1)

    def delete_one(self, name):
        """Delete a pod by force, and wait until another is ready in its place. name: a component, or a rank's pod."""

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

    def state(self):
        pods = self.space.kubectl("get", "pods", "--output=wide")
        return f"{self.steps()} steps\n{pods}\n{self.space.logs('trainer')[-3000:]}"
