import numpy as np

from benchmarks.rigs.pipeline import write_corpus
from sonorant.corpus.shards import ShardSet


def test_the_corpus_compresses_about_as_speech_does(tmp_path):
    write_corpus(tmp_path, 10, 1.0, 16000)
    shards = ShardSet.open(tmp_path, "train")
    assert shards.total == 10
    record = shards.read(0, 9)
    assert 0.3 < len(record.audio) / (2 * 16000) < 0.8  # of 16-bit samples
    assert np.abs(record.waveform()).max() < 1
