"""A trainer that is starved on purpose: one stage is slow, and the planner gives it company.

Its rooms echo long, and it may use a fifth of a core: four replicas leave more than one of two to all others.
Replicas and t_session over time go to runs/cluster/planner.json and planner.svg.
"""

import json
import time
from collections import Counter
from itertools import pairwise

import pytest
from cluster_rig import SMALL, Namespace, eventually, small_values
from helm_rig import ROOT

from services.runtime.forwarding import forwarded_coordinator
from services.runtime.status_client import ask_status
from sonorant.errors import Unavailable

OUT = ROOT / "runs" / "cluster"
SLOW = "room"
SLOW_ROOM = {"probability": 1, "t60_s": {"low": 0.4, "high": 0.5}}
STARVED, FED = 0.6, 0.9
EPOCHS, TRAIN = 8, 400
MOST_DECISIONS = 3


class Watch:
    """What was seen of a release, a line a second: time, t_session, replicas of the slow stage alive and wanted."""

    def __init__(self, space):
        self.space = space
        self.begun_s = time.monotonic()
        self.lines = []

    def look(self):
        try:
            with forwarded_coordinator("words", self.space.name) as (address, keys):
                status = ask_status(address, keys)
        except Unavailable:
            return None
        living = Counter(replica.stage for replica in status.replicas)[SLOW]
        deployment = self.space.found("deployments", component=SLOW)[0]
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

    def decisions(self):
        """Return how often the slow stage was given more replicas."""
        wanted = [line[3] for line in self.lines]
        return sum(after > before for before, after in pairwise(wanted))


@pytest.fixture(scope="module")
def watch(helm, data_folder, tmp_path_factory):
    space = Namespace("sonorant-planner-test")
    space.for_digits(data_folder, {name: tmp_path_factory.mktemp(name) for name in ("runs", "redis")})
    slow = {"resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "1Gi"}}}
    scaling = {"maxReplicas": 4, "stabilizationWindowSeconds": 40, "resources": SMALL}
    values = small_values(autoscaling=scaling, recognizer={"replicas": 0})
    values["stages"] = values["stages"] | {"each": {SLOW: slow}}
    recipe = values["recipe"]
    recipe["stages"] = [stage | SLOW_ROOM if stage["stage"] == SLOW else stage for stage in recipe["stages"]]
    recipe["corpus"]["strings"] |= {"train": TRAIN, "dev": 8, "test": 8, "unseen_speaker": 8}
    recipe["training"] |= {"epochs": EPOCHS, "max_minutes": 0, "patience": 1000, "dev_every_epochs": EPOCHS}
    space.install(helm, values)
    watch = Watch(space)
    yield watch
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "planner.json").write_text(json.dumps(watch.lines) + "\n")
    draw(watch.lines)
    helm.run("uninstall", "words", "--namespace", space.name)
    space.close()


def draw(lines):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.5), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    times = [line[0] for line in lines]
    known = [line[1] if line[1] is not None else float("nan") for line in lines]
    left.plot(times, known, color="C0", label="t_session")
    right.step(times, [line[3] for line in lines], where="post", color="C1", label=f"replicas of {SLOW}: wanted")
    right.step(times, [line[2] for line in lines], where="post", color="C1", alpha=0.4, label="alive")
    left.set(xlabel="seconds since installation", ylabel="t_session", ylim=(0, 1.05))
    right.set(ylabel="replicas", ylim=(0, None))
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(OUT / "planner.svg")


def test_the_slow_stage_gets_company_until_the_trainer_waits_no_more(watch):
    watch.until(lambda status: status.HasField("t_session"))
    watch.until(lambda status: status.t_session >= FED and 1 < watch.living() == watch.wanted())
    starved = [t_session for _, t_session, living, _, _ in watch.lines if t_session is not None and living == 1]
    assert min(starved) < STARVED
    assert 1 <= watch.decisions() <= MOST_DECISIONS
    told = json.loads(watch.space.kubectl("get", "events", "--output=json"))["items"]
    scaled = [e["message"] for e in told if e["reason"] == "Scaled" and e["involvedObject"]["name"] == f"words-{SLOW}"]
    assert any("the trainer can take" in message for message in scaled), scaled


def test_what_nobody_needs_any_more_goes_again(watch):
    watch.until(lambda status: status.finished, patience_s=900)
    watch.until(lambda status: watch.living() == watch.wanted() == 1)
