"""An autoscaler as a process, and a coordinator whose counters grow as those of a training that a test makes up."""

import os
import subprocess
import sys

from rigs.coordinator import ScriptedCoordinator, seconds
from rigs.metrics import scrape

from sonorant.v1 import coordinator_pb2 as pb


class MadeUpTraining(ScriptedCoordinator):
    """At each look 100 examples more are through: a rank took `rate` a second, stages worked `costs_s` on each."""

    def __init__(self, costs_s, rate, port=0):
        self.costs_s = costs_s
        self.rate = rate
        self.finished = False
        self.examples = 0
        self._trained_s = 0.0
        super().__init__(port)

    def GetStatus(self, request, context):
        self.examples += 100
        self._trained_s += 100 / self.rate
        stages = [
            pb.ReplicaStatus(stage=stage, replica=stage, busy=seconds(self.examples * cost_s), examples=self.examples)
            for stage, cost_s in self.costs_s.items()
        ]
        rank = pb.ReplicaStatus(stage="trainer", replica="t", busy=seconds(self._trained_s), examples=self.examples)
        return pb.GetStatusResponse(replicas=[*stages, rank], t_session=0.5, finished=self.finished)


class AutoscalerProcess:
    """`python -m services.autoscaler`, quick."""

    def __init__(self, recipe, coordinator, metrics_port, *arguments, kubeconfig=None):
        command = [sys.executable, "-m", "services.autoscaler", "--recipe", str(recipe), "--coordinator", coordinator]
        command += ["--metrics-port", str(metrics_port), "--every-s", "0.5", "--lease-s", "8", *arguments]
        environment = dict(os.environ) | ({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})
        self.metrics_port = metrics_port
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def metrics(self):
        try:
            return scrape(self.metrics_port)
        except OSError:
            assert self.process.poll() is None, self.process.stderr.read()
            return {}

    def leads(self):
        return self.metrics().get(("sonorant_autoscaler_leading",)) == 1

    def end(self, kill=False):
        if self.process.poll() is None:
            (self.process.kill if kill else self.process.terminate)()
        self.process.communicate(timeout=60)
        return self.process.returncode
