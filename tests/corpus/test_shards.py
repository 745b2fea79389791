import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rigs.small_corpus import record

from sonorant.corpus.index import index_path, load_index, scan_shard
from sonorant.corpus.record import Record, decode_audio, encode_audio
from sonorant.corpus.shards import ShardSet, not_here, shard_name, write_shard
from sonorant.delivery.example import Lineage
from sonorant.errors import BadShard, Unavailable
from sonorant.v1 import record_pb2


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / shard_name("train", 0, 1)
    write_shard(path, [record(i) for i in range(6)])
    return path


def test_records_come_back_equal_in_any_order(shard: Path) -> None:
    shards = ShardSet.open(shard.parent, "train")
    assert shards.counts == (6,)
    for i in (5, 0, 3, 3):
        assert shards.read(0, i) == record(i)


def test_ordinals_number_the_records_of_all_shards(tmp_path: Path) -> None:
    for number, count in enumerate((2, 0, 3)):
        write_shard(tmp_path / shard_name("dev", number, 3), [record(i) for i in range(count)])
    shards = ShardSet.open(tmp_path, "dev")
    assert shards.counts == (2, 0, 3)
    assert len(shards) == shards.total == 5
    assert [shards.locate(i) for i in range(5)] == [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]
    with pytest.raises(IndexError, match="ordinal 5 of 5"):
        shards.locate(5)


@pytest.mark.parametrize("encoding", ["flac", "pcm16"])
def test_sixteen_bit_samples_survive_either_payload(encoding: str) -> None:
    rng = np.random.default_rng(0)
    waveform = (rng.integers(-32768, 32768, 4000) / 32768).astype(np.float32)
    np.testing.assert_array_equal(decode_audio(encode_audio(waveform, 8000, encoding), encoding), waveform)


def test_samples_outside_the_range_are_clipped() -> None:
    waveform = np.array([1.5, -1.5, 1.0, 0.25], np.float32)
    top = 32767 / 32768
    np.testing.assert_array_equal(decode_audio(encode_audio(waveform, 8000, "pcm16"), "pcm16"), [top, -1, top, 0.25])


def test_an_example_carries_waveform_and_lineage() -> None:
    example = record(2, "flac").example(Lineage(1, 2, 3))
    assert example.lineage == (1, 2, 3)
    assert example.waveform is not None
    assert example.waveform.dtype == np.float32
    assert example.waveform.shape == (round(example.duration_s * 8000),)


def test_flipped_byte_costs_its_record_only(shard: Path) -> None:
    index = load_index(shard)
    _flip(shard, int(index.offsets[2]) + 40)
    shards = ShardSet.open(shard.parent, "train")
    with pytest.raises(BadShard, match=r"train-00000-of-00001.tfrecord: record 2 is damaged: the CRC of its data"):
        shards.read(0, 2)
    assert [shards.read(0, i) for i in (0, 1, 3, 4, 5)] == [record(i) for i in (0, 1, 3, 4, 5)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(where=st.integers(0, 10**9), bit=st.integers(0, 7))
def test_flipped_bit_anywhere_costs_one_record_even_without_an_index(tmp_path: Path, where: int, bit: int) -> None:
    path = tmp_path / shard_name("train", 0, 1)
    write_shard(path, [record(i) for i in range(6)])
    index_path(path).unlink()
    _flip(path, where % path.stat().st_size, bit)
    shards = ShardSet.open(tmp_path, "train")
    assert shards.counts == (6,)
    damaged = 0
    for i in range(6):
        try:
            assert shards.read(0, i) == record(i)
        except BadShard as error:
            assert f"record {i}" in str(error)  # noqa: PT017
            damaged += 1
    assert damaged == 1


@pytest.mark.parametrize("spoil", ["missing", "garbage", "flipped", "of another shard"])
def test_index_that_cannot_be_trusted_is_rebuilt(shard: Path, spoil: str) -> None:
    good = index_path(shard).read_bytes()
    if spoil == "missing":
        index_path(shard).unlink()
    elif spoil == "garbage":
        index_path(shard).write_bytes(b"index")
    elif spoil == "flipped":
        _flip(index_path(shard), 30)
    else:
        other = shard.with_name(shard_name("dev", 0, 1))
        write_shard(other, [record(7)])
        index_path(shard).write_bytes(index_path(other).read_bytes())
    assert ShardSet.open(shard.parent, "train").read(0, 4) == record(4)
    assert index_path(shard).read_bytes() == good


def test_shard_that_is_cut_short_gives_what_is_left(shard: Path) -> None:
    os.truncate(shard, shard.stat().st_size - 5)
    shards = ShardSet.open(shard.parent, "train")
    assert [shards.read(0, i) for i in range(5)] == [record(i) for i in range(5)]
    with pytest.raises(BadShard, match="record 5 is damaged"):
        shards.read(0, 5)


def test_scanning_finds_what_was_written(shard: Path) -> None:
    written, scanned = load_index(shard), scan_shard(shard)
    np.testing.assert_array_equal(written.offsets, scanned.offsets)
    np.testing.assert_array_equal(written.lengths, scanned.lengths)


def test_scanning_looks_for_the_next_record_as_far_as_it_may_be(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonorant.corpus.index._SEARCH_BYTES", 100)
    written = load_index(shard)
    assert written.lengths[2] > 1000
    _flip(shard, int(written.offsets[2]))
    np.testing.assert_array_equal(scan_shard(shard).offsets, written.offsets)


def test_missing_shards_are_named_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(BadShard, match="no shards of split 'train'; run `sonorant prepare` first"):
        ShardSet.open(tmp_path, "train")
    (tmp_path / "card.json").touch()
    with pytest.raises(BadShard, match=r"no shards of split 'test'; see corpus\.splits, and .* evaluation\.sets"):
        ShardSet.open(tmp_path, "test")
    write_shard(tmp_path / shard_name("train", 1, 2), [record(0)])
    with pytest.raises(Unavailable, match=r"train-00000-of-00002.tfrecord: not there, .* incomplete; is the folder mo"):
        ShardSet.open(tmp_path, "train")


def test_a_shard_that_is_away_is_the_machines_trouble_and_no_record_is_damaged(tmp_path: Path, shard: Path) -> None:
    away = tmp_path / "away"
    shards = ShardSet.open(shard.parent, "train")
    shard.rename(away)
    for open_or_read in (lambda: shards.read(0, 0), lambda: ShardSet.open(shard.parent, "train", not_here).read(0, 0)):
        with pytest.raises(Unavailable, match=r"train-00000-of-00001.tfrecord: .*"):
            open_or_read()
    shard.symlink_to("/proc/self/mem")  # can be opened, and answers EIO
    with pytest.raises(Unavailable, match="record 0 cannot be read: Input/output error"):
        shards.read(0, 0)
    shard.unlink()
    away.rename(shard)
    assert list(shards) == list(ShardSet.open(shard.parent, "train"))


def test_foreign_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadShard, match="is no utterance"):
        Record.from_bytes(b"")


@pytest.mark.parametrize("spoil", ["a word that is not UTF-8", "a word without an end"])
def test_a_record_whose_words_do_not_fit_is_refused(spoil: str) -> None:
    message = record_pb2.Record()
    message.ParseFromString(record(0).to_bytes())
    feature = message.features.feature
    feature["words/text"].bytes_list.value.append(b"\xff" if spoil == "a word that is not UTF-8" else b"one")
    feature["words/start_sample"].int64_list.value.append(0)
    if spoil == "a word that is not UTF-8":
        feature["words/end_sample"].int64_list.value.append(100)
    with pytest.raises(BadShard, match="is no utterance"):
        Record.from_bytes(message.SerializeToString())


def _flip(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(bytes(content))
