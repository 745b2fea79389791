"""All processes of a run, supervised as on one machine, with proxies between them, and handles for fault injection."""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from chaos.network import Network, Relay

from services.process.restarts import FINAL_CODES, RestartPolicy
from services.stage.wiring import program
from services.supervisor.child import Child, Process, ProcessFailed
from services.supervisor.gang import mpirun
from services.supervisor.redis_server import LocalRedis
from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import load_recipe

__all__ = ["Fleet"]

_ROOT = Path(__file__).resolve().parents[2]
_AGAIN_S = 0.5
_MOST_REPLICAS, _MOST_RANKS = 4, 3


class Fleet:
    """Redis, coordinator and `replicas` of each stage behind a relay; `train` runs the gang until training is over."""

    def __init__(self, run, environment, replicas=2):
        self.run = run
        recipe = load_recipe(run.recipe)
        self.network = Network()
        self.relay = Relay(self.network)
        self.gang_starts, self.gang_start_s = 0, 0.0
        self._environment = (
            os.environ | {"PYTHONPATH": f"{_ROOT}:{_ROOT / 'tests'}", "TF_CPP_MIN_LOG_LEVEL": "2"} | environment
        )
        self._replicas = replicas
        self._ranks = recipe.training.ranks
        self._names = count()
        self._keepers = {}
        self.stages = {stage: [] for stage in stage_order(recipe)}
        self._gang = self.redis = self.coordinator = None
        self._waking = set()
        self.failed = asyncio.get_running_loop().create_future()

    async def start(self):
        (self.run.logs).mkdir(exist_ok=True)
        self._redis_server = LocalRedis(self.run.redis)
        self.redis_url = self._redis_server.url
        self.redis = self._child("redis", lambda _: self._redis_server.command)
        await self._redis_server.wait_ready(30, self._log("redis"))
        await self.relay.start()
        await self._start_coordinator()
        for stage in self.stages:
            for _ in range(self._replicas):
                await self.add(stage)

    async def _start_coordinator(self):
        port_file = self.run.path / "coordinator.address"
        module = [sys.executable, "-m", "services.coordinator", "--run", str(self.run.path), "--redis", self.redis_url]

        def command(restarts):
            port = port_file.read_text().strip().rpartition(":")[2] if restarts else "0"
            return [*module, "--port", port, "--port-file", str(port_file)]

        self.coordinator = self._child("coordinator", command)
        while not port_file.exists():
            await asyncio.sleep(0.05)
        self.relay.lead_to(port_file.read_text().strip())

    async def add(self, stage):
        """Start one more replica of a stage, unless there are enough."""
        if len(self.stages[stage]) >= _MOST_REPLICAS:
            return
        name = f"{stage}-{next(self._names)}"
        command = [sys.executable, "-m", *program(stage), "--run", str(self.run.path)]
        command += ["--coordinator", self.relay.address, "--stay"]
        self.stages[stage].append(self._child(name, lambda starts: [*command, "--replica", f"{name}.{starts}"]))

    async def remove(self, stage, pick):
        """Drain one replica of a stage, unless it is the last."""
        replicas = self.stages[stage]
        if len(replicas) > 1:
            child = replicas.pop(pick % len(replicas))
            await child.stop(30)

    async def train(self):
        """Run the gang until it has trained to the end."""
        policy = RestartPolicy(most=60, window_s=600.0, first_pause_s=_AGAIN_S, last_pause_s=_AGAIN_S)
        module = ["-m", "chaos.recording_trainer", "--run", str(self.run.path), "--coordinator", self.relay.address]
        while True:
            self.gang_starts, self.gang_start_s = self.gang_starts + 1, time.monotonic()
            command = mpirun(self._ranks, [*module, "--redis", self.redis_url, "--threads", "1"])
            self._gang = await Process.start("trainer", command, self._log("trainer"), self._environment)
            code = await self._gang.wait()
            self._gang.kill_group()
            if code == 0:
                return
            pause_s = None if code in FINAL_CODES else policy.ended(time.monotonic())
            if pause_s is None:
                reason = policy.limit or f"a restart cannot mend exit code {code}"
                raise ProcessFailed("trainer", code, self._log("trainer"), reason)
            await asyncio.sleep(pause_s)

    def resize_gang(self, pick):
        """Let the gang leave with a checkpoint, and come back with another number of ranks."""
        self._ranks = [n for n in range(1, _MOST_RANKS + 1) if n != self._ranks][pick % (_MOST_RANKS - 1)]
        if self._gang is not None:
            send(self._gang.pid, signal.SIGUSR1)

    def rank(self, pick):
        """Return a rank's process, None if there is none now."""
        if self._gang is None or self._gang.code is not None:
            return None
        files = sorted((self.run.path / "records").glob("rank-*.pid"))[: self._ranks]
        return int(files[pick % len(files)].read_text() or 0) or None if files else None

    def pid(self, child):
        return child.running.pid if child.running is not None else None

    def wires(self, child):
        """Return the wires to a stage's replica, of all its lives."""
        return self.network.of(
            [e for replica, e in self.relay.endpoints.items() if replica.startswith(f"{child.name}.")]
        )

    def pause(self, pid, seconds):
        """Stop a process for some time."""
        send(pid, signal.SIGSTOP)
        self.later(seconds, lambda: send(pid, signal.SIGCONT))

    def later(self, seconds, action):
        async def wait():
            await asyncio.sleep(seconds)
            action()

        task = asyncio.create_task(wait())
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)

    async def stop(self):
        if self._gang is not None:
            self._gang.kill_group()
        children = [child for stage in self.stages.values() for child in stage]
        await asyncio.gather(*(child.stop(2) for child in children))
        for keeper in self._keepers.values():
            keeper.cancel()
        for child in filter(None, (self.coordinator, self.redis)):
            await child.stop(5)
        self.network.close()
        await self.relay.stop()
        self._redis_server.remove_socket()

    def _child(self, name, command):
        policy = RestartPolicy(most=20, window_s=60.0, first_pause_s=0.1, last_pause_s=0.5)
        child = Child(name, command, self._log(name), self._environment, policy)
        self._keepers[child] = asyncio.create_task(self._keep(child))
        return child

    async def _keep(self, child):
        try:
            await child.keep()
        except ProcessFailed as error:
            if not self.failed.done():
                self.failed.set_exception(error)

    def _log(self, name):
        return self.run.logs / f"{name}.log"


def send(pid, number):
    """Send a signal to a process that may have ended."""
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
