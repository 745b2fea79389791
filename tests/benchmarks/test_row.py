from dataclasses import asdict

from benchmarks.row import Row


def test_a_row_has_the_ratio_to_its_peer():
    assert Row("vtlp", "12 s", 4000, "audio-h/core-h", "librosa", 500).ratio == 8


def test_a_ratio_that_is_given_stays():
    assert Row("links", "200 KB", 1.5, "GB/s", "gRPC", 0.5, 2.9).ratio == 2.9


def test_a_row_without_a_peer_has_no_ratio():
    assert list(asdict(Row("vtlp", "12 s", 4000, "audio-h/core-h")).values())[4:] == [None, None, None]
