"""What is seen of a release over time: how well its ranks were fed, and the replicas of its slow stage."""

import json
import math
import time
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import grpc
from rigs.waiting import eventually

from services.coordination.durations import seconds
from sonorant.recipe.layout import TRAINER

_PLOTTED_S = 10.0  # of each t_session that is plotted


class Look(NamedTuple):
    """Of one moment: seconds in steps and waited by rank, all so far; replicas of the slow stage alive and wanted."""

    at_s: float
    ranks: dict[str, tuple[float, float]]
    living: int
    wanted: int


def t_session(before, after):
    """Return the share of the time between two looks that the rank fed worst spent in steps (Samsung, Eq. 2).

    NaN if none trained. That rank the others wait for inside their steps, so theirs says less.
    """
    found = []
    for rank in before.ranks.keys() & after.ranks.keys():
        busy_s, waited_s = (now - then for then, now in zip(before.ranks[rank], after.ranks[rank], strict=True))
        if busy_s > 0 and waited_s >= 0:
            found.append(busy_s / (busy_s + waited_s))
    return min(found, default=math.nan)


class Watch:
    """Looks at a release (a KeyedRelease), about one a second."""

    def __init__(self, release, slow):
        self.release, self.space, self.slow = release, release.space, slow
        self.begun_s = time.monotonic()
        self.looks = []

    def look(self):
        try:
            status = self.release.status()
        except grpc.RpcError:  # it has not begun to listen
            return None
        living = Counter(replica.stage for replica in status.replicas)[self.slow]
        deployment = self.space.found("deployments", component=self.slow)[0]
        ranks = {r.replica: (seconds(r.busy), seconds(r.waited)) for r in status.replicas if r.stage == TRAINER}
        at_s = time.monotonic() - self.begun_s
        self.looks.append(Look(at_s, ranks, living, deployment["spec"].get("replicas", 1)))
        return status

    def until(self, condition, patience_s=400.0):
        eventually(lambda: (status := self.look()) and condition(status), self.said, patience_s=patience_s)

    def said(self):
        log = self.space.logs("autoscaler")
        lines = "\n".join(map(str, self.looks[-30:]))
        return f"{lines}\n{self.space.kubectl('get', 'pods')}\n{log[-3000:]}"

    @property
    def living(self):
        return self.looks[-1].living

    @property
    def wanted(self):
        return self.looks[-1].wanted

    def starved(self):
        """Return t_session from the first step that was seen until the slow stage had its second replica.

        If it had that by then, since the ranks began.
        """
        trained = [look for look in self.looks if any(busy_s > 0 for busy_s, _ in look.ranks.values())]
        alone = [look for look in trained if look.living == 1]
        begun = trained[0]._replace(ranks=dict.fromkeys(trained[0].ranks, (0.0, 0.0)))
        return t_session(alone[0], alone[-1]) if len(alone) > 1 else t_session(begun, trained[0])

    def fed(self, for_s):
        """Return t_session since `for_s` ago; NaN unless the slow stage had all replicas that it wanted since then."""
        last = self.looks[-1]
        since = next((look for look in reversed(self.looks) if look.at_s <= last.at_s - for_s), None)
        if since is None:
            return math.nan
        replicas = {count for look in self.looks if look.at_s >= since.at_s for count in (look.living, look.wanted)}
        return t_session(since, last) if len(replicas) == 1 else math.nan

    def decisions(self):
        """Return how often the slow stage was given more replicas."""
        return sum(after.wanted > before.wanted for before, after in pairwise(self.looks))

    def write(self, folder):
        """Write planner.json and planner.svg."""
        from matplotlib.figure import Figure

        folder.mkdir(parents=True, exist_ok=True)
        (folder / "planner.json").write_text(json.dumps([look._asdict() for look in self.looks], indent=1) + "\n")
        figure = Figure(figsize=(7, 3.5), layout="constrained")
        left = figure.subplots()
        right = left.twinx()
        times = [look.at_s for look in self.looks]
        fed = [self._recent(look) for look in self.looks]
        left.plot(times, fed, color="C0", label=f"t_session of {_PLOTTED_S:g} s")
        right.step(times, [look.wanted for look in self.looks], "C1", where="post", label=f"{self.slow}: wanted")
        right.step(times, [look.living for look in self.looks], "C1", where="post", alpha=0.4, label="alive")
        left.set(xlabel="seconds since installation", ylabel="t_session", ylim=(0, 1.05))
        right.set(ylabel="replicas", ylim=(0, None))
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(folder / "planner.svg")

    def _recent(self, look):
        """Return t_session of the last seconds before a look."""
        before = [other for other in self.looks if 0 < look.at_s - other.at_s <= _PLOTTED_S]
        return t_session(before[0], look) if before else math.nan
