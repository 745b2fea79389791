"""Shards are plain TFRecord files of tf.train.Example: TensorFlow's own reader is the reference."""

import subprocess
import sys
from pathlib import Path

import pytest
from rigs.small_corpus import record

from sonorant.corpus.shards import ShardSet, shard_name, write_shard


def test_tensorflow_reads_shards_and_accepts_their_crcs(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    path = tmp_path / shard_name("train", 0, 1)
    write_shard(path, [record(i, "flac") for i in range(4)])
    examples = [tf.train.Example.FromString(item.numpy()) for item in tf.data.TFRecordDataset(str(path))]
    assert [e.features.feature["utterance"].bytes_list.value[0] for e in examples] == [b"u0", b"u1", b"u2", b"u3"]
    feature = examples[2].features.feature
    assert feature["audio"].bytes_list.value[0] == record(2, "flac").audio
    assert list(feature["words/start_sample"].int64_list.value) == [80, 421]


def test_what_tensorflow_writes_is_read(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    path = tmp_path / shard_name("train", 0, 1)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(3):
            writer.write(tf.train.Example.FromString(record(i).to_bytes()).SerializeToString())
    shards = ShardSet.open(tmp_path, "train")
    assert [shards.read(0, i) for i in range(3)] == [record(i) for i in range(3)]


def test_reading_shards_imports_no_tensorflow() -> None:
    code = "import sys, sonorant.corpus.shards; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
