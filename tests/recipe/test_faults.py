"""What messages of wrong recipes advise; `test_loading.py` has the rest of them."""

from pathlib import Path

import pytest

from sonorant.errors import BadRecipe
from sonorant.recipe import Recipe
from sonorant.recipe.faults import _all_keys
from sonorant.recipe.loading import load_recipe
from sonorant.recipe.other_names import OTHER_NAMES

HEAD = "version: 1\nname: tiny\ncorpus: {reader: fsdd, path: x}\n"


def fault(tmp_path: Path, text: str) -> str:
    path = tmp_path / "r.yaml"
    path.write_text(HEAD + text)
    with pytest.raises(BadRecipe) as caught:
        load_recipe(path)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("training: {batch_size: 3}\n", "r.yaml:4: training.batch_size: unknown key; did you mean batch_examples?"),
        ("lr: 0.1\n", "r.yaml:4: lr: unknown key; did you mean training.learning_rate?"),
        ("training:\n  n_mels: 80\n", "r.yaml:5: training.n_mels: unknown key; did you mean features.mel_bins?"),
    ],
)
def test_another_toolkits_name_has_the_key_that_does_the_same(tmp_path: Path, text: str, said: str) -> None:
    assert fault(tmp_path, text) == said


def test_a_key_that_the_family_lacks_is_not_advised_for_another_toolkits_name(tmp_path: Path) -> None:
    said = fault(tmp_path, "model: {family: deep_speech, num_layers: 3}\n")
    assert said.startswith("r.yaml:4: model.num_layers: unknown key; known here: ceiling, cells, ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "model: {look_ahead: 3}\n",
            "r.yaml:4: model.look_ahead=3: no key of model.family=lstm_ctc, but of mocha; known",
        ),
        (
            "stages:\n- stage: room\n  gain_db: 3\n",
            "r.yaml:6: stages[0].gain_db=3: no key of stages[0].stage=room, but of gain; known here: direct_delay, ",
        ),
        (
            "model: {family: mocha, convolution: {frames: 3, look_ahead: 1}}\n",  # a key of the section around it
            "r.yaml:4: model.convolution.look_ahead: unknown key; ",
        ),
    ],
)
def test_a_key_of_another_family_or_stage_names_those_that_have_it(tmp_path: Path, text: str, said: str) -> None:
    assert fault(tmp_path, text).startswith(said)


def test_names_of_other_toolkits_stand_for_keys_that_are_there() -> None:
    keys = set(_all_keys(Recipe, ""))
    assert set(OTHER_NAMES.values()) <= keys
    assert not OTHER_NAMES.keys() & {key.rpartition(".")[2] for key in keys}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stages:\n- stage: room\n  snr_db: [5, 20]\n", "r.yaml:6: stages[0].snr_db: must be {low: …, high: …}"),
        ("decoding: 3\n", "r.yaml:4: decoding=3: must be {beam: …, unit_candidates: …, length_bonus: …, …}"),
    ],
)
def test_a_value_in_place_of_a_section_has_the_sections_keys(tmp_path: Path, text: str, said: str) -> None:
    assert fault(tmp_path, text) == said


@pytest.mark.parametrize(("family", "near"), [("conformer", ""), ("transformer", ""), ("lstm_ctcc", "lstm_ctc")])
def test_another_family_is_no_misspelled_one(tmp_path: Path, family: str, near: str) -> None:
    said = fault(tmp_path, f"model: {{family: {family}}}\n")
    assert said.startswith(f"r.yaml:4: model: found {family!r}, expected one of 'lstm_ctc', ")
    assert said.partition("; did you mean ")[2] == (f"{near!r}?" if near else "")


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (
            "[{name: a, split: trian}]",
            "r.yaml:4: evaluation.sets[0].split=\"trian\": must be 'dev', 'test' or 'unseen_speaker'",
        ),
        ("[]", "r.yaml:4: evaluation.sets: must have at least 1 of them, found 0"),
    ],
)
def test_a_list_is_too_short_only_where_no_item_of_it_is_at_fault(tmp_path: Path, sets: str, said: str) -> None:
    assert fault(tmp_path, f"evaluation: {{sets: {sets}}}\n") == said


@pytest.mark.parametrize("option", ["label_smoothing", "sampling", "ctc_weight"])
def test_an_option_of_decoders_by_label_names_the_families_that_have_them(tmp_path: Path, option: str) -> None:
    assert fault(tmp_path, f"training: {{{option}: 0.3}}\n") == (
        f"r.yaml:4: training.{option}=0.3: is for models with a label-synchronous decoder, such as bfa or mocha; "
        "model.family=lstm_ctc predicts frame by frame; set it to 0, or take one of them"
    )
