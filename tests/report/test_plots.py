import tracemalloc

import numpy as np
import pytest
from scipy import signal

from sonorant.delivery.example import WordSpan
from sonorant.report import plots
from sonorant.report.stage_view import StageView

RATE_HZ = 8000


@pytest.mark.parametrize("seconds", [0.025, 0.5, 39.9, 41.0, 60.0, 100.0])
def test_power_is_that_of_frames_each_10_ms_of_which_the_loudest_is_drawn(monkeypatch, seconds):
    """In pieces or as a whole; more than 4,000 frames are drawn as so many at most."""
    monkeypatch.setattr(plots, "_COLUMNS_AT_ONCE", 17)
    noise = np.random.default_rng(0).standard_normal(round(seconds * RATE_HZ), dtype=np.float32)
    hz, times_s, power = plots._power(noise, RATE_HZ)
    expected_hz, expected_s, whole = signal.spectrogram(noise, RATE_HZ, nperseg=200, noverlap=120)
    hold = -(-len(expected_s) // 4000)
    np.testing.assert_array_equal(hz, expected_hz)
    np.testing.assert_allclose(times_s, expected_s[::hold])
    loudest = [whole[:, first : first + hold].max(axis=1) for first in range(0, len(expected_s), hold)]
    np.testing.assert_allclose(power, np.stack(loudest, axis=1), rtol=1e-5)


def test_power_of_a_long_recording_takes_little_beside_it():
    """A whole transform takes more than six times the recording's memory."""
    ten_minutes = np.random.default_rng(0).standard_normal(600 * RATE_HZ, dtype=np.float32)
    tracemalloc.start()
    plots._power(ten_minutes, RATE_HZ)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < ten_minutes.nbytes


def test_words_with_two_dollar_signs_are_no_formulas():
    word = r"$\nothing$"
    view = StageView("recording", np.ones(800, np.float32), RATE_HZ, (WordSpan(word, 0.0, 0.1),))
    plots.stages_plot([view])
    plots.alignment_plot([{"labels": [word], "percent": [[100]], "step": 1}])


def test_words_of_any_script_are_written_by_the_fonts_of_the_page(recwarn):
    svg = plots.alignment_plot([{"labels": ["\u310a", "<b>한국어"], "percent": [[100], [0]], "step": 1}])
    assert ">\u310a</text>" in svg
    assert ">&lt;b&gt;한국어</text>" in svg
    assert not [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)]
