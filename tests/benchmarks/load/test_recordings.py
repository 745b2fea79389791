import numpy as np
import pytest
import soundfile

from benchmarks.load.recordings import BadRecordings, murmurs, read_recordings


def test_the_onset_is_where_the_first_sound_is(tmp_path):
    samples = np.zeros(8000, np.int16)
    samples[:2000] = 40  # noise of the room
    samples[2000:6000] = 8000
    soundfile.write(tmp_path / "a.wav", samples, 8000)
    (recording,) = read_recordings(tmp_path)
    assert recording.onset_s == pytest.approx(0.25, abs=0.011)
    assert (recording.duration_s, recording.rate_hz) == (1.0, 8000)
    assert recording.audio == samples.tobytes()


def test_many_recordings_are_thinned_evenly(tmp_path):
    for number in range(130):
        soundfile.write(tmp_path / f"{number:03}.wav", np.full(80 + number, 9, np.int16), 8000)
    lengths = [len(recording.audio) // 2 - 80 for recording in read_recordings(tmp_path)]
    assert lengths == list(range(0, 130, 3))


@pytest.mark.parametrize("content", [None, b"no audio"])
def test_what_cannot_be_sent_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(BadRecordings, match=str(tmp_path)):
        read_recordings(tmp_path)


def test_a_name_with_a_line_feed_is_named_on_one_line(tmp_path):
    (tmp_path / "a\nb.wav").write_bytes(b"no audio")
    with pytest.raises(BadRecordings) as raised:
        read_recordings(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path}/a\\nb.wav: ")
    assert "\n" not in str(raised.value)


def test_murmurs_have_sound_and_pauses():
    for recording in murmurs(8000):
        levels = np.abs(np.frombuffer(recording.audio, np.int16)).reshape(-1, 1)
        assert 2.0 <= recording.duration_s <= 4.0
        assert 0.3 < np.mean(levels > 300) < 0.9
