import json
from pathlib import Path

import pytest
import soundfile
from rigs.small_corpus import RATE_HZ, digits_recipe, tone

from sonorant.corpus.preparing import prepare
from sonorant.corpus.shards import ShardSet
from sonorant.errors import BadCorpus, BadRun
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return RunFolder(tmp_path / "run").shards


def _spoken(tmp_path: Path, texts: list[str], **text: object) -> tuple[Recipe, Path]:
    """A manifest with a second of sound for each text, all of them for training."""
    entries = []
    for i, spoken in enumerate(texts):
        soundfile.write(tmp_path / f"{i}.wav", tone(1.0), RATE_HZ)
        entries.append({"audio_filepath": f"{i}.wav", "duration": 1.0, "text": spoken, "id": f"u{i}"})
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, entries)))
    splits = {"dev_fraction": 0, "test_fraction": 0}
    recipe = digits_recipe(reader="manifest", path="all.jsonl", strings=None, splits=splits)
    return Recipe.model_validate(recipe.model_dump(mode="json") | {"text": text}), tmp_path


def _prepared(recipe: Recipe, folder: Path, shards: Path) -> list[tuple[str, str]]:
    prepared = prepare(recipe, folder, RunFolder(shards.parent), progress=lambda *_: None)
    return [(entry.recording, entry.reason) for entry in prepared.skipped]


def test_a_tokenizer_takes_the_place_of_the_transcripts_units(tmp_path: Path, shards: Path) -> None:
    tokenizer = Units("characters", tuple(" abc"))
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_json())
    recipe, folder = _spoken(tmp_path, ["a b", "cab", "a x b", "b"], tokenizer="tokenizer.json")
    ((name, reason),) = _prepared(recipe, folder, shards)
    assert name == "u2"
    assert reason.startswith("transcript 'a x b' has 'x', which is not among the 4 characters of units.json")
    assert Units.from_json((shards / "units.json").read_text()) == tokenizer
    assert {record.text for record in ShardSet.open(shards, "train")} == {"a b", "cab", "b"}
    before = contents(shards)
    assert len(_prepared(recipe, folder, shards)) == 1
    assert contents(shards) == before
    (tmp_path / "tokenizer.json").write_text(Units("characters", tuple(" abcx")).to_json())
    assert _prepared(recipe, folder, shards) == []  # another tokenizer by the same name: made anew


def test_a_tokenizer_that_spells_no_transcript_is_refused(tmp_path: Path, shards: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(Units("characters", tuple(" ab")).to_json())
    recipe, folder = _spoken(tmp_path, ["x", "a x"], tokenizer="tokenizer.json")
    with (folder / "all.jsonl").open("a") as manifest:
        manifest.write('\n{"audio_filepath": "gone.wav", "duration": 1.0, "text": "a", "id": "a"}')
    with pytest.raises(BadCorpus, match=r"none of the recordings for training can be used; the first: u0: .*'x'.*gone"):
        _prepared(recipe, folder, shards)
    assert not (shards / "card.json").exists()


def test_a_tokenizer_with_other_units_than_the_checkpoints_is_refused(tmp_path: Path, shards: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(Units("characters", tuple(" ab")).to_json())
    recipe, folder = _spoken(tmp_path, ["a b"], tokenizer="tokenizer.json")
    _prepared(recipe, folder, shards)
    (shards.parent / "checkpoints" / "step-1").mkdir(parents=True)
    _prepared(recipe, folder, shards)
    before = contents(shards)
    (tmp_path / "tokenizer.json").write_text(Units("characters", tuple(" ba")).to_json())
    with pytest.raises(BadRun, match=r"text.tokenizer: 3 characters; expected the units of .*units.json, of the check"):
        _prepared(recipe, folder, shards)
    assert contents(shards) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "tokenizer.json: no such file"),
        ("{}", "tokenizer.json: .*expected what"),
        ('{"kind": "characters", "symbols": ["a", "a"]}', "tokenizer.json: symbol 'a' stands twice"),
        (Units("words", ("a",)).to_json(), "tokenizer.json has 1 words, expected text.units=characters and"),
        (Units("characters", (" ", "a"), jamo=True).to_json(), "has 2 characters of jamo, expected .*hangul=syllables"),
    ],
)
def test_a_tokenizer_for_another_recipe_is_refused(
    tmp_path: Path, shards: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    recipe, folder = _spoken(tmp_path, ["a"], tokenizer="tokenizer.json")
    with pytest.raises(BadCorpus, match=message):
        _prepared(recipe, folder, shards)
    assert not shards.exists()


def test_a_tokenizer_whose_pieces_were_changed_by_hand_is_refused(tmp_path: Path, shards: Path) -> None:
    recipe, folder = _spoken(tmp_path, ["a"], units="unigram", pieces=32, tokenizer="tokenizer.json")
    (tmp_path / "tokenizer.json").write_text(Units("unigram", ("a", "b"), b"junk").to_json())
    with pytest.raises(BadCorpus, match=r"tokenizer\.json: units: 4 bytes that are no sentencepiece model"):
        _prepared(recipe, folder, shards)
    assert not shards.exists()


def test_transcripts_with_numbers_are_skipped_by_id_where_the_recipe_refuses_them(tmp_path: Path, shards: Path) -> None:
    recipe, folder = _spoken(tmp_path, ["one", "in 1984"], numbers="refuse")
    assert _prepared(recipe, folder, shards) == [("u1", "its transcript 'in 1984' has '1984'; write it as it is read")]
    recipe, folder = _spoken(tmp_path, ["one", "in 1984"])
    assert _prepared(recipe, folder, shards) == []


def test_non_linguistic_symbols_in_transcripts_are_told(tmp_path: Path, shards: Path) -> None:
    recipe, folder = _spoken(tmp_path, ["one", "<unk> two"])
    (warning,) = prepare(recipe, folder, RunFolder(shards.parent), progress=lambda *_: None).warnings
    assert warning.startswith("1 transcript has a non-linguistic symbol, the first u1: <unk>; ")


def test_pieces_that_the_text_does_not_offer_are_told(tmp_path: Path, shards: Path) -> None:
    recipe, folder = _spoken(tmp_path, ["cab", "cabal"], units="bpe", pieces=300)
    for _ in range(2):
        prepared = prepare(recipe, folder, RunFolder(shards.parent), progress=lambda *_: None)
        (warning,) = prepared.warnings
        assert warning.startswith("text.pieces=300: this text has no more than ")
