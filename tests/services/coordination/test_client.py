"""The line to the coordinator holds, whatever happens at the other end."""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import pytest
import trustme
from rigs import coordinator as coordinator_rig
from rigs.coordinator import ScriptedCoordinator
from rigs.waiting import eventually

from services.coordination.client import CoordinatorClient
from services.coordination.meter import Meter
from services.process import channels
from services.process.keys import Keys
from sonorant.delivery.example import Lineage
from sonorant.v1 import coordinator_pb2 as pb

ROOT = Path(__file__).parents[3]


@pytest.fixture
def coordinator():
    server = ScriptedCoordinator()
    yield server
    server.close()


@contextlib.contextmanager
def client_of(address, meter=None, on_response=None, **options):
    client = CoordinatorClient(address, "vtlp-1", meter or Meter(), **options)
    client.start(pb.RegisterRequest(stage="vtlp", replica="vtlp-1", endpoint="tcp://h:1"), on_response)
    try:
        yield client
    finally:
        client.close()


def test_a_replica_registers_and_beats_with_what_it_measured(coordinator):
    meter = Meter(queued=lambda: 3, wanted=lambda: 7)
    meter.worked(0.25, cpu_s=0.125)
    meter.waited(0.5)
    meter.handed_on(2, 7.5)
    meter.show({"loss": 1.5})
    for index in (4, 2):
        meter.arrived(Lineage(1, 0, index))
    with client_of(coordinator.address, meter):
        eventually(lambda: len(coordinator.beats) >= 2)
    first, second = coordinator.beats[:2]
    assert coordinator.known["vtlp-1"].endpoint == "tcp://h:1"
    assert (first.busy.ToSeconds(), first.busy.nanos, first.examples, first.queued) == (0, 250_000_000, 2, 3)
    assert first.audio.ToMilliseconds() == 7500
    assert (first.cpu.ToMilliseconds(), second.cpu.ToMilliseconds()) == (125, 0)
    assert (first.waited.ToMilliseconds(), second.waited.ToMilliseconds(), first.wanted) == (500, 0, 7)
    assert first.arrived == [pb.RecordSet(epoch=1, shard=0, indexes=[4, 2])]
    assert first.figures == second.figures == {"loss": 1.5}
    assert (second.examples, list(second.arrived), second.busy.nanos) == (0, [], 0)
    assert 0 < second.elapsed.ToNanoseconds() < 20e9


def test_cpu_time_that_nobody_measures_is_absent_and_what_did_not_get_through_is_told_again():
    meter = Meter()
    meter.worked(0.25)
    assert not meter.take("rank-0", 1.0).HasField("cpu")
    meter.worked(0.25, cpu_s=0.2)
    lost = meter.take("rank-0", 1.0)
    meter.restore(lost)
    meter.worked(0.25, cpu_s=0.1)
    again = meter.take("rank-0", 2.0)
    assert (lost.cpu.ToMilliseconds(), again.cpu.ToMilliseconds(), again.busy.ToMilliseconds()) == (200, 300, 500)


def test_a_forgotten_replica_registers_anew_and_loses_no_report(coordinator):
    meter = Meter()
    with client_of(coordinator.address, meter):
        eventually(lambda: coordinator.beats)
        coordinator.known.clear()
        meter.arrived(Lineage(0, 0, 9))
        eventually(lambda: coordinator.registrations == 2)
        eventually(lambda: any(beat.arrived for beat in coordinator.beats))


def test_a_coordinator_that_comes_late_or_again_is_found():
    placeholder = ScriptedCoordinator()
    placeholder.close()
    meter = Meter()
    meter.arrived(Lineage(0, 0, 1))
    with client_of(placeholder.address, meter) as client:
        client.reject(Lineage(0, 0, 2), "u2", "vtlp", "empty")
        for _ in range(2):
            with contextlib.closing(ScriptedCoordinator(placeholder.port)) as server:
                eventually(lambda server=server: server.beats)
                assert server.registrations == 1
                if meter:
                    eventually(lambda server=server: server.rejections)
                    assert [list(r.indexes) for beat in server.beats for r in beat.arrived] == [[1]]
                    meter = None


@pytest.fixture
def start_in_tls(monkeypatch, tmp_path):
    """Return what starts a coordinator in another process: within one, gRPC's servers would help its clients along."""
    house = trustme.CA()
    own = house.issue_cert("127.0.0.1")
    house.cert_pem.write_to_path(tmp_path / "authority")
    own.private_key_pem.write_to_path(tmp_path / "key")
    for pem in own.cert_chain_pems:
        pem.write_to_path(tmp_path / "chain", append=True)
    files = [tmp_path / name for name in ("authority", "key", "chain")]
    monkeypatch.setattr(channels, "process_keys", lambda: Keys(authority=files[0].read_bytes()))
    with contextlib.ExitStack() as stack:

        def start(port=0):
            command = [sys.executable, coordinator_rig.__file__, str(port), *map(str, files)]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
            stack.callback(process.kill)
            return process, int(process.stdout.readline())

        yield start


def test_a_coordinator_that_was_away_for_seconds_is_found_again_in_tls(start_in_tls):
    process, port = start_in_tls()
    answers, listed = [], []
    with client_of(f"127.0.0.1:{port}", on_response=answers.append) as client:
        client.watch("vtlp", listed.append)
        eventually(lambda: answers and listed)
        process.kill()
        threading.Event().wait(4.0)  # so that attempts fail, with growing pauses
        answers.clear()
        listed.clear()
        start_in_tls(port)
        eventually(lambda: answers and listed)


def test_the_last_heartbeat_says_that_the_replica_drains(coordinator):
    meter = Meter()
    with client_of(coordinator.address, meter) as client:
        assert client.wait_registered(10)
        meter.draining = True
    assert coordinator.beats[-1].draining


def test_news_does_not_wait_for_the_next_heartbeat(coordinator):
    with client_of(coordinator.address) as client:
        eventually(lambda: coordinator.beats)
        client.reject(Lineage(1, 2, 3), "u", "vtlp", "0 samples, expected at least 1")
        eventually(lambda: coordinator.rejections)
    (rejection,) = coordinator.rejections
    assert (rejection.lineage.epoch, rejection.lineage.shard, rejection.lineage.index) == (1, 2, 3)
    assert rejection.reason == "0 samples, expected at least 1"


def test_a_rejection_is_retried_until_acknowledged_unless_the_refusal_is_final(coordinator):
    coordinator.refusals = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INVALID_ARGUMENT]
    with client_of(coordinator.address) as client:
        client.reject(Lineage(0, 0, 0), "refused", "vtlp", "r")
        client.reject(Lineage(0, 0, 1), "heard", "vtlp", "r")
        eventually(lambda: coordinator.rejections)
    assert [r.utterance for r in coordinator.rejections] == ["heard"]


def test_a_rejection_of_megabytes_arrives_shortened(coordinator):
    """gRPC takes 4 MiB a message; one that is refused for its size would be sent again for ever."""
    with client_of(coordinator.address) as client:
        client.reject(Lineage(0, 0, 0), "u" * 1_000_000, "vtlp", "€" * 2_000_000)
        client.reject(Lineage(0, 0, 1), "u" * 1000, "vtlp", "r")
        eventually(lambda: len(coordinator.rejections) == 2)
    long, short = coordinator.rejections
    assert (long.utterance, long.reason) == ("u" * 999 + "…", "€" * 999 + "…")
    assert (short.utterance, short.reason) == ("u" * 1000, "r")


class _SlowToHearRejections(ScriptedCoordinator):
    """Notes how many heartbeats had come by each rejection."""

    def __init__(self):
        self.beats_before = []
        super().__init__()

    def RejectExample(self, request, context):
        threading.Event().wait(self.interval_s / 4)
        self.beats_before.append(len(self.beats))
        return super().RejectExample(request, context)


def test_many_rejections_do_not_keep_heartbeats_waiting():
    with contextlib.closing(_SlowToHearRejections()) as coordinator, client_of(coordinator.address) as client:
        eventually(lambda: coordinator.beats)
        for index in range(40):
            client.reject(Lineage(0, 0, index), f"u{index}", "vtlp", "r")
        eventually(lambda: len(coordinator.rejections) == 40)
    assert [r.lineage.index for r in coordinator.rejections] == list(range(40))
    first, *_, last = coordinator.beats_before
    assert last - first >= 5


def test_endpoints_are_watched_across_ends_of_the_stream(coordinator):
    coordinator.endpoints = [["tcp://a:1"], ["tcp://a:1", "tcp://b:1"]]
    heard = []
    with client_of(coordinator.address) as client:
        client.watch("shard_reader", heard.append)
        eventually(lambda: len(heard) >= 4)
    assert heard[:4] == coordinator.endpoints * 2


def test_leases_are_waited_for_until_the_run_is_over(coordinator):
    coordinator.leases = [pb.AcquireLeaseResponse(), pb.AcquireLeaseResponse(lease=5)]
    with client_of(coordinator.address) as client:
        assert client.acquire_lease().lease == 5
        coordinator.finished = True
        assert client.acquire_lease() is None


def test_a_replica_that_stays_waits_for_leases_after_the_end_of_the_run(coordinator):
    coordinator.finished = True
    coordinator.leases = [pb.AcquireLeaseResponse(finished=True), pb.AcquireLeaseResponse(lease=5)]
    with client_of(coordinator.address, stays=True) as client:
        assert client.acquire_lease().lease == 5


def test_who_waits_for_a_lease_is_freed_when_the_replica_drains(coordinator):
    with client_of(coordinator.address) as client:
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(client.acquire_lease()))
        waiting.start()
        client.stop_leasing()
        waiting.join(10)
        assert answers == [None]


def test_answers_to_heartbeats_are_passed_on(coordinator):
    coordinator.epochs = [pb.EpochProgress(epoch=2, total=10, outstanding=4)]
    answers = []
    with client_of(coordinator.address, on_response=lambda answer: answers.append(answer)):
        eventually(lambda: answers)
    assert list(answers[0].epochs) == coordinator.epochs


def test_a_heartbeat_is_retried_until_acknowledged_unless_the_refusal_is_final(coordinator):
    coordinator.beat_refusals = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INVALID_ARGUMENT]
    meter = Meter()
    meter.arrived(Lineage(0, 99, 7))
    with client_of(coordinator.address, meter):
        eventually(lambda: len(coordinator.beats) >= 4)
    assert [len(beat.arrived) for beat in coordinator.beats[:4]] == [1, 1, 0, 0]


def test_the_coordinator_sets_the_heartbeat_interval(coordinator):
    coordinator.interval_s = 3600.0
    with client_of(coordinator.address) as client:
        eventually(lambda: coordinator.beats)
        coordinator.interval_s = 0.01
        client.beat_now()
        eventually(lambda: len(coordinator.beats) > 5)


def test_closing_waits_for_no_heartbeat_even_if_it_comes_just_before_one(coordinator):
    coordinator.interval_s = 3600.0

    class LateClear(threading.Event):
        """Clears what `close` sets just before."""

        def clear(self):
            if coordinator.beats:
                client._quit.set()
            super().clear()

    client = CoordinatorClient(coordinator.address, "v", Meter())
    client._wake = LateClear()
    client.start(pb.RegisterRequest(stage="vtlp", replica="v"))
    eventually(lambda: coordinator.beats)
    client.beat_now()
    client._threads[0].join(20)
    assert not client._threads[0].is_alive()
    client.close()
