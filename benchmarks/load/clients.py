"""Clients in a process of their own, which speak by set times, whatever the recognizer answers."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.load.event_loop import event_loop
from benchmarks.load.recordings import Recording
from benchmarks.load.schedule import speeches
from benchmarks.load.stream import Heard, say
from services.process.channels import open_aio_channel
from services.recognizer_client.client import connect
from sonorant.v1 import recognizer_pb2_grpc

__all__ = ["LATE_S", "PATIENCE_S", "Task", "speak"]

PATIENCE_S = 10.0  # for the final result of a recording; then its latency is that
LATE_S = 0.5  # the load goes on for so long behind the end, so that what ended last is answered under load
_PER_CHANNEL = 50  # streams of a connection: servers bound them, often by 100


@dataclass(frozen=True, slots=True)
class Task:
    """One step: `speakers`, of so many in all, speak from `begin_s` to `end_s` (`time.monotonic`) to `model`."""

    speakers: Sequence[int]
    streams: int
    begin_s: float
    end_s: float
    model: str = ""


def speak(connection: Connection, address: str, recordings: Sequence[Recording], cores: Sequence[int]) -> None:
    """Answer each message, a `Task`, with a list of `Heard`, one a try; on `cores` alone."""
    os.sched_setaffinity(0, cores)
    with event_loop() as loop:
        while (task := connection.recv()) is not None:
            connection.send(loop.run(_Clients(address, recordings, task).run()))


class _Clients:
    def __init__(self, address: str, recordings: Sequence[Recording], task: Task) -> None:
        self._address = address
        self._recordings = recordings
        self._task = task
        self._heard: list[Heard] = []

    async def run(self) -> list[Heard]:
        task = self._task
        options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0))
        channels = [
            open_aio_channel(self._address, options) for _ in range(-(-max(1, len(task.speakers)) // _PER_CHANNEL))
        ]
        self._stubs = [connect(channel) for channel in channels]
        async with asyncio.TaskGroup() as group:
            for speaker in task.speakers:
                group.create_task(self._speaker(speaker, group))
        for channel in channels:
            await channel.close()
        return self._heard

    async def _speaker(self, speaker: int, group: asyncio.TaskGroup) -> None:
        """Begin streams at the set times; those behind a refused one are later by as much as that one was told."""
        task, put_off = self._task, _PutOff()
        durations_s = [recording.duration_s for recording in self._recordings]
        for speech in speeches(speaker, task.streams, durations_s, task.end_s - task.begin_s):
            while (begin_s := task.begin_s + speech.begin_s + put_off.seconds) > time.monotonic():
                if begin_s >= task.end_s:
                    return
                await asyncio.sleep(begin_s - time.monotonic())
            stub = self._stubs[speaker % len(self._stubs)]
            group.create_task(self._say(stub, self._recordings[speech.recording], begin_s, put_off))

    async def _say(
        self, stub: "recognizer_pb2_grpc.RecognizerAsyncStub", recording: Recording, begin_s: float, put_off: "_PutOff"
    ) -> None:
        """Stream a recording; a refused client waits as it was told, and begins again."""
        end_s = self._task.end_s
        while begin_s < end_s:
            over_s = begin_s + recording.duration_s
            until_s = over_s + PATIENCE_S if over_s <= end_s else end_s + LATE_S
            heard = await say(stub, recording, self._task.model, begin_s, until_s)
            self._heard.append(heard)
            if heard.retry_s is None:
                return
            again_s = time.monotonic() + heard.retry_s
            put_off.seconds += again_s - begin_s
            begin_s = again_s
            await asyncio.sleep(min(heard.retry_s, max(0.0, end_s - time.monotonic())))


class _PutOff:
    """By how much refusals have put off a speaker."""

    seconds = 0.0
