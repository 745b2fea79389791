import pytest
from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, write_digits

from sonorant.cli.tokenizer import command
from sonorant.corpus.preparing import prepare
from sonorant.errors import BadCorpus, BadShard
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units

RECIPE = """version: 1
name: french
corpus: {reader: manifest, path: all.jsonl}
text: {units: unigram, pieces: 40, language: fr}
"""
TEXT = "L’eau qu’on boit\nAujourd'hui, il pleut beaucoup\non boit de l’eau\n" * 3


@pytest.fixture
def tokenizer(tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "text").write_text(TEXT)

    def run(*arguments):
        return CliRunner().invoke(command, [*map(str, arguments), "-o", str(tmp_path / "out.json")])

    return run


def test_units_are_learnt_from_text_as_the_recipe_says(tokenizer, tmp_path):
    done = tokenizer("--recipe", tmp_path / "recipe.yaml", tmp_path / "text")
    assert done.exit_code == 0, done.output
    content = (tmp_path / "out.json").read_text()
    units = Units.from_json(content)
    assert units.kind == "unigram"
    assert units.text(units.labels("l'eau qu'il boit aujourd'hui")) == "l'eau qu'il boit aujourd'hui"
    assert f"out.json: {units} from 33 words (9 different), " in done.output
    tokenizer("--recipe", tmp_path / "recipe.yaml", tmp_path / "text")
    assert (tmp_path / "out.json").read_text() == content


@pytest.mark.parametrize("option", ["--output", "--out"])
@pytest.mark.usefixtures("tokenizer")
def test_the_file_has_the_option_of_other_commands_and_that_of_before(tmp_path, option):
    options = ["--recipe", str(tmp_path / "recipe.yaml"), option, str(tmp_path / "other.json")]
    done = CliRunner().invoke(command, [*options, str(tmp_path / "text")])
    assert (done.exit_code, Units.from_json((tmp_path / "other.json").read_text()).kind) == (0, "unigram"), done.output


def test_set_changes_what_is_learnt(tokenizer, tmp_path):
    tokenizer("--recipe", tmp_path / "recipe.yaml", "--set", "text.units=characters", tmp_path / "text")
    assert Units.from_json((tmp_path / "out.json").read_text()).kind == "characters"


def test_a_number_of_pieces_for_units_without_any_is_refused(tokenizer, tmp_path):
    options = ("--set", "text.units=characters", "--set", "text.pieces=1000")
    done = tokenizer("--recipe", tmp_path / "recipe.yaml", *options, tmp_path / "text")
    assert done.exit_code == 2
    assert "--set text.pieces with text.units=characters: only bpe and unigram have pieces" in done.output
    assert not (tmp_path / "out.json").exists()


def test_sentences_with_numbers_that_the_recipe_refuses_are_left_out_and_counted(tokenizer, tmp_path):
    (tmp_path / "text").write_text("on boit\nle 12 mai\nil pleut 7 fois\n")
    options = ("--set", "text.units=characters", "--set", "text.numbers=refuse")
    done = tokenizer("--recipe", tmp_path / "recipe.yaml", *options, tmp_path / "text")
    assert "text.numbers=refuse: 2 sentences have numbers, the first 'le 12 mai'" in done.output
    assert set(Units.from_json((tmp_path / "out.json").read_text()).symbols) == set(" onbit")


def test_a_vocabulary_that_the_text_cannot_fill_is_pointed_out(tokenizer, tmp_path):
    done = tokenizer("--recipe", tmp_path / "recipe.yaml", "--set", "text.pieces=900", tmp_path / "text")
    assert done.exit_code == 0
    assert "text.pieces=900: this text has no more than " in done.output


def test_a_vocabulary_too_small_for_the_characters_is_refused_and_nothing_written(tokenizer, tmp_path):
    (tmp_path / "text").write_text("abcdefghijklmnopqrstuvwxyzàâçéèêëîïôûü")
    done = tokenizer("--recipe", tmp_path / "recipe.yaml", "--set", "text.pieces=32", tmp_path / "text")
    assert isinstance(done.exception, BadCorpus)
    assert "39 characters" in str(done.exception)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("content", "message"), [(b"one\ntwo\n\xff\n", "text:"), (b"...\n", "no transcript has a word")]
)
def test_text_that_cannot_be_learnt_from_is_named(tokenizer, tmp_path, content, message):
    (tmp_path / "text").write_bytes(content)
    done = tokenizer("--recipe", tmp_path / "recipe.yaml", tmp_path / "text")
    assert isinstance(done.exception, BadCorpus)
    assert message in str(done.exception)


def test_text_and_run_exclude_each_other(tokenizer, tmp_path):
    assert "give either TEXTS" in tokenizer("--recipe", tmp_path / "recipe.yaml").output
    assert "TEXTS need --recipe" in tokenizer(tmp_path / "text").output


def test_units_of_a_run_are_those_of_its_split_train(tokenizer, tmp_path):
    run, recipe = RunFolder(tmp_path / "run"), digits_recipe()
    prepare(recipe, write_digits(tmp_path / "data"), run, progress=lambda *_: None)
    assert tokenizer("--run", run.path).exit_code == 0
    assert (tmp_path / "out.json").read_text() == (run.shards / "units.json").read_text()
    tokenizer("--run", run.path, "--set", "text.units=characters")
    assert Units.from_json((tmp_path / "out.json").read_text()).kind == "characters"


def test_a_run_without_shards_is_refused(tokenizer, tmp_path):
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.recipe.write_text(dump_recipe(digits_recipe()))
    assert isinstance(tokenizer("--run", run.path).exception, BadShard)
