import json

import pytest
from rigs.made_up_results import report, system, write_list, write_report

from sonorant.errors import BadRun
from sonorant.results.kept import keep, read_kept
from sonorant.results.systems import read_systems


@pytest.fixture
def row(tmp_path):
    (corpus,) = read_systems(write_list(tmp_path, [system(tmp_path, "small")], a={}))
    return corpus.rows[0]


def test_the_figures_of_a_report_are_kept_without_paths(tmp_path, row):
    assert read_kept(row, tmp_path) is None
    path = keep(row, write_report(tmp_path / "run"), tmp_path)
    kept = read_kept(row, tmp_path)
    made = report()
    assert kept["digest"] == row.digest
    assert kept["audio_hours_per_second"] == 0.0123457
    assert {key: kept[key] for key in ("wer", "errors", "steps", "system")} == {
        key: made[key] for key in ("wer", "errors", "steps", "system")
    }
    assert "/somewhere" not in path.read_text()


def test_a_report_of_an_earlier_version_is_refused(tmp_path, row):
    with pytest.raises(BadRun, match="has no parameters; the run is of an earlier version: train again"):
        keep(row, write_report(tmp_path / "run", parameters=None), tmp_path)
    assert read_kept(row, tmp_path) is None


def test_a_report_that_is_none_is_named(tmp_path, row):
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(BadRun, match=r"report\.json: damaged: .*; run `sonorant report` again"):
        keep(row, tmp_path / "report.json", tmp_path)


@pytest.mark.parametrize("key", ["wer", "errors", "system"])
def test_figures_of_another_shape_are_named(tmp_path, row, key):
    path = keep(row, write_report(tmp_path / "run"), tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: 1}))
    with pytest.raises(BadRun, match=rf"{row.name}\.json: has no {key}; remove it"):
        read_kept(row, tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"digest": "x"})])
def test_a_damaged_report_is_named(tmp_path, row, text):
    (tmp_path / f"{row.name}.json").write_text(text)
    with pytest.raises(BadRun, match=rf"{row.name}\.json: .*; remove it, and run the row again"):
        read_kept(row, tmp_path)
