import os

from chaos.recording_trainer import _RecordingFeeder

from sonorant.training.feeder import Feeder


def test_each_example_is_an_arrival_and_a_poll_without_any_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(Feeder, "_labelled", lambda self, examples: examples)
    feeder = object.__new__(_RecordingFeeder)
    feeder._arrivals = os.open(tmp_path / "arrivals", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    sizes = []
    for examples in ([], ["one", "two"], [], ["three"]):
        assert feeder._labelled(examples) == examples
        sizes.append((tmp_path / "arrivals").stat().st_size)
    os.close(feeder._arrivals)
    assert sizes == [0, 16, 16, 24]
