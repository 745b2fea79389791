import json
import socket

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity
from rigs.helm import CHART, digits_values

from services.doctor.values import misshapen
from sonorant.cli.doctor import command
from sonorant.errors import BadRecipe, Unavailable


def run(*arguments, **environment):
    return CliRunner(env=environment).invoke(command, arguments, catch_exceptions=True)


@pytest.fixture
def nobody():
    """A port where nobody answers."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def kubeconfig(folder, port):
    path = folder / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "there", "user": "me"}}],
                "clusters": [{"name": "there", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "me", "user": {}}],
            }
        )
    )
    return str(path)


def test_without_a_kubeconfig_it_says_what_to_set(tmp_path):
    error = run(KUBECONFIG=str(tmp_path / "none")).exception
    assert isinstance(error, Unavailable)
    assert "set KUBECONFIG" in str(error)
    assert ".;" not in str(error)
    assert error.exit_code == 69


def test_an_api_server_that_does_not_answer_is_named(tmp_path, nobody):
    error = run(KUBECONFIG=kubeconfig(tmp_path, nobody)).exception
    assert isinstance(error, Unavailable)
    assert f"127.0.0.1:{nobody}: the API server does not answer" in str(error)


@pytest.mark.parametrize("text", ["recipe: [", "- a list", ""])
def test_a_file_of_values_that_is_none_is_named(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    error = run("-f", str(path)).exception
    assert isinstance(error, BadRecipe)
    assert "mine.yaml" in str(error)


@pytest.mark.parametrize(("has", "lacks"), [([], "values.schema.json"), (["values.schema.json"], "values.yaml")])
def test_a_folder_that_is_no_chart_is_named(tmp_path, has, lacks):
    for name in has:
        (tmp_path / name).write_text("{}")
    error = run("--chart", str(tmp_path)).exception
    assert isinstance(error, BadRecipe)
    assert str(error) == f"{tmp_path}: is no sonorant chart (no {lacks}); give the folder of one, as charts/sonorant"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"trainr": {"ranks": 2}}, "trainr: unknown key; did you mean trainer?"),
        ({"trainer": {"rank": 2}}, "trainer.rank: unknown key; did you mean ranks?"),
        ({"stages": {"each": {"room": {"cpu": 2}}}}, "stages.each.room.cpu: unknown key; known here: resources, nodeS"),
        ({"trainer": None}, "trainer: found null, expected keys and values"),
        ({"storage": {"runs": None}}, "storage.runs: found null, expected keys and values"),
        ({"autoscaling": {"each": {"room": 3}}}, "autoscaling.each.room: found 3, expected keys and values"),
        ([], "must hold keys and values"),
    ],
)
def test_values_with_a_typo_are_named_before_a_cluster_is_asked(tmp_path, values, says):
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(values))
    error = run("-f", str(path), KUBECONFIG=str(tmp_path / "none")).exception
    assert isinstance(error, BadRecipe)
    assert f"{path}: {says}" in str(error)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"autoscaling": {"mode": "keda"}}, 'autoscaling.mode: found "keda", expected one of planner, hpa, none'),
        (
            {"stages": {"resources": {"requests": {"cpu": "lots"}}}},
            'stages.resources.requests.cpu: found "lots", expected a number or text, at least 0 such as 500m',
        ),
        (
            {"trainer": {"resources": {"requests": {"memory": "2 GB"}}}},
            'trainer.resources.requests.memory: found "2 GB", expected a number, at least 0 or text such as 512Mi',
        ),
        ({"recognizer": {"replicas": -1}}, "recognizer.replicas: found -1, expected a whole number, at least 0"),
        ({"autoscaling": {"replicas": -1}}, "autoscaling.replicas: found -1, expected a whole number, at least 1"),
        (
            {"trainer": {"ranks": "two"}},
            'trainer.ranks: found "two", expected a whole number, at least 1, at most 4096',
        ),
        ({"autoscaling": {"utilisation": "most"}}, 'autoscaling.utilisation: found "most", expected a number'),
        ({"storage": {"runs": {"accessModes": ["A"]}}}, 'storage.runs.accessModes[0]: found "A", expected one of'),
        ({"data": {"claim": "Mine"}}, 'data.claim: found "Mine", expected text'),
        (
            {"pods": {"labels": {"app.kubernetes.io/name": "x"}}},
            'pods.labels: found "app.kubernetes.io/name", expected another key',
        ),
    ],
)
def test_a_wrong_value_is_one_line_with_file_key_found_and_expected(tmp_path, values, says):
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(values))
    error = run("-f", str(path), KUBECONFIG=str(tmp_path / "none")).exception
    assert isinstance(error, BadRecipe)
    assert str(error).startswith(f"{path}: {says}")
    assert "\n" not in str(error)
    assert error.exit_code == 78


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"trainer: {gpus: .nan}", "trainer.gpus: found"),
        (b"stages: {resources: {requests: {cpu: .inf}}}", "stages.resources.requests.cpu: found inf"),
        (b"image: {tag: 2026-01-01}", 'image.tag: found "2026-01-01", expected text'),
        (b"image: {tag: \xff}", "not YAML"),
        (b"trainer: &a {affinity: *a}", "a value holds itself"),
        (b"recipe: &a {version: 1, name: *a}", "a value holds itself"),
        (b"2026-01-01: 2", "2026-01-01: unknown key"),
        (b"trainer: {ranks: 1, ranks: 2}", "not YAML"),
        (b"1: 2", "1: unknown key"),
        (b"storage: {runs: {size: 1e1000000000000000000}}", "storage.runs.size: found"),
    ],
)
def test_what_yaml_has_beside_json_is_no_traceback(tmp_path, text, says):
    path = tmp_path / "mine.yaml"
    path.write_bytes(text)
    error = run("-f", str(path), KUBECONFIG=str(tmp_path / "none")).exception
    assert isinstance(error, BadRecipe)
    assert f"{path}: {says}" in str(error)


@pytest.mark.parametrize("name", ["Words", "words-", "words..v2", "w" * 54])
def test_a_release_name_that_helm_gives_to_none_is_refused(tmp_path, name):
    error = run("--release", name, KUBECONFIG=str(tmp_path / "none")).exception
    assert isinstance(error, BadRecipe)
    assert str(error).startswith(f"--release {name}: ")


@pytest.mark.parametrize("name", ["words", "words.v2", "2words"])
def test_a_release_name_that_the_chart_makes_names_of_is_taken(tmp_path, name):
    assert isinstance(run("--release", name, KUBECONFIG=str(tmp_path / "none")).exception, Unavailable)


def test_null_takes_a_limit_away_as_helm_has_it(tmp_path, nobody):
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(digits_values(stages={"resources": {"limits": {"memory": None}}})))
    assert isinstance(run("-f", str(path), KUBECONFIG=kubeconfig(tmp_path, nobody)).exception, Unavailable)


_SCHEMA = json.loads((CHART / "values.schema.json").read_text())
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
_SECTIONS = st.sampled_from(sorted(_SCHEMA["properties"]))


@settings(max_examples=50)
@given(st.dictionaries(_SECTIONS, _JSON | st.dictionaries(st.sampled_from(["each", "resources", "replicas"]), _JSON)))
def test_whatever_is_given_every_fault_is_one_line(values):
    assert all("\n" not in fault for fault in misshapen(values, _SCHEMA))


@settings(max_examples=50)
@given(st.from_regex(_SCHEMA["$defs"]["_Claim"]["properties"]["size"]["pattern"], fullmatch=True))
def test_each_quantity_is_one_that_can_be_counted_or_a_fault(text):
    faults = misshapen({"storage": {"runs": {"size": text}}}, _SCHEMA)
    if not faults:
        assert 0 <= parse_quantity(text) < 2**63
    else:
        assert faults == [f'storage.runs.size: found "{text}", expected a quantity below 2^63']


def test_values_that_the_chart_takes_are_taken(tmp_path, nobody):
    path = tmp_path / "mine.yaml"
    mine = {"resources": {"requests": {"cpu": "3", "example.com/fpga": 1}}, "annotations": {"any.such/key": "1"}}
    each = {"room": mine | {"tolerations": [{"key": "x"}]}, "gain": {"nodeSelector": None}}
    given = digits_values(stages={"each": each}, image={"names": None, "pullSecrets": [{"name": "x"}]})
    path.write_text(json.dumps(given | {"global": {"any": 1}}))
    assert isinstance(run("-f", str(path), KUBECONFIG=kubeconfig(tmp_path, nobody)).exception, Unavailable)
