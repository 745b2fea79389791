import json

import pytest

from sonorant.errors import Unavailable
from sonorant.training.metrics import MetricsLog, SessionMeter


def test_t_session_is_time_in_steps_over_elapsed_time():
    meter = SessionMeter(session_s=8.0, elapsed_s=10.0, window=2)
    for session_s in (0.0, 1.0, 0.5):
        meter.add(session_s, 1.0, audio_s=36.0)
    assert meter.t_session == pytest.approx(9.5 / 13)
    assert meter.recent_t_session == pytest.approx(0.75)
    assert meter.recent_audio_hours_per_second == pytest.approx(0.01)
    assert meter.audio_s == 108


def test_lines_after_the_checkpoint_and_torn_ones_are_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, 0.0)
    for time_s in (1.0, 2.0, 3.0):
        log.write("step", {"time_s": time_s})
    log.close()
    with path.open("a") as file:
        file.write('{"kind": "st')
    log = MetricsLog(path, 2.0)
    log.write("step", {"time_s": 2.5})
    log.close()
    assert [json.loads(line)["time_s"] for line in path.read_text().splitlines()] == [1.0, 2.0, 2.5]


def test_a_line_that_finds_no_room_names_the_file(tmp_path, small_disk):
    log = MetricsLog(tmp_path / "metrics.jsonl", 0.0)
    with pytest.raises(Unavailable, match=r"metrics\.jsonl: cannot be written: File too large"):
        log.write("step", {"figure": "9" * 5000})
    log.close()
