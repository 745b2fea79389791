"""What is seen of a release over time: t_session, and the replicas of its slow stage."""

import json
import time
from collections import Counter
from itertools import pairwise

from cluster_rig import eventually

from services.runtime.forwarding import forwarded_coordinator
from services.runtime.status_client import ask_status
from sonorant.errors import Unavailable


class Watch:
    """What was seen of release `words`, a line a second: time, t_session, replicas of `slow` alive and wanted, end."""

    def __init__(self, space, slow):
        self.space, self.slow = space, slow
        self.begun_s = time.monotonic()
        self.lines = []

    def look(self):
        try:
            with forwarded_coordinator("words", self.space.name) as (address, keys):
                status = ask_status(address, keys)
        except Unavailable:
            return None
        living = Counter(replica.stage for replica in status.replicas)[self.slow]
        deployment = self.space.found("deployments", component=self.slow)[0]
        t_session = status.t_session if status.HasField("t_session") else None
        wanted = deployment["spec"].get("replicas", 1)
        self.lines.append((time.monotonic() - self.begun_s, t_session, living, wanted, status.finished))
        return status

    def until(self, condition, patience_s=400.0):
        eventually(lambda: (status := self.look()) and condition(status), self.said, patience_s, every_s=1.0)

    def said(self):
        log = self.space.logs("autoscaler")
        return f"{self.lines[-30:]}\n{self.space.kubectl('get', 'pods')}\n{log[-3000:]}"

    def living(self):
        return self.lines[-1][2]

    def wanted(self):
        return self.lines[-1][3]

    def starved(self):
        """Return what t_session was while the slow stage had one replica."""
        return [t_session for _, t_session, living, _, _ in self.lines if t_session is not None and living == 1]

    def decisions(self):
        """Return how often the slow stage was given more replicas."""
        wanted = [line[3] for line in self.lines]
        return sum(after > before for before, after in pairwise(wanted))

    def write(self, folder):
        """Write planner.json and planner.svg."""
        from matplotlib.figure import Figure

        folder.mkdir(parents=True, exist_ok=True)
        (folder / "planner.json").write_text(json.dumps(self.lines) + "\n")
        figure = Figure(figsize=(7, 3.5), layout="constrained")
        left = figure.subplots()
        right = left.twinx()
        times = [line[0] for line in self.lines]
        known = [line[1] if line[1] is not None else float("nan") for line in self.lines]
        left.plot(times, known, color="C0", label="t_session")
        wanted, living = [line[3] for line in self.lines], [line[2] for line in self.lines]
        right.step(times, wanted, "C1", where="post", label=f"replicas of {self.slow}: wanted")
        right.step(times, living, "C1", where="post", alpha=0.4, label="alive")
        left.set(xlabel="seconds since installation", ylabel="t_session", ylim=(0, 1.05))
        right.set(ylabel="replicas", ylim=(0, None))
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(folder / "planner.svg")
