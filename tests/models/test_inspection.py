"""sonorant inspect: figures of models against sums by hand, for every family."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rigs.tiny_lm import text_recipe
from training.tiny import tiny_recipe, tiny_units

from sonorant.cli.inspect import command
from sonorant.errors import BadCorpus, BadRun
from sonorant.export.manifest import ENSEMBLE, BadExport, Manifest, member_folders, renew_checksums
from sonorant.models.inspection import inspect_model
from sonorant.models.registry import build_model
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe, load_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
VECTORS_PER_SECOND = 100  # of the tiny recipe: a frame every 10 ms, none stacked
UNITS = 4


def recipe_of(**model):
    values = tiny_recipe().model_dump(mode="json")
    values["training"]["ctc_weight"] = 0.3 if model.get("ctc") else 0.0
    return Recipe.model_validate(values | {"model": model})


def figures_of(**model):
    return inspect_model(recipe_of(**model), UNITS)


def test_figures_of_the_first_family_are_those_by_hand():
    found = figures_of(family="lstm_ctc", layers=2, cells=12)
    lstm_0, lstm_1, projection = (6 + 12) * 48, (12 + 12) * 48, 12 * (UNITS + 1)
    assert found.trained == lstm_0 + lstm_1 + projection + 2 * 48 + UNITS + 1
    assert found.parameters == found.trained + 2 * 6  # mean and deviation
    assert found.bytes == 4 * found.parameters
    assert found.flops_per_second == pytest.approx(2 * (lstm_0 + lstm_1 + projection) * VECTORS_PER_SECOND)
    assert found.flops_per_label == 0
    assert (found.vector_ms, found.vector_audio_ms, found.frame_ms) == (10, 25, 10)
    assert (found.past_ms, found.future_ms, found.latency_ms) == (None, 0, 10)


def test_output_delay_is_latency_and_future():
    found = figures_of(family="delayed_lstm", layers=1, cells=3, delay_vectors=5)
    assert (found.past_ms, found.future_ms, found.latency_ms) == (None, 50, 60)


def test_a_strided_convolution_waits_for_its_window():
    found = figures_of(family="conv_lstm_ctc", width_vectors=7, stride=2, filters=4, layers=1, cells=3)
    # A frame for the last vector of its window of 7: blocks of 2 end a vector later, and two vectors wait for a block.
    assert (found.frame_ms, found.future_ms, found.latency_ms) == (20, 10, 30)
    convolution = next(layer for layer in found.layers if layer.name == "convolution")
    assert convolution.flops_per_second == pytest.approx(2 * 7 * 6 * 4 * VECTORS_PER_SECOND / 2, rel=0.01)


@pytest.mark.parametrize("family", ["lstm_ctc", "delayed_lstm", "mocha", "bfa"])
def test_filters_over_frequency_are_applied_at_every_position(family):
    convolution = {"frames": 1, "filters": 3, "width_bins": 2, "pool_bins": 2, "pooled_width_bins": 1, "size": 7}
    layers = {"pooling": [2]} if family in ("mocha", "bfa") else {}  # of what comes behind
    by_name = {
        layer.name: layer
        for layer in figures_of(family=family, layers=2, cells=4, convolution=convolution, **layers).layers
    }
    # Of 6 bins 5 windows of 2, so 2 whole pools of 2.
    assert by_name["convolution_0"].flops_per_second == pytest.approx(2 * (2 * 3) * 4 * VECTORS_PER_SECOND)
    assert by_name["convolution_1"].flops_per_second == pytest.approx(2 * (3 * 3) * 2 * VECTORS_PER_SECOND)
    assert by_name["convolution_projection"].flops_per_second == pytest.approx(2 * (2 * 3 * 7) * VECTORS_PER_SECOND)
    assert by_name["convolution_projection"].parameters == 2 * 3 * 7 + 7


def test_pooling_makes_layers_cheaper_and_the_decoder_runs_once_a_label():
    model = {"layers": 2, "cells": 3, "pooling": [4], "decoder_cells": 5, "embedding": 7, "attention": 8, "readout": 6}
    found = figures_of(family="bfa", ctc=True, **model)
    by_name = {layer.name: layer for layer in found.layers}
    assert by_name["lstm_0_backward"].flops_per_second == pytest.approx(2 * (6 + 3) * 12 * VECTORS_PER_SECOND)
    assert by_name["lstm_1_forward"].flops_per_second == pytest.approx(2 * (6 + 3) * 12 * VECTORS_PER_SECOND / 4)
    assert by_name["ctc"].flops_per_second == pytest.approx(2 * 6 * (UNITS + 1) * VECTORS_PER_SECOND / 4)
    frames = 10 * VECTORS_PER_SECOND / 4  # of the utterance of 10 s
    assert by_name["attention"].flops_per_second == pytest.approx(2 * (6 * 8 + 6) * VECTORS_PER_SECOND / 4)
    assert by_name["attention"].flops_per_label == pytest.approx(2 * (5 * 8 + frames * (8 + 8 + 6)))
    assert by_name["decoder_lstm"].flops_per_label == 2 * (7 + 6 + 5) * 4 * 5
    assert by_name["decoder"].flops_per_label == 2 * ((5 + 7 + 6) * 6 + 3 * (UNITS + 1))
    assert by_name["lstm_0_forward"].flops_per_label == 0
    assert (found.past_ms, found.future_ms, found.latency_ms) == (None, None, None)


def test_a_monotonic_decoder_looks_at_each_frame_once_and_reads_once_a_label():
    model = {"layers": 2, "cells": 3, "pooling": [2], "decoder_cells": 5, "embedding": 7, "attention": 8, "readout": 6}
    by_name = {layer.name: layer for layer in figures_of(family="mocha", chunk=2, **model).layers}
    assert by_name["lstm_1"].flops_per_second == pytest.approx(2 * (3 + 3) * 12 * VECTORS_PER_SECOND / 2)
    assert by_name["monotonic"].flops_per_second == pytest.approx(2 * (5 * 8 + 3 * 8 + 8) * VECTORS_PER_SECOND / 2)
    chunk = 5 * 8 + 2 * (3 * 8 + 8) + 2 * 3  # query, energies of two frames, their weighted sum
    assert by_name["chunkwise"].flops_per_label == 2 * chunk
    assert by_name["chunkwise"].flops_per_second == pytest.approx(2 * chunk * VECTORS_PER_SECOND / 2)
    assert by_name["decoder_lstm"].flops_per_label == 2 * (7 + 3 + 5) * 4 * 5


def test_a_monotonic_model_waits_for_the_block_of_a_vector_and_no_longer():
    found = figures_of(family="mocha", layers=2, cells=3, pooling=[3, 2])
    assert (found.frame_ms, found.future_ms, found.latency_ms) == (60, 50, 60)


def test_heads_that_stop_behind_their_labels_tell_them_as_much_later():
    recipe = recipe_of(family="mocha", layers=2, cells=3, pooling=[3, 2], ctc=True)
    training = recipe.training.model_copy(update={"head_delay_frames": 4, "head_weight": 0.5})
    assert inspect_model(recipe.model_copy(update={"training": training}), UNITS).latency_ms == 60 + 4 * 60


def test_look_ahead_costs_a_chunk_of_latency_for_each_layer_and_what_runs_backwards_hears_all_twice():
    found = figures_of(family="mocha", layers=2, cells=3, pooling=[3, 2], look_ahead=4)
    assert (found.frame_ms, found.future_ms, found.latency_ms) == (60, 710, 720)
    by_name = {layer.name: layer for layer in found.layers}
    each = 2 * (6 + 3) * 12 * VECTORS_PER_SECOND / 3
    assert by_name["lstm_1_forward"].flops_per_second == pytest.approx(each, rel=0.01)
    assert by_name["lstm_1_backward"].flops_per_second == pytest.approx(2 * each, rel=0.01)


@pytest.mark.parametrize("name", ["digits", "digits-bfa", "digits-deepspeech", "digits-mocha", "digits-thesis"])
def test_shapes_are_those_of_the_model_that_trains(name):
    recipe = load_recipe(RECIPES / f"{name}.yaml")
    found = inspect_model(recipe, UNITS)
    model = build_model(recipe.model, found.bins, UNITS)
    assert found.parameters == model.parameters == sum(int(np.prod(w.shape)) for w in model.weights)
    shapes = {f"{layer.name}/{name}": tuple(s) for layer in found.layers for name, s in layer.shapes.items()}
    assert shapes == {path: array.shape for path, array in model.named_weights().items()}


def test_the_paper_s_size_is_counted_without_its_memory():
    result = CliRunner().invoke(command, [str(RECIPES / "librispeech-bfa.yaml"), "--json"], catch_exceptions=False)
    found = json.loads(result.output)
    assert found["trained"] == pytest.approx(372e6, rel=0.01)
    assert found["units_from"] == "text.pieces"


def test_the_table_has_each_layer_and_the_latency(tmp_path):
    (tmp_path / "recipe.yaml").write_text(dump_recipe(tiny_recipe()))
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards/units.json").write_text('{"kind": "words", "symbols": ["one", "two"]}')
    printed = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False).output
    for said in (
        "2 units (",
        "lstm_0",
        "weight 18×48, bias 48",
        "projection",
        "all before, 0 ms after",
        "latency: 10 ms",
    ):
        assert said in printed


def test_a_language_model_costs_by_the_label_and_has_no_latency(tmp_path):
    (tmp_path / "recipe.yaml").write_text(dump_recipe(text_recipe()))
    figures = inspect_model(text_recipe(), units=4)
    assert (figures.bins, figures.flops_per_second) == (0, 0)
    assert figures.flops_per_label == 2 * (18 * 48 + 24 * 48 + 12 * 5)  # two LSTM layers, projection
    done = CliRunner().invoke(command, [str(tmp_path)])
    assert "tiny-lm: lstm_lm, text, 32 units" in done.output
    assert "flop a label" in done.output
    assert "latency" not in done.output


def test_attention_of_a_transformer_costs_by_the_labels_before(tmp_path):
    model = {"family": "transformer_lm", "layers": 2, "size": 8, "heads": 2, "feed_forward": 12, "embedding": 6}
    recipe = Recipe.model_validate(text_recipe().model_dump(mode="json") | {"model": model})
    layer = 4 * 8 * 8 + 2 * 8 * 12 + 2 * 100 * 8  # projections, feed-forward, energies and weighted sum of 100 labels
    assert inspect_model(recipe, units=4).flops_per_label == 2 * (6 * 8 + 2 * layer + 8 * 5)
    (tmp_path / "recipe.yaml").write_text(dump_recipe(recipe))
    assert "flop a label, the last of 100" in CliRunner().invoke(command, [str(tmp_path)]).output


def test_of_an_ensemble_each_member_is_shown(tmp_path):
    manifest = Manifest("tiny", 2, 8000, 12, 0.01, (), "", {}, signature=ENSEMBLE)
    (tmp_path / "manifest.json").write_text(manifest.to_json())
    first, second = tiny_recipe(), recipe_of(family="lstm_ctc", layers=1, cells=7)
    for path, recipe in (("", first), ("members/0", first), ("members/1", second)):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "recipe.yaml").write_text(dump_recipe(recipe))
    renew_checksums(tmp_path)
    printed = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False).output
    found = json.loads(CliRunner().invoke(command, [str(tmp_path), "--json"], catch_exceptions=False).output)["members"]
    assert [one["parameters"] for one in found] == [inspect_model(r, 32).parameters for r in (first, second)]
    assert found[0]["parameters"] != found[1]["parameters"]
    assert printed.index("member 0 of 2:") < printed.index("member 1 of 2:")
    (tmp_path / "members/1/recipe.yaml").write_text(dump_recipe(first))
    with pytest.raises(BadExport, match=r"members/1/recipe\.yaml: SHA-256 .*, expected"):
        CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)


def test_a_folder_without_a_recipe_is_named(tmp_path):
    with pytest.raises(BadRun, match=r"has no recipe\.yaml; expected a recipe, a run folder or an exported model"):
        CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)


def test_a_setting_of_a_model_that_is_made_is_refused(tmp_path):
    (tmp_path / "recipe.yaml").write_text(dump_recipe(tiny_recipe()))
    done = CliRunner().invoke(command, [str(tmp_path), "--set", "model.cells=7"])
    assert done.exit_code == 2
    assert f"--set changes a recipe; {tmp_path} is a folder, whose model is made: leave it out" in done.output


def test_the_units_of_a_recipe_are_its_tokenizers(tmp_path):
    (tmp_path / "units.json").write_text(tiny_units().to_json())
    values = tiny_recipe().model_dump(mode="json")
    values["text"]["tokenizer"] = str(tmp_path / "units.json")
    (tmp_path / "tiny.yaml").write_text(dump_recipe(Recipe.model_validate(values)))
    arguments = [str(tmp_path / "tiny.yaml"), "--json"]
    found = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).output)
    assert (found["units"], found["units_from"]) == (tiny_units().size, str(tmp_path / "units.json"))
    (tmp_path / "units.json").write_bytes(b"\xff")
    with pytest.raises(BadCorpus, match=r"text.tokenizer: .*units.json: 'utf-8' codec"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_units_are_of_no_run_with_another_text_and_a_tokenizer_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shards = tmp_path / "runs" / tiny_recipe().name / "shards"
    shards.mkdir(parents=True)
    (shards / "units.json").write_text(tiny_units().to_json())
    (shards.parent / "recipe.yaml").write_text(dump_recipe(tiny_recipe()))

    def found(**text):
        values = tiny_recipe().model_dump(mode="json")
        values["text"] |= text
        (tmp_path / "tiny.yaml").write_text(dump_recipe(Recipe.model_validate(values)))
        printed = json.loads(CliRunner().invoke(command, ["tiny.yaml", "--json"], catch_exceptions=False).output)
        return printed["units"], printed["units_from"]

    assert found() == (tiny_units().size, f"runs/{tiny_recipe().name}/shards/units.json")
    assert found(units="bpe", pieces=77) == (77, "text.pieces")
    assert found(units="bpe", pieces=77, tokenizer="no.json") == (
        77,
        "text.pieces, as text.tokenizer=no.json is not there",
    )
    assert found(tokenizer="no.json") == (32, "assumed, as text.tokenizer=no.json is not there")


@pytest.mark.parametrize("members", [[], ["0"], ["0", "2"], ["0", "x"]])
def test_an_ensemble_without_all_its_members_is_refused(tmp_path, members):
    for name in members:
        (tmp_path / "members" / name).mkdir(parents=True)
    with pytest.raises(BadExport, match=r"members: found .*; expected the members 0, 1, … of an ensemble"):
        member_folders(tmp_path)
