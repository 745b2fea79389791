import pytest

from sonorant.training.checkpoint_files import BadCheckpoint, Progress, decode, progress_of


def test_progress_of_before_dev_had_other_figures_is_read():
    then = {"progress": {"step": 8, "wer": 0.3, "wer_step": 6, "best_wer": 0.2}}
    found = Progress(**progress_of(then))
    assert (found.step, found.dev, found.dev_step, found.best_dev) == (8, 0.3, 6, 0.2)
    assert progress_of({}) == {}


@pytest.mark.parametrize("manifest", ["", "{", "[]", "3", "[1]"])
def test_a_manifest_that_is_none_is_a_damaged_checkpoint(tmp_path, manifest):
    for name in ("arrays.npz", "state.json", "ledger.bin"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(BadCheckpoint, match=r"incomplete|checksum"):
        decode(tmp_path)
