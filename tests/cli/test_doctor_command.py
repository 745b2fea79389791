import json
import socket

import pytest
from click.testing import CliRunner
from helm_rig import digits_values

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


def test_values_that_the_chart_takes_are_taken(tmp_path, nobody):
    path = tmp_path / "mine.yaml"
    mine = {"resources": {"requests": {"cpu": "3", "example.com/fpga": 1}}, "annotations": {"any.such/key": "1"}}
    each = {"room": mine | {"tolerations": [{"key": "x"}]}, "gain": {"nodeSelector": None}}
    given = digits_values(stages={"each": each}, image={"names": None, "pullSecrets": [{"name": "x"}]})
    path.write_text(json.dumps(given | {"global": {"any": 1}}))
    assert isinstance(run("-f", str(path), KUBECONFIG=kubeconfig(tmp_path, nobody)).exception, Unavailable)
