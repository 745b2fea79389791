"""Labels, the canary's share, unloading: with models that are no more than a name and a version."""

import json
import shutil
import weakref
from contextlib import ExitStack

import pytest

from sonorant.errors import SonorantError
from sonorant.serving.errors import UnknownModel
from sonorant.serving.labels import BadLabels
from sonorant.serving.model_choice import ModelChoice, parse_choice
from sonorant.serving.model_store import ModelStore


class Model:
    def __init__(self, folder):
        self.name, self.version = folder.parent.name, int(folder.name)
        if (folder / "broken").exists():
            raise SonorantError(f"{folder}: broken")


class Served:
    """A store of `digits`, what it has loaded, and the hands of its operator."""

    def __init__(self, exports):
        self.folder = exports / "digits"
        self.loads = []
        self.store = ModelStore(exports, self._load)

    def _load(self, folder):
        self.loads.append(folder.name)
        return Model(folder)

    def export(self, *versions, broken=False):
        for version in versions:
            (self.folder / str(version)).mkdir(parents=True)
            if broken:
                (self.folder / str(version) / "broken").touch()

    def label(self, **labels):
        (self.folder / "labels.json").write_text(json.dumps(labels))

    def poll(self):
        return [(change.path.name, change.labels, change.refusal) for change in self.store.refresh()]

    def version(self, text="digits"):
        return self.store.get(parse_choice(text)).version

    def states(self):
        return {state.version: state.state for state in self.store.versions("digits")}

    def streams(self, number):
        """The versions of the next streams that name none."""
        found = []
        for _ in range(number):
            with self.store.session(ModelChoice("digits")) as model:
                found.append(model.version)
        return found


@pytest.fixture
def served(tmp_path):
    return Served(tmp_path)


def test_labelled_versions_are_in_service_beside_each_other_and_stable_is_the_default(served):
    served.export(1, 2, 3, 4)
    served.label(stable=2, canary=3)
    assert served.poll() == [("2", ("stable",), ""), ("3", ("canary",), "")]
    assert sorted(served.loads) == ["2", "3"]
    chosen = ("digits", "", "digits@stable", "digits@canary", "digits@3", "digits/2")
    assert [served.version(text) for text in chosen] == [2, 2, 2, 3, 3, 2]
    assert served.states() == {4: "END", 3: "AVAILABLE", 2: "AVAILABLE", 1: "END"}
    assert served.poll() == []


def test_without_stable_the_default_is_the_newest_beside_what_is_labelled(served):
    served.export(1, 2, 3)
    served.label(old=1)
    served.poll()
    assert (served.version(), served.version("digits@old"), served.loads) == (3, 1, ["1", "3"])


def test_without_stable_the_canary_is_the_default_only_if_there_is_no_other(served):
    served.export(1, 3)
    served.label(canary=3)
    served.poll()
    assert (served.version(), served.version("digits@canary")) == (1, 3)
    shutil.rmtree(served.folder / "1")
    served.poll()
    assert served.version() == 3


@pytest.mark.parametrize("text", ["digits@canary", "digits@2", "digits/9"])
def test_an_unknown_label_or_version_is_not_found_and_told_what_is_there(served, text):
    served.export(1, 2, 3)
    served.label(stable=1, best=3)
    served.poll()
    with pytest.raises(UnknownModel, match=r"is not in service; in service are: 3 \(best\), 1 \(stable\)"):
        served.version(text)


def test_a_label_moves_when_its_version_is_good_and_stays_until_then(served):
    served.export(1)
    served.label(stable=1)
    served.poll()
    served.export(2, broken=True)
    served.label(stable=2)
    (refused, told) = served.poll()
    assert (refused[0], "broken" in refused[2], told[0]) == ("2", True, "labels.json")
    assert "stable=2: version 2 is not available" in told[2]
    assert "the label stays at version 1" in told[2]
    assert (served.poll(), served.version()) == ([], 1)
    (served.folder / "2/broken").unlink()
    assert served.poll() == [("2", ("stable",), "")]
    assert (served.version(), served.states()[1]) == (2, "UNLOADING")


def test_a_label_may_come_before_its_version(served):
    served.export(1)
    served.label(stable=2)
    told = "stable=2: version 2 is not available: not in the folder of the model; no version has the label, "
    told += "requests without a version get the newest good one"
    assert served.poll()[0] == ("labels.json", (), told)
    assert (served.version(), served.poll(), served.store.unmet_labels) == (1, [], {"digits": 1})
    served.export(2)
    served.poll()
    assert (served.version("digits@stable"), served.store.unmet_labels) == (2, {"digits": 0})


def test_labels_that_stay_behind_are_unmet_and_so_are_those_without_a_version(served):
    served.export(1, 2)
    served.label(stable=1, canary=2)
    served.poll()
    served.label(stable=8, canary=2, other=9)
    told = [reason for _, _, reason in served.poll() if reason]
    assert ["stays at version 1" in told[0], told[1].endswith("no version has the label")] == [True, True]
    assert served.store.unmet_labels == {"digits": 2}


def test_a_removed_stable_version_gives_way_to_the_newest_good_one(served):
    served.export(1, 2, 3)
    served.label(stable=3)
    served.poll()
    shutil.rmtree(served.folder / "3")
    served.poll()
    assert served.version() == 2
    with pytest.raises(UnknownModel, match="label 'stable' is not in service"):
        served.version("digits@stable")


def test_a_malformed_file_of_labels_changes_nothing(served):
    served.export(1, 2)
    served.label(stable=1)
    served.poll()
    served.label(stable=2, canary=1, canary_share=2)
    ((file, _, refusal),) = served.poll()
    assert (file, "canary_share=2" in refusal, served.version()) == ("labels.json", True, 1)


def test_the_canary_takes_its_share_of_the_streams_that_name_no_version(served):
    served.export(1, 2)
    served.label(stable=1, canary=2, canary_share=0.25)
    served.poll()
    assert served.streams(8) == [1, 1, 1, 2] * 2
    with ExitStack() as streams:
        named = [streams.enter_context(served.store.session(ModelChoice("digits", label="stable"))) for _ in range(8)]
        assert {model.version for model in named} == {1}
        (first,) = {streams.enter_context(served.store.session(ModelChoice("digits"))) for _ in range(1)}
        beside = [streams.enter_context(served.store.session(beside=first)) for _ in range(8)]
        assert {model.version for model in beside} == {first.version}
    assert served.streams(3) == [1, 1, 2]  # streams that named a version do not count
    assert served.version() == 1  # nor what is no stream
    shutil.rmtree(served.folder / "2")
    served.poll()
    assert served.streams(8) == [1] * 8


def test_a_version_out_of_service_is_freed_when_its_last_session_ends(served):
    served.export(1)
    served.poll()
    first = weakref.ref(served.store.get())
    with served.store.session() as model:
        served.export(2)
        served.poll()
        assert (served.store.unload(), served.states()) == ([], {2: "AVAILABLE", 1: "UNLOADING"})
        assert model is first()
        with pytest.raises(UnknownModel, match="version 1 is not in service; in service are: 2"):
            served.version("digits@1")
    del model
    assert served.store.unload() == [served.folder / "1"]
    assert (first(), served.states()) == (None, {2: "AVAILABLE", 1: "END"})


def test_a_label_for_a_version_that_is_being_unloaded_keeps_it_without_another_load(served):
    served.export(1, 2)
    served.label(stable=1)
    served.poll()
    with served.store.session() as model:
        served.label(stable=2)
        served.poll()
        assert served.states()[1] == "UNLOADING"
        served.label(stable=2, old=1)
        served.poll()
        assert served.store.get(parse_choice("digits@old")) is model
    assert (served.store.unload(), served.loads) == ([], ["1", "2"])


def test_a_version_written_anew_while_the_old_one_drains_is_loaded(served):
    served.export(1, 2)
    served.poll()
    with served.store.session() as old:
        shutil.rmtree(served.folder / "2")
        served.poll()
        served.export(2)
        (served.folder / "2/other").touch()
        served.poll()
        assert (served.version(), served.store.get() is old) == (2, False)
        with served.store.session(beside=old) as same:
            assert same is old
        assert served.store.unload() == [served.folder / "1"]
    assert served.store.unload() == [served.folder / "2"]
    assert served.states() == {2: "AVAILABLE", 1: "END"}


def test_held_labels_take_the_place_of_the_files_until_none_are_held(served):
    served.export(1, 2, 3)
    served.label(stable=1, canary=2, canary_share=0.5)
    served.poll()
    served.store.hold({"digits": {"stable": 2, "canary": 3}})
    served.poll()
    assert (served.version(), served.version("digits@canary"), served.streams(2)) == (2, 3, [2, 3])
    served.store.hold({"digits": {"stable": 2}})
    assert (served.version(), served.streams(2)) == (2, [2, 2])
    served.store.hold({"digits": {}})
    assert (served.version(), served.version("digits@canary")) == (1, 2)


@pytest.mark.parametrize(
    ("labels", "error", "reason"),
    [
        ({"stable": 2, "canary": 3}, BadLabels, "label 'canary': version 3 is not available: .*broken"),
        ({"stable": 9}, BadLabels, "label 'stable': version 9 is not available: not in the folder"),
        ({"canary_share": 1}, BadLabels, "canary_share"),
        ({"stable": -1}, BadLabels, "stable=-1"),
    ],
)
def test_held_labels_that_cannot_all_be_assigned_change_none(served, labels, error, reason):
    served.export(1, 2)
    served.export(3, broken=True)
    served.label(stable=1)
    served.poll()
    with pytest.raises(error, match=reason):
        served.store.hold({"digits": labels})
    with pytest.raises(UnknownModel, match="'other': not served; served are: digits"):
        served.store.hold({"digits": {"stable": 2}, "other": {}})
    served.poll()
    assert served.version() == 1
    served.store.unload()
    assert served.states()[2] == "END"


def test_a_version_is_loading_while_it_is_loaded(tmp_path):
    seen = []
    served = Served(tmp_path)
    served.export(1)
    served.poll()
    served.store._models["digits"]._load = lambda folder: seen.append(served.states()) or Model(folder)
    served.export(2)
    served.poll()
    assert seen == [{2: "LOADING", 1: "AVAILABLE"}]
