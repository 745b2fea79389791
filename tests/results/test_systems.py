import json
from pathlib import Path

import pytest
from rigs.made_up_results import system, write_list

from sonorant.errors import BadRecipe, BadRun
from sonorant.recipe.document import Override
from sonorant.recipe.loading import load_recipe
from sonorant.results.systems import read_systems

ROOT = Path(__file__).parents[2]


def rows_of(folder, *systems, **recipes):
    (corpus,) = read_systems(write_list(folder, list(systems), **(recipes or {"a": {"name": "a"}})))
    return {row.name: row for row in corpus.rows}


def test_a_row_stands_for_each_seed_of_each_system(tmp_path):
    found = rows_of(tmp_path, system(tmp_path, "small", seeds=[3, 1]), system(tmp_path, "large", set=["model.cells=9"]))
    assert list(found) == ["tones-small-3", "tones-small-1", "tones-large-1"]
    assert found["tones-large-1"].assignments(Path("runs")) == ("seed=1", "model.cells=9")


def test_a_run_folder_is_of_one_recipe_and_its_settings(tmp_path):
    folders = set()
    for cells, setting, comment in ((1, "a=1", ""), (2, "a=1", ""), (2, "a=2", ""), (2, "a=2", "# a comment\n")):
        row = rows_of(tmp_path, system(tmp_path, "s", set=[setting]), a={"cells": cells})["tones-s-1"]
        (tmp_path / "a.yaml").write_text(comment + (tmp_path / "a.yaml").read_text())
        assert read_systems(tmp_path / "systems.yaml")[0].rows == (row,)
        folders.add(row.run_folder(Path("runs")))
    assert len(folders) == 3


def test_a_row_may_go_on_from_another_of_its_seed(tmp_path):
    more = system(tmp_path, "more", recipe="b", seeds=[1, 2], set=["training.init_from={small}"])
    before = rows_of(tmp_path, system(tmp_path, "small", seeds=[1, 2]), more, a={"cells": 1}, b={})
    after = rows_of(tmp_path, system(tmp_path, "small", seeds=[1, 2]), more, a={"cells": 2}, b={})
    folder = before["tones-small-2"].run_folder(Path("runs"))
    assert before["tones-more-2"].assignments(Path("runs")) == ("seed=2", f"training.init_from={folder}")
    assert before["tones-more-2"].digest != after["tones-more-2"].digest


def test_a_row_may_refer_to_another_of_another_seed(tmp_path):
    joined = {"name": "joined", "of": "small", "commands": ["export --run {run} --with {small:2}/1"]}
    rows = rows_of(tmp_path, system(tmp_path, "small", seeds=[1, 2]), joined)
    row, runs = rows["tones-joined-1"], Path("runs")
    second = rows["tones-small-2"]
    assert row.command_lines(runs) == (
        ("export", "--run", str(row.run_folder(runs)), "--with", f"{second.run_folder(runs)}/1"),
    )
    assert [needed.name for needed in row.needs.values()] == ["tones-small-1", "tones-small-2"]
    joined["commands"] = ["export --run {run} --with {small:3}/1"]
    with pytest.raises(BadRecipe, match=r"joined refers to \{small\} of seed 3, which does not stand before it"):
        rows_of(tmp_path, system(tmp_path, "small", seeds=[1, 2]), joined)


def test_a_row_may_be_what_commands_make_of_another_one_s_run(tmp_path):
    searched = {
        "name": "lm",
        "of": "small",
        "seeds": [2],
        "commands": ["tune --run {run} --set 'decoding.lm={path: x}'"],
    }
    before = rows_of(tmp_path, system(tmp_path, "small", seeds=[1, 2]), searched)
    row, runs = before["tones-lm-2"], Path("runs")
    assert row.needs["small"] == before["tones-small-2"]
    assert row.recipe == before["tones-small-2"].recipe
    (command,) = row.command_lines(runs)
    assert command == ("tune", "--run", str(row.run_folder(runs)), "--set", "decoding.lm={path: x}")
    searched["commands"] = ["tune --run {run}"]
    assert rows_of(tmp_path, system(tmp_path, "small", seeds=[1, 2]), searched)["tones-lm-2"].digest != row.digest


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"of": "t", "commands": ["tune"]}, r"system s: expected a recipe, which may have set, or of with commands"),
        ({"set": ["training.init_from={run}"]}, r"system s: \{run\} is the copy that commands work on"),
        ({"recipe": "", "of": "t"}, r"system s: expected a recipe, which may have set, or of with commands"),
        (
            {"recipe": "", "of": "t", "commands": ["tune"]},
            r"s refers to \{t\} of seed 1, which does not stand before it",
        ),
        ({"set": ["training.init_from={other}"]}, r"s refers to \{other\} of seed 1, which does not stand before it"),
        ({"seed": 1}, r"systems\.yaml:\d+: corpora\[0\]\.systems\[0\]\.seed: unknown key; did you mean seeds\?"),
        ({"name": "S"}, r"systems\.yaml:\d+: corpora\[0\]\.systems\[0\]\.name=\"S\""),
        ({"recipe": "", "of": "Base", "commands": ["tune"]}, r"systems\.yaml:\d+: corpora\[0\]\.systems\[0\]\.of"),
        ({"recipe": "", "of": "s", "commands": ["tune 'x"]}, r"refers to \{s\} of seed 1"),
        ({"seeds": []}, r"systems\.yaml:\d+: corpora\[0\]\.systems\[0\]\.seeds: must have at least 1 of them, found 0"),
    ],
)
def test_a_wrong_list_is_refused_by_file_and_key(tmp_path, entry, said):
    with pytest.raises(BadRecipe, match=said):
        rows_of(tmp_path, system(tmp_path, "s") | entry)


def test_a_command_that_no_shell_takes_is_named(tmp_path):
    wrong = {"name": "lm", "of": "s", "commands": ["tune --set 'x"]}
    with pytest.raises(BadRecipe, match=r"systems\.yaml: corpora\.tones: lm: \"tune --set 'x\": No closing quotation"):
        rows_of(tmp_path, system(tmp_path, "s"), wrong)


def test_two_rows_have_two_names(tmp_path):
    """Corpus and system are joined by a hyphen, which both may have."""
    one, other = system(tmp_path, "c"), system(tmp_path, "b-c")
    corpora = [{"name": "a-b", "about": "x", "systems": [one]}, {"name": "a", "about": "x", "systems": [other]}]
    (tmp_path / "a.yaml").write_text("name: a")
    (tmp_path / "systems.yaml").write_text(json.dumps({"corpora": corpora}))
    with pytest.raises(BadRecipe, match=r"systems\.yaml: two rows have the name a-b-c-1"):
        read_systems(tmp_path / "systems.yaml")


def test_two_systems_have_two_names(tmp_path):
    with pytest.raises(BadRecipe, match=r"corpora\.tones: two systems have the name s"):
        rows_of(tmp_path, system(tmp_path, "s"), system(tmp_path, "s"))


def test_a_missing_recipe_is_named_with_its_system(tmp_path):
    with pytest.raises(BadRun, match=r"b\.yaml: No such file or directory; .*systems\.yaml names it for s"):
        rows_of(tmp_path, system(tmp_path, "s", recipe="b"))


def test_digits_convolution_is_what_its_row_trains(monkeypatch):
    monkeypatch.chdir(ROOT)
    rows = {row.name: row for corpus in read_systems(Path("recipes/results/systems.yaml")) for row in corpus.rows}
    row = rows["digits-lstm-ctc-convolution-2d-1"]
    pairs = (one.partition("=") for one in (*row.assignments(Path("runs")), "name=digits-convolution"))
    trained = load_recipe(Path(row.recipe), [Override(key, value, "list") for key, _, value in pairs])
    of_all_rows = [Override("evaluation.paced", "false", "list"), Override("pipeline.layout", "fused", "list")]
    assert load_recipe(Path("recipes/digits-convolution.yaml"), of_all_rows) == trained


def test_the_settings_of_this_tree_s_list_fit_its_recipes(monkeypatch):
    monkeypatch.chdir(ROOT)
    for corpus in read_systems(Path("recipes/results/systems.yaml")):
        for row in corpus.rows:
            pairs = (assignment.partition("=") for assignment in row.assignments(Path("runs")))
            recipe = load_recipe(Path(row.recipe), [Override(key, value, "list") for key, _, value in pairs])
            assert recipe.seed == row.seed
            assert not recipe.evaluation.paced
