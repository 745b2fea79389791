from pathlib import Path

import click
import pytest

from sonorant.cli.settings import data_folder_or_here, find_data_folder, host_port, read_overrides
from sonorant.errors import BadCorpus


def test_flags_come_after_the_environment() -> None:
    environment = {"SONORANT_TRAINING__RANKS": "2", "SONORANT__SEED": "5", "SONORANT_CORPUS__STRINGS__TRAIN": "9"}
    overrides = read_overrides(environment, ["training.ranks=3", "name=a=b"])
    assert [(o.key, o.value) for o in overrides] == [
        ("corpus.strings.train", "9"),
        ("training.ranks", "2"),
        ("seed", "5"),
        ("training.ranks", "3"),
        ("name", "a=b"),
    ]
    assert overrides[1].origin == "SONORANT_TRAINING__RANKS"
    assert overrides[3].origin == "--set training.ranks"


def test_names_without_double_underscore_are_not_the_recipes() -> None:
    assert read_overrides({"SONORANT_DATA": "/d", "SONORANT_REDIS_SERVICE_HOST": "10.0.0.1", "PATH": "x__y"}, []) == []


def test_keys_of_no_section_need_no_double_underscore() -> None:
    overrides = read_overrides({"SONORANT_SEED": "5", "SONORANT_NAME": "mine"}, [])
    assert [(one.key, one.value) for one in overrides] == [("name", "mine"), ("seed", "5")]


@pytest.mark.parametrize("assignment", ["training.ranks", "=3", ""])
def test_assignment_without_key_or_value_is_refused(assignment: str) -> None:
    with pytest.raises(click.BadParameter, match="expected KEY=VALUE"):
        read_overrides({}, [assignment])


def test_data_folder_is_the_flag_then_the_environment_then_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("flag", "variable", "shared/data", "project"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("SONORANT_DATA", str(tmp_path / "variable"))
    assert find_data_folder(tmp_path / "flag") == tmp_path / "flag"
    assert find_data_folder(None) == tmp_path / "variable"
    monkeypatch.delenv("SONORANT_DATA")
    assert find_data_folder(None).resolve() == tmp_path / "shared/data"
    with pytest.raises(BadCorpus, match="nowhere: no such folder"):
        find_data_folder(Path("nowhere"))


@pytest.mark.parametrize(("pod", "advice"), [(False, "--data or SONORANT_DATA$"), (True, ", or .* with data.claim$")])
def test_a_volume_s_claim_is_advised_within_a_pod_alone(
    pod: bool, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    if pod:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(BadCorpus, match=advice):
        find_data_folder(Path("nowhere"))


def test_without_a_data_folder_this_one_is_taken_unless_another_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SONORANT_DATA", raising=False)
    assert data_folder_or_here(None) == Path()
    with pytest.raises(BadCorpus, match="nowhere: no such folder"):
        data_folder_or_here(Path("nowhere"))


def checked(address):
    return host_port("localhost:50051")(click.Context(click.Command("any")), click.Option(["--server"]), address)


@pytest.mark.parametrize(
    "address", ["localhost:50051", "10.0.0.1:1", "[::1]:7100", "dns:///words-recognizer.ns:50051", None]
)
def test_an_address_with_a_port_or_none_is_taken_as_it_is(address):
    assert checked(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "localhost",
        "localhost:",
        ":50051",
        "localhost:grpc",
        "::1",
        "[::1]",
        "",
        "http://localhost:50051",
        "https://h:443",
    ],
)
def test_an_address_without_host_or_port_is_refused_with_an_example(address):
    with pytest.raises(click.BadParameter) as refusal:
        checked(address)
    assert refusal.value.message == f"found {address!r}, expected HOST:PORT, such as localhost:50051"
