import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rigs.made_up_results import system, write_list, write_report

from sonorant.cli import results
from sonorant.cli.child import Ended


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    systems = [
        system(tmp_path, "small", seeds=[1, 2]),
        system(tmp_path, "more", set=["training.init_from={small}"]),
    ]
    write_list(tmp_path, systems, a={"name": "a"})
    return World(monkeypatch)


class World:
    """Stands for `sonorant demo`; ends: by the name of a row, how it ends, if not well."""

    def __init__(self, monkeypatch):
        self.ends, self.ran, self.settings = {}, [], {}
        self.commands, self.made = [], Ended(0, False)
        monkeypatch.setattr(results, "run_command", self._demo)

    def _demo(self, *arguments):
        self.commands.append(
            (arguments[0], *(a for a in arguments[1:] if a.startswith("--data") or arguments[0] != "demo"))
        )
        if arguments[0] == "report":
            write_report(Path(arguments[1].removeprefix("--run=")))
        if arguments[0] != "demo":
            return self.made
        options = [argument.partition("=") for argument in arguments[1:]]
        run = next(Path(value) for option, _, value in options if option == "--run")
        name = run.name.rpartition("-")[0]
        self.ran.append(name)
        self.settings[name] = [value for option, _, value in options if option == "--set"]
        ended = self.ends.get(name, Ended(0, False))
        if ended == Ended(0, False):
            write_report(run)
        return ended

    def run(self, *rows):
        files = ["--systems=systems.yaml", "--reports=kept", "--runs=runs", "--page=page.md"]
        return CliRunner().invoke(results.command, ["run", *rows, *files])


ALL = ["tones-small-1", "tones-small-2", "tones-more-1"]


def test_every_row_is_run_once(world):
    assert world.run().exit_code == 0
    assert world.ran == ALL
    assert world.settings["tones-small-2"] == ["seed=2"]
    assert sorted(path.stem for path in Path("kept").iterdir()) == sorted(ALL)
    page = Path("page.md").read_text()
    again = world.run()
    assert (again.exit_code, world.ran) == (0, ALL)
    assert again.output.count("nothing to do") == 3
    assert Path("page.md").read_text() == page
    shown = CliRunner().invoke(results.command, ["page", "--systems=systems.yaml", "--reports=kept"])
    assert shown.output == page


def test_a_row_goes_on_from_the_run_that_it_names(world):
    world.run()
    (setting,) = [value for value in world.settings["tones-more-1"] if value.startswith("training.init_from=")]
    assert json.loads((Path(setting.partition("=")[2]) / "report.json").read_text())["wer"]


def test_a_failed_row_is_named_and_the_others_go_on(world):
    world.ends["tones-small-1"] = Ended(69, False)
    done = world.run()
    assert done.exit_code == 1  # of the exception, which the command line's edge makes its exit code
    assert done.exception.exit_code == 65
    assert "tones-small-1: exit code 69" in str(done.exception)
    assert "tones-more-1: needs the run of tones-small-1" in str(done.exception)
    assert world.ran == ALL[:2]
    assert "Not run yet: `tones-small-1`, `tones-more-1`." in Path("page.md").read_text()
    world.ends.clear()
    assert world.run().exit_code == 0
    assert world.ran == [*ALL[:2], "tones-small-1", "tones-more-1"]


def test_an_interrupted_row_is_the_last_one_and_is_gone_on_with(world):
    world.ends["tones-small-2"] = Ended(130, True)
    done = world.run()
    assert done.exit_code == 130
    assert world.ran == ALL[:2]
    world.ends.clear()
    assert world.run().exit_code == 0
    assert world.ran == [*ALL[:2], "tones-small-2", "tones-more-1"]


def test_a_changed_recipe_is_run_again_in_a_folder_of_its_own(world):
    world.run("tones-small-1")
    Path("a.yaml").write_text("name: a\nseed: 7\n")
    world.run("tones-small-1")
    assert world.ran == ["tones-small-1"] * 2
    assert len(list(Path("runs").iterdir())) == 2


def test_rows_are_chosen_by_patterns(world):
    assert world.run("*-small-*").exit_code == 0
    assert world.ran == ALL[:2]
    done = world.run("*-smal-*")
    assert done.exit_code == 2
    assert "ROW *-smal-*: no such row; there are" in done.output


def test_a_corpus_that_has_to_be_made_is_made_before_its_rows(world, tmp_path):
    write_list(tmp_path, [system(tmp_path, "small")], {"data": "made", "made_by": "prepare espeak 'a b'"}, a={})
    world.made = Ended(69, False)
    assert str(world.run().exception) == "tones-small-1: exit code 69"
    world.made = Ended(0, False)
    assert world.run().exit_code == 0
    assert world.commands == [("prepare", "espeak", "a b"), ("prepare", "espeak", "a b"), ("demo", "--data=made")]


def test_a_row_of_another_one_s_run_has_its_commands_on_a_copy(world, tmp_path):
    lm = {"name": "lm", "of": "small", "commands": ["tune --run={run}"]}
    write_list(tmp_path, [system(tmp_path, "small"), lm], a={})
    assert world.run().exit_code == 0
    copy = next(Path("runs").glob("tones-lm-*"))
    options = [("tune", f"--run={copy}"), ("evaluate", f"--run={copy}"), ("report", f"--run={copy}")]
    assert world.commands[1:] == options
    assert json.loads(Path("kept/tones-lm-1.json").read_text())["recipe"].endswith("a.yaml")
    assert world.run().output.count("nothing to do") == 2


def test_commands_that_were_interrupted_go_on_with_the_same_copy(world, tmp_path):
    lm = {"name": "lm", "of": "small", "commands": ["tune --run={run}"]}
    write_list(tmp_path, [system(tmp_path, "small"), lm], a={})
    world.made = Ended(130, True)
    assert world.run().exit_code == 130
    (next(Path("runs").glob("tones-lm-*")) / "tuned").write_text("half of it")
    world.made = Ended(0, False)
    assert world.run().exit_code == 0
    assert (next(Path("runs").glob("tones-lm-*")) / "tuned").exists()


def test_a_real_command_that_fails_is_a_failed_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_list(tmp_path, [system(tmp_path, "small")], a={"name": "a"})
    done = CliRunner().invoke(
        results.command, ["run", "--systems=systems.yaml", "--reports=kept", "--runs=runs", "--page=page.md"]
    )
    assert str(done.exception) == "tones-small-1: exit code 78"
