import errno
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sonorant.augment import table
from sonorant.errors import BadRecipe, Unavailable
from sonorant.models.section import LstmCtcRecipe
from sonorant.recipe import Recipe
from sonorant.recipe.document import Override
from sonorant.recipe.loading import dump_recipe, load_recipe

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))
STAGES = ", ".join(repr(name) for name in table.STAGES)
HEAD = "version: 1\nname: tiny\ncorpus:\n  reader: fsdd\n  path: x\n"


def faults(tmp_path: Path, text: str, *overrides: Override) -> list[str]:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(BadRecipe) as caught:
        load_recipe(path, overrides)
    return [line.replace(f"{tmp_path}/", "") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_recipes_of_the_project_load_and_survive_dumping(path: Path, tmp_path: Path) -> None:
    recipe = load_recipe(path)
    (tmp_path / "again.yaml").write_text(dump_recipe(recipe))
    assert load_recipe(tmp_path / "again.yaml") == recipe


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)


# Folded at column 120 by ruamel, one would come back with another space.
_FOLDED = [
    "\x01\x80\x01\U000e0001 \U000e0001\x80\x80\x01\U0001f600 \x80a\x01aa\x80",
    "  \x80  a \U000e0001\U000e0001a\x80\x01\x01\U0001f600 a",
]


@example(1.0, "x", ["\x01a \x80\x01\U000e0001a" + 4 * "\U000e0001" + "\x80\U000e0001a", *_FOLDED])
@given(st.floats(1e-9, 1e9), _TEXT, st.lists(_TEXT, max_size=4))
def test_any_values_survive_dumping(tmp_path_factory, rate: float, path: str, speakers: list[str]) -> None:
    recipe = Recipe.model_validate(
        {
            "version": 1,
            "name": "tiny",
            "corpus": {"reader": "fsdd", "path": path, "splits": {"unseen_speakers": tuple(speakers)}},
            "training": {"learning_rate": rate},
        }
    )
    file = tmp_path_factory.mktemp("dump") / "r.yaml"
    file.write_text(dump_recipe(recipe), encoding="utf-8")
    assert load_recipe(file) == recipe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD + "training:\n  batch_exmples: 3\n",
            "r.yaml:7: training.batch_exmples: unknown key; did you mean batch_examples?",
        ),
        (HEAD + "training:\n  cells: 3\n", "r.yaml:7: training.cells: unknown key; did you mean model.cells?"),
        (
            HEAD + "decoding:\n  zzz: 3\n",
            "r.yaml:7: decoding.zzz: unknown key; known here: beam, coverage_weight, ctc_weight, "
            "end_threshold, endpointing, "
            "jitter_ms, length_bonus, lm, phrase_boost, phrases, prior, stability_ms, unit_candidates",
        ),
        (
            HEAD + "model:\n  family: deep_speech\n  convolution: {frames: 1}\n",  # a key of other families, there
            "r.yaml:8: model.convolution: no key of model.family=deep_speech, but of lstm_ctc, bfa, "
            "delayed_lstm, mocha; known here: ceiling, cells, context_vectors, dropout, family, level, "
            "memory_vectors, normalisation, stride",
        ),
        (HEAD + "seed: one\n", 'r.yaml:6: seed="one": must be a valid integer'),
        (HEAD + "seed: '1'\n", 'r.yaml:6: seed="1": must be a valid integer'),
        (HEAD + "training: {learning_rate: true}\n", "r.yaml:6: training.learning_rate=true: must be a valid number"),
        (
            HEAD + "training: {learning_rate: .inf}\n",
            "r.yaml:6: training.learning_rate=Infinity: must be a finite number",
        ),
        (
            HEAD + "training: {learning_rate: 0.003, final_learning_rate: 0.1}\n",
            "r.yaml:6: training: final_learning_rate=0.1 is above learning_rate=0.003; lower the first, or raise the "
            "second",
        ),
        (
            HEAD + "pipeline: {order: strict}\ntraining: {ranks: 2, batch_vectors: 900}\n",
            "r.yaml:7: training.batch_vectors=900 with pipeline.order: strict and training.ranks: 2: must be 0, "
            "because each rank trains on its own part of the order, and with batches of unlike numbers of examples one "
            "would run out of them early",
        ),
        (
            HEAD + "pipeline:\n  replicas: {featurizer: -1}\n",
            "r.yaml:7: pipeline.replicas.featurizer=-1: must be greater than or equal to 1",
        ),
        (HEAD + "training:\n  ranks: 0\n", "r.yaml:7: training.ranks=0: must be greater than or equal to 1"),
        (HEAD + "  channel: left\n", "r.yaml:6: corpus.channel=\"left\": must be a valid integer, or must be 'mean'"),
        (
            HEAD + "  strings:\n    digits_min: 9\n",
            "r.yaml:6: corpus.strings: words_min=9 is above words_max=7",
        ),
        (
            HEAD + "  strings:\n    margin_ms: {low: -300, high: -200}\n",
            "r.yaml:6: corpus.strings: margin_ms=-300.0..-200.0: expected 0 to 60000 ms",
        ),
        (
            HEAD + "  strings:\n    pause_ms: {low: 0, high: 60001}\n",
            "r.yaml:6: corpus.strings: pause_ms=0.0..60001.0: expected 0 to 60000 ms",
        ),
        (
            HEAD + "  strings:\n    background_db: {low: 100, high: 200}\n",
            "r.yaml:6: corpus.strings: background_db.high=200.0: expected at most 0, which is full scale",
        ),
        (
            HEAD + 'text: {tokenizer: "a\\0b"}\n',
            'r.yaml:6: text.tokenizer="a\\u0000b": has a NUL character (U+0000); leave it out',
        ),
        (
            HEAD + 'decoding: {phrases: [a, "b\\0"]}\n',
            'r.yaml:6: decoding.phrases[1]="b\\u0000": has a NUL character (U+0000); leave it out',
        ),
        (
            HEAD + "  splits: {by: take}\n",
            "r.yaml:3: corpus: splits.by=take deals by the takes of corpus.strings, which is absent",
        ),
        (
            HEAD + "  splits: {by: corpus}\n",
            "r.yaml:3: corpus: splits.by=corpus needs splits of the corpus' own, which reader=fsdd finds none of",
        ),
        (
            HEAD + "stages:\n- stage: vtlp\n  alpha:\n    low: 0.8\n    hgh: 1\n",
            "r.yaml:10: stages[0].alpha.hgh: unknown key; did you mean high?",
        ),
        (
            HEAD + "stages:\n- stage: room\n  t60_s: {low: 0.01, high: 0.02}\n",
            "r.yaml:7: stages[0].room: t60_s=0.02 in a room of 3 x 3 x 2.4 m: even walls that swallow everything give "
            "0.0744 s; take a longer time or a smaller room",
        ),
        (
            HEAD + "stages:\n- stage: room\n  t60_s: {low: 100, high: 600}\n",
            "r.yaml:7: stages[0].room: t60_s=100.0..600.0: must be above 0 and 30 at most, in seconds; 0.1..0.6 is "
            "usual",
        ),
        (
            HEAD + "stages:\n- stage: room\n  length_m: {low: 3, high: 1e6}\n",
            "r.yaml:7: stages[0].room: length_m=3.0..1000000.0: must be 1000 m at most",
        ),
        (
            HEAD + "training: {epochs: 5000000000}\n",
            "r.yaml:6: training.epochs=5000000000: must be less than 2147483648",
        ),
        (
            HEAD + "stages:\n- stage: noise_styles\n  width_m: {low: 1.3, high: 3}\n  microphones: 2\n"
            "  microphone_spacing_m: 0.8\n",
            "r.yaml:7: stages[0].noise_styles: the smallest room side, 1.3 m, leaves no space between walls 0.3 m away "
            "for microphones 0.8 m apart",
        ),
        (
            HEAD + "stages:\n- stage: room\n  height_m: {low: 0.6, high: 3}\n",
            "r.yaml:7: stages[0].room: the smallest room side, 0.6 m, leaves no space between walls 0.3 m away; take a "
            "larger room or a shorter wall_distance_m",
        ),
        (
            HEAD + "stages:\n- stage: room\n  microphones: 2\n- stage: gain\n- stage: noise_styles\n",
            "r.yaml:6: stages ['room', 'gain', 'noise_styles']: noise_styles plays one channel and room before it "
            "gives 2; set the microphones of room to 1",
        ),
        (
            HEAD + "stages:\n- stage: spec_augment\n- stage: gain\n",
            "r.yaml:7: stages[0].stage=spec_augment works on features and stages[1].stage=gain on waveforms: put "
            "spec_augment after all stages on waveforms",
        ),
        (
            HEAD + "stages:\n- stage: spec_augment\n  frequency_mask_bins: 41\n",
            "r.yaml:6: stages: spec_augment.frequency_mask_bins=41: a frame of features has 40 bins; "
            "a sixth to a third of them is usual",
        ),
        (
            HEAD + "features: {kind: mfcc}\nstages:\n- stage: spec_augment\n  frequency_mask_bins: 14\n",
            "r.yaml:7: stages: spec_augment.frequency_mask_bins=14: a frame of features has 13 bins; "
            "a sixth to a third of them is usual",
        ),
        (
            HEAD + "features: {kind: spectrogram}\nstages:\n- stage: spec_augment\n  frequency_mask_bins: 258\n",
            "r.yaml:7: stages: spec_augment.frequency_mask_bins=258: a frame of features has 257 bins; "
            "a sixth to a third of them is usual",
        ),
        (
            HEAD + "stages:\n- stage: vltp\n",
            f"r.yaml:7: stages[0]: found 'vltp', expected one of {STAGES}; did you mean 'vtlp'?",
        ),
        (HEAD + "stages:\n- stage: xyz\n", f"r.yaml:7: stages[0]: found 'xyz', expected one of {STAGES}"),
        (
            HEAD + "pipeline: {order: strct}\n",
            "r.yaml:6: pipeline.order=\"strct\": must be 'fast' or 'strict'; did you mean 'strict'?",
        ),
        (HEAD + "pipeline: {order: 7}\n", "r.yaml:6: pipeline.order=7: must be 'fast' or 'strict'"),
        (HEAD + "stages:\n- probability: 1\n", "r.yaml:7: stages[0]: names no stage; start it with `stage: …`"),
        (
            HEAD + "pipeline:\n  heartbeat_s: 5\n  dead_after_s: 4\n",
            "r.yaml:8: pipeline.dead_after_s=4: must be at least 3 x heartbeat_s=5, or replicas that live count as "
            "dead when a heartbeat is late; set it to 15 or more (5 x heartbeat_s is usual) or heartbeat_s to 1.33 or "
            "less",
        ),
        (
            HEAD + "pipeline:\n  heartbeat_s: 1\n",
            "r.yaml:6: pipeline.dead_after_s=2.5: must be at least 3 x heartbeat_s=1, or replicas that live count as "
            "dead when a heartbeat is late; set it to 3 or more (5 x heartbeat_s is usual) or heartbeat_s to 0.833 "
            "or less",
        ),
        (
            HEAD + "pipeline: {heartbeat_s: 0}\n",
            "r.yaml:6: pipeline.heartbeat_s=0: must be greater than or equal to 0.01",
        ),
        (
            HEAD + "pipeline: {dead_after_s: 1000}\n",
            "r.yaml:6: pipeline.dead_after_s=1000: must be less than or equal to 600",
        ),
        (
            HEAD + "pipeline:\n  stall_after_s: 0.001\n",
            "r.yaml:7: pipeline.stall_after_s=0.001: must be 0 or at least 2 x dead_after_s, 5: before that, examples "
            "of a replica that has died are not even leased again, and each pause of work would end the run",
        ),
        ("version: 1\nname: x\n", "r.yaml:1: corpus: is missing and has no default"),
        (
            HEAD + "name: other\n",
            "r.yaml:6: name: stands twice, first in r.yaml:2; keep one",
        ),
        ("version: 2\nbogus: 1\n", "r.yaml:1: version: 2 is newer than this sonorant reads (1); update sonorant"),
        (
            "version: 0\nbogus: 1\n",
            "r.yaml:1: version: 0 is older than this sonorant reads (1); see `sonorant recipe schema`",
        ),
        ("", "r.yaml: is empty; a recipe starts with `version: 1` and a `name`"),
        ("# nothing but a remark\n", "r.yaml: is empty; a recipe starts with `version: 1` and a `name`"),
        ("- a\n", "r.yaml:1: found a list, expected keys such as `version: 1`"),
        ("hello", "r.yaml:1: found the single value 'hello', expected keys such as `version: 1`"),
    ],
)
def test_fault_names_file_line_key_and_what_is_right(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in faults(tmp_path, text)


def test_impossible_combination_of_sections_is_refused(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, HEAD + "  sample_rate_hz: 8000\nfeatures: {high_hz: 8000}\n")
    assert line.startswith(
        "r.yaml:7: features.low_hz=20.0 and features.high_hz=8000.0: need low_hz < high_hz <= 4000.0"
    )


@pytest.mark.parametrize(
    ("text", "overrides", "position"),
    [
        ("features:\n  high_hz: 3900\n  low_hz: 4000\n", {}, "r.yaml:8: "),
        ("features:\n  high_hz: 3900\n", {"features.low_hz": "4000"}, "r.yaml:7, --set features.low_hz: "),
        ("", {"training.objective": "frame_cross_entropy"}, "r.yaml, --set training.objective: "),
        # Of its message's words, text is the name of a section, but no key that is meant.
        (
            "text: {units: words}\nmodel: {family: lstm_lm}\n",
            {"corpus.reader": "text", "training.ctc_weight": "0.3"},
            "r.yaml:7, --set training.ctc_weight: ",
        ),
    ],
)
def test_a_fault_between_sections_has_the_line_of_the_first_key_that_it_names(
    tmp_path: Path, text: str, overrides: dict[str, str], position: str
) -> None:
    given = [Override(key, value, f"--set {key}") for key, value in overrides.items()]
    (line,) = faults(tmp_path, HEAD + text, *given)
    assert line.startswith(position)


def test_all_faults_are_listed(tmp_path: Path) -> None:
    lines = faults(tmp_path, HEAD + "seed: -1\nseed: 2\nbogus: 1\ntraining:\n  ranks: x\n  epoks: 1\n")
    assert len(lines) == 5
    assert [line.split(":")[1] for line in lines] == ["7", "6", "10", "11", "8"]


@pytest.mark.parametrize("text", ["a: [1\n", "a: b: c\n", "\tx: 1\n", "a: &x 1\nb: *y\n", "a: 1\n---\nb: 2\n"])
def test_what_is_not_yaml_names_the_line(tmp_path: Path, text: str) -> None:
    (line,) = faults(tmp_path, text)
    assert line.startswith("r.yaml:")
    assert "is not YAML: " in line


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("corpus.strings.train.0.x", "1", "--set k: corpus.strings.train.0 has no 'x'"),
        ("seed", "!!int abc", '--set k: seed="abc": must be a valid integer'),
        ("training.max_minutes", "!!float x", '--set k: training.max_minutes="x": must be a valid number'),
        ("seed", "9" * 5000, "--set k: seed="),
        ("seed", str(2**31), "--set k: seed=2147483648: must be less than 2147483648"),
        ("training.unroll_vectors", "1000001", "--set k: training.unroll_vectors=1000001: must be less than or equal"),
        ("model.memory_vectors", "1e39", "--set k: model.memory_vectors="),
        ("stages", "&a [*a]", "--set k: is nested too deeply, or refers to itself"),
        ("stages", "[" * 3000 + "]" * 3000, "--set k: is nested too deeply, or refers to itself"),
    ],
)
def test_values_that_no_reader_can_take_are_faults(tmp_path: Path, key: str, value: str, said: str) -> None:
    assert any(
        said in fault for fault in faults(tmp_path, HEAD + "  strings: {train: [9]}\n", Override(key, value, "--set k"))
    )


def test_binary_and_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadRecipe, match="byte 0 is not UTF-8"):
        load_recipe(tmp_path / "r.yaml")
    with pytest.raises(BadRecipe, match=r"no\.yaml: no such file"):
        load_recipe(tmp_path / "no.yaml")
    with pytest.raises(BadRecipe, match="cannot be read: Is a directory"):
        load_recipe(tmp_path)


def test_a_recipe_that_the_machine_cannot_read_now_is_not_a_bad_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(Unavailable, match=r"r\.yaml: cannot be read: Input/output error; is its volume mounted"):
        load_recipe(tmp_path / "r.yaml")


def test_later_overrides_win_over_earlier_ones_and_the_file(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(HEAD + "training:\n  ranks: 2\nstages:\n- stage: vtlp\n- stage: room\n")
    recipe = load_recipe(
        tmp_path / "r.yaml",
        [
            Override("training.ranks", "3", "SONORANT_TRAINING__RANKS"),
            Override("training.ranks", "4", "--set training.ranks"),
            Override("corpus.strings.train", "7", "--set"),
            Override("corpus.splits.unseen_speakers", "[ann, '7']", "--set"),
            Override("stages.room.probability", "0.25", "--set"),
            Override("stages.0.alpha", "{low: 0.9, high: 1.1}", "--set"),
            Override("features.high_hz", "null", "--set"),
        ],
    )
    assert recipe.training.ranks == 4
    assert recipe.corpus.strings is not None
    assert recipe.corpus.strings.train == 7
    assert recipe.corpus.splits.unseen_speakers == ("ann", "7")
    assert recipe.stages[1].probability == 0.25
    assert recipe.stages[0].alpha.low == 0.9


def test_faults_of_overrides_name_who_gave_them(tmp_path: Path) -> None:
    lines = faults(
        tmp_path,
        HEAD + "stages: [{stage: vtlp}]\n",
        Override("training.rank", "2", "SONORANT_TRAINING__RANK"),
        Override("training.epochs", "many", "--set training.epochs"),
        Override("stages.rom.probability", "0.5", "--set stages.rom.probability"),
        Override("seed.value", "2", "--set seed.value"),
    )
    assert set(lines) == {
        "--set seed.value: seed: must be a valid integer",
        "--set stages.rom.probability: stages has no 'rom'; it has vtlp",
        '--set training.epochs: training.epochs="many": must be a valid integer',
        "SONORANT_TRAINING__RANK: training.rank: unknown key; did you mean ranks?",
    }
    with pytest.raises(BadRecipe, match=r"^--set seed:1: is not YAML"):
        load_recipe(tmp_path / "r.yaml", [Override("seed", "[1", "--set seed")])


def test_a_fault_of_a_section_names_the_overrides_in_it(tmp_path: Path) -> None:
    text = HEAD + "  strings: {train: 9, words_min: 3, words_max: 7}\n"
    values = {"corpus.strings.words_min": "9", "corpus.strings.train": "4"}
    given = [Override(key, value, f"--set {key}") for key, value in values.items()]
    fault = "corpus.strings: words_min=9 is above words_max=7"
    told = "r.yaml:6, --set corpus.strings.words_min, --set corpus.strings.train: "
    assert faults(tmp_path, text, *given) == [told + fault]
    apart = [Override("seed", "2", "--set seed"), Override("training.mwer_hypotheses", "1", "VARIABLE")]
    (line,) = faults(tmp_path, HEAD, *apart)
    assert line.startswith("r.yaml, VARIABLE: training.mwer_hypotheses=1 with training.objective=ctc: expected 0, or")
    whole = Override("corpus.strings", "{train: 9, words_min: 9, words_max: 7}", "--set corpus.strings")
    assert faults(tmp_path, text, *given, whole) == [f"--set corpus.strings: {fault}"]


@pytest.mark.parametrize("model", ["{kind: lstm_ctc, layers: 3}", "{layers: 3}", "{family: lstm_ctc, layers: 3}"])
def test_a_model_without_a_family_is_of_the_first_one(tmp_path, model):
    path = tmp_path / "old.yaml"
    path.write_text(f"version: 1\nname: old\ncorpus: {{reader: fsdd, path: x, sample_rate_hz: 8000}}\nmodel: {model}\n")
    assert load_recipe(path).model == LstmCtcRecipe(layers=3)


def test_the_size_of_the_subword_vocabulary_is_read_by_its_old_name_too(tmp_path):
    path = tmp_path / "old.yaml"
    head = "version: 1\nname: old\ncorpus: {reader: fsdd, path: x, sample_rate_hz: 8000}\n"
    path.write_text(head + "text: {units: bpe, bpe_units: 100}\n")
    assert load_recipe(path).text.pieces == 100
    path.write_text(head + "text: {units: bpe, bpe_units: 100, pieces: 100}\n")
    with pytest.raises(BadRecipe, match=r"text\.bpe_units: unknown key"):
        load_recipe(path)
