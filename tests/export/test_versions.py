import pytest

from sonorant.errors import Unavailable
from sonorant.export.versions import next_version


def test_a_version_is_the_next_number(tmp_path):
    for number in (1, 2):
        with next_version(tmp_path / "tiny") as (draft, export):
            (draft / "file").write_text("x")
            assert not export.path.exists()
        assert (export.path, export.version, export.is_new) == (tmp_path / f"tiny/{number}", number, True)
        assert (export.path / "file").read_text() == "x"


def export_twice_at_once(folder):
    with next_version(folder) as (late, _):
        (late / "file").write_text("late")
        with next_version(folder) as (early, _):
            (early / "file").write_text("early")


def test_of_two_exports_at_once_the_first_has_the_number_and_the_other_says_so(tmp_path):
    with pytest.raises(Unavailable, match="tiny/1: another process has written it meanwhile"):
        export_twice_at_once(tmp_path / "tiny")
    assert (tmp_path / "tiny/1/file").read_text() == "early"
    with next_version(tmp_path / "tiny") as (draft, export):
        (draft / "file").write_text("late")
    assert export.version == 2
