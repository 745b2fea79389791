import os
import shutil

import pytest
from rigs.babble import export_babble

from sonorant.export.loading import load_exported
from sonorant.serving.errors import UnknownModel
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.model_store import ModelStore


@pytest.fixture
def exports(tmp_path):
    export_babble(tmp_path)
    return tmp_path


@pytest.fixture
def store(exports):
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store


def corrupt(path):
    with open(path, "r+b") as file:
        file.seek(10)
        file.write(b"\xff\x00")


def test_the_newest_version_is_served(exports):
    export_babble(exports, seed=2)
    store = ModelStore(exports, load_exported)
    assert [change.path.name for change in store.refresh()] == ["2"]
    assert store.get().version == 2


@pytest.mark.parametrize("name", ["20261127114300123456", "9223372036854775808", "٢", "²"])
def test_a_folder_whose_name_is_no_version_of_the_protocols_is_none(exports, name):
    shutil.copytree(exports / "babble" / "1", exports / "babble" / name)
    store = ModelStore(exports, load_exported)
    assert [change.path.name for change in store.refresh()] == ["1"]


def test_the_largest_version_is_served(exports):
    shutil.copytree(exports / "babble" / "1", exports / "babble" / str(2**63 - 1))
    store = ModelStore(exports, load_exported)
    store.refresh()
    assert store.get().version == 2**63 - 1


def test_a_new_version_is_taken_up_and_nothing_is_loaded_twice(store, exports):
    assert store.refresh() == []
    first = store.get()
    export_babble(exports, seed=2)
    assert [change.path.name for change in store.refresh()] == ["2"]
    assert (first.version, store.get().version) == (1, 2)


def test_a_corrupt_version_is_refused_with_its_reason_and_the_one_before_stays(store, exports):
    broken = export_babble(exports, seed=2).path
    corrupt(broken / "saved_model.pb")
    (change,) = store.refresh()
    assert change.path == broken
    assert "saved_model.pb: SHA-256" in change.refusal
    assert store.get().version == 1
    assert store.refresh() == []


def test_a_corrupt_newest_version_at_the_start_gives_way_to_an_older_one(exports):
    corrupt(export_babble(exports, seed=2).path / "saved_model.pb")
    store = ModelStore(exports, load_exported)
    assert [bool(change.refusal) for change in store.refresh()] == [True, False]
    assert store.get().version == 1


def test_a_refused_version_is_tried_again_when_it_was_written_anew(store, exports):
    units = export_babble(exports, seed=2).path / "units.json"
    whole = units.read_bytes()
    units.write_bytes(b"?")
    store.refresh()
    units.write_bytes(whole)
    earlier = units.stat().st_mtime_ns - 10**9  # by a clock that lags
    os.utime(units, ns=(earlier, earlier))
    assert [change.refusal for change in store.refresh()] == [""]
    assert store.get().version == 2


def test_half_written_versions_and_other_files_are_not_looked_at(store, exports):
    (exports / "babble/.2.draft").mkdir()
    (exports / "babble/notes").mkdir()
    (exports / "README").write_text("?")
    assert store.refresh() == []


def test_an_unknown_model_is_refused_with_the_names_of_those_served(store):
    with pytest.raises(UnknownModel, match="'bubble': not served; served are: babble"):
        store.get(ModelChoice("bubble"))


def test_an_empty_name_means_the_only_model(store, exports):
    assert store.get(ModelChoice("")) is store.get(ModelChoice("babble"))
    export_babble(exports, name="murmur")
    store.refresh()
    with pytest.raises(UnknownModel, match="served are: babble, murmur"):
        store.get(ModelChoice(""))


def test_no_folder_is_no_models(tmp_path):
    store = ModelStore(tmp_path / "none", load_exported)
    assert store.refresh() == []
    with pytest.raises(UnknownModel, match="served are: none"):
        store.get()


@pytest.fixture
def loaded(exports):
    """A store, and the folders that it has loaded or tried to."""
    tried = []
    store = ModelStore(exports, lambda folder: tried.append(folder.name) or load_exported(folder))
    store.refresh()
    return store, tried


def test_a_copy_of_an_older_version_is_the_version_that_its_folder_says_and_is_loaded_once(loaded, exports):
    store, tried = loaded
    shutil.copytree(exports / "babble/1", exports / "babble/8")
    for _ in range(3):
        store.refresh()
    assert (store.get().name, store.get().version, tried) == ("babble", 8, ["1", "8"])
    export_babble(exports, seed=2)
    store.refresh()
    assert (store.get().version, tried) == (9, ["1", "8", "9"])


def test_a_copy_under_another_name_has_that_name(store, exports):
    shutil.copytree(exports / "babble", exports / "murmur")
    store.refresh()
    assert (store.get(ModelChoice("murmur")).name, store.get(ModelChoice("murmur")).version) == ("murmur", 1)


def test_a_link_to_a_version_is_the_version_that_the_link_says(store, exports):
    (exports / "babble/5").symlink_to(exports / "babble/1")
    store.refresh()
    assert store.get().version == 5


def test_a_removed_version_gives_way_to_the_newest_good_one_left(loaded, exports):
    store, tried = loaded
    corrupt(export_babble(exports, seed=2).path / "saved_model.pb")
    last = export_babble(exports, seed=3).path
    store.refresh()
    assert store.get().version == 3
    assert store.unload() == [exports / "babble/1"]
    shutil.rmtree(last)
    assert [bool(change.refusal) for change in store.refresh()] == [True, False]
    assert (store.get().version, tried) == (1, ["1", "3", "2", "1"])
    assert store.refresh() == []


def test_without_any_version_left_the_last_one_stays_in_service(store, exports):
    shutil.rmtree(exports / "babble")
    assert store.refresh() == []
    assert store.get().version == 1


def test_a_version_is_loaded_when_it_is_whole_and_tried_once_in_each_state_before(loaded, exports):
    store, tried = loaded
    whole, half = exports / "babble/1", exports / "babble/2"
    half.mkdir()
    for path in sorted(whole.iterdir(), key=lambda path: path.name != "manifest.json"):  # it may come first
        store.refresh()
        store.refresh()
        assert store.get().version == 1
        (shutil.copytree if path.is_dir() else shutil.copy)(path, half / path.name)
    assert [change.refusal for change in store.refresh()] == [""]
    assert store.get().version == 2
    assert len(tried) == 2 + len(list(whole.iterdir()))
