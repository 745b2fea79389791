import numpy as np
import pytest

from benchmarks import pipeline
from benchmarks.rigs import toolkits
from benchmarks.rigs.corpus import write_corpus
from sonorant.corpus.shards import ShardSet


def test_the_corpus_compresses_about_as_speech_does(tmp_path):
    write_corpus(tmp_path, 10, 1.0, 16000)
    shards = ShardSet.open(tmp_path, "train")
    assert shards.total == 10
    record = shards.read(0, 9)
    assert 0.3 < len(record.audio) / (2 * 16000) < 0.8  # of 16-bit samples
    assert np.abs(record.waveform()).max() < 1


@pytest.mark.parametrize(("layout", "stages"), [("fused", ["example_server"]), ("split", ["shard_reader", "vtlp"])])
def test_a_layout_has_a_row_of_everything(layout, stages, monkeypatch):
    monkeypatch.setattr(toolkits, "INSTALLED", False)  # their loops take long to compile
    monkeypatch.setattr(pipeline, "_TURN_S", 0.05)
    rows = {row.name: row for row in pipeline.layout_rows(layout, 0.5, 8000)}
    assert {"pipeline", "bytes", "overhead", *stages, *(f"{stage} queue" for stage in stages)} <= rows.keys()
    assert rows["pipeline"].ratio > 0
    samples_kb = 0.5 * 8000 * 4 / 1e3
    assert rows["bytes"].value < samples_kb if layout == "fused" else rows["bytes"].value > 3 * samples_kb


def test_overhead_is_what_a_stage_costs_beside_its_kernels_in_the_quietest_pair():
    busy = {"reader": 1.0, "room": 5.0}, {"reader": 4.0, "room": 9.0}
    quiet = {"reader": 1.0, "room": 3.0}, {"reader": 2.0, "room": 4.0}
    assert pipeline.overhead_s([busy, quiet]) == 1.0
