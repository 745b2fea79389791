"""What Prometheus reads, over HTTP."""

import pytest
from rigs.metrics import scrape

from services.coordination.meter import Meter
from services.process.metrics import MetricsServer, counter, gauge, metrics_at, on_scrape
from services.stage.metrics import stage_metrics
from services.trainer.metrics import rank_metrics
from sonorant.errors import Unavailable


@pytest.fixture
def server():
    server = MetricsServer("127.0.0.1", 0)
    yield server
    server.close()


def test_counters_are_read_when_they_are_asked_for(server):
    readings = []

    def collect():
        readings.append(True)
        yield counter("sonorant_tests_total", "Tests.", len(readings), kind="unit")
        yield gauge("sonorant_tests_level", "Level.", 0.5)

    on_scrape(server.registry, collect)
    assert not readings
    assert scrape(server.port)["sonorant_tests_total", "unit"] == 1
    found = scrape(server.port)
    assert found["sonorant_tests_total", "unit"] == 2
    assert found[("sonorant_tests_level",)] == 0.5
    assert found[("process_cpu_seconds_total",)] > 0


def test_a_taken_port_is_named(server):
    with pytest.raises(Unavailable, match=str(server.port)):
        MetricsServer("127.0.0.1", server.port)


def test_a_port_is_free_again_afterwards(server):
    with metrics_at("127.0.0.1", 0) as registry:
        on_scrape(registry, lambda: ())
    again = MetricsServer("127.0.0.1", 0)
    port = again.port
    again.close()
    MetricsServer("127.0.0.1", port).close()


def test_without_a_port_what_is_registered_is_never_read():
    with metrics_at("127.0.0.1", None) as registry:
        on_scrape(registry, lambda: 1 / 0)


def test_a_stage_tells_all_that_it_ever_did_whatever_heartbeats_took(server):
    meter = Meter(queued=lambda: 3, link_faults=lambda: 2)
    on_scrape(server.registry, lambda: stage_metrics("room", meter, {"rooms_redrawn": 3}))
    for _ in range(2):
        meter.worked(0.25, cpu_s=0.125)
        meter.handed_on(2, 7.5)
        meter.rejected()
        meter.take("room-1", 1.0)
    found = scrape(server.port)
    assert found["sonorant_stage_examples_total", "room"] == 4
    assert found["sonorant_stage_audio_seconds_total", "room"] == 15
    assert found["sonorant_stage_busy_seconds_total", "room"] == 0.5
    assert found["sonorant_stage_cpu_seconds_total", "room"] == 0.25
    assert found["sonorant_stage_rejected_examples_total", "room"] == 2
    assert found["sonorant_stage_queued_examples", "room"] == 3
    assert found["sonorant_stage_link_faults_total", "room"] == 2
    assert found["sonorant_stage_draining", "room"] == 0
    assert found["sonorant_stage_counted_total", "room", "rooms_redrawn"] == 3


def test_a_rank_tells_how_long_it_waited(server):
    meter = Meter(wanted=lambda: 5)
    on_scrape(server.registry, lambda: rank_metrics(meter))
    assert scrape(server.port)[("sonorant_trainer_t_session_ratio",)] == 0
    meter.worked(3.0)
    meter.stepped()
    meter.waited(1.0)
    meter.handed_on(32, 64.0)
    meter.show({"loss": 2.5})
    found = scrape(server.port)
    assert found[("sonorant_trainer_steps_total",)] == 1
    assert found[("sonorant_trainer_examples_total",)] == 32
    assert found[("sonorant_trainer_step_seconds_total",)] == 3
    assert found[("sonorant_trainer_wait_seconds_total",)] == 1
    assert found[("sonorant_trainer_t_session_ratio",)] == 0.75
    assert found[("sonorant_trainer_wanted_examples",)] == 5
    assert found[("sonorant_trainer_loss",)] == 2.5
    assert ("sonorant_trainer_wer",) not in found
