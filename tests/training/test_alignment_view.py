import json

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from training.harness import lines, run, tiny_trainer
from training.tiny import BINS, tiny_example, tiny_recipe, tiny_units

from sonorant.delivery.ledger import MemoryLedger
from sonorant.models.registry import build_model
from sonorant.recipe.schema import Recipe
from sonorant.training.alignment_view import alignment_function, is_plottable
from sonorant.training.checkpoints import Progress
from sonorant.training.collective import SingleProcess
from sonorant.training.evaluation import DevUtterance, WerEvaluator
from sonorant.training.metrics import MetricsLog
from sonorant.training.reporting import Reporter

EXAMPLE = tiny_example(3)
LABELS = tiny_units().labels(EXAMPLE.text)
BFA = {"family": "bfa", "layers": 1, "cells": 8, "pooling": [], "decoder_cells": 8, "attention": 6, "readout": 8}


def model_of(section):
    recipe = Recipe.model_validate(tiny_recipe().model_dump(mode="json") | {"model": section})
    return build_model(recipe.model, BINS, tiny_units().size, seed=1)


def test_with_ctc_a_label_has_the_posterior_of_its_unit_at_each_frame():
    model = model_of({"family": "lstm_ctc", "layers": 1, "cells": 8})
    found = alignment_function(model, tiny_units())(EXAMPLE.features, LABELS)
    log_probs, _ = model.step(EXAMPLE.features[None], model.initial_state(1))
    np.testing.assert_allclose(found.weights, np.exp(np.asarray(log_probs)[0][:, LABELS].T), atol=1e-5)
    assert found.labels == tuple(EXAMPLE.text.split())


def test_with_attention_a_label_and_the_end_have_its_weights():
    found = alignment_function(model_of(BFA), tiny_units())(EXAMPLE.features, LABELS)
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    assert found.weights.shape == (len(LABELS) + 1, len(EXAMPLE.features))
    assert found.labels == (*EXAMPLE.text.split(), "</s>")


LSTM = {"family": "lstm_ctc", "layers": 1, "cells": 8}


def evaluator(dev, section=LSTM):
    made = WerEvaluator(model_of(section), tiny_units(), dev, SingleProcess())
    made.load()
    return made


def test_the_utterance_of_median_length_is_shown_that_can_be_spelt_and_plotted():
    texts = ["one", "two", "three", "unspelt", "four"]
    dev = [DevUtterance(np.zeros((n, BINS), np.float32), text) for n, text in zip((3, 4, 5, 6, 7), texts, strict=True)]
    assert evaluator(dev).alignment().labels == ("three",)
    dev[2] = DevUtterance(dev[2].features, "unspelt")
    assert evaluator(dev).alignment().labels == ("two",)
    long = DevUtterance(np.zeros((20_001, BINS), np.float32), "one")
    assert evaluator([long]).alignment() is None
    assert evaluator([]).alignment() is None
    assert [is_plottable(20_000, 1), is_plottable(20_001, 1), is_plottable(9, 0)] == [True, False, False]


def test_an_utterance_that_makes_no_frame_is_not_shown():
    section = {"family": "conv_lstm_ctc", "layers": 1, "cells": 4, "filters": 4, "width_vectors": 8, "stride": 1}
    short, long = (DevUtterance(np.zeros((n, BINS), np.float32), text) for n, text in ((7, "one"), (8, "two")))
    assert evaluator([short, short, long], section).alignment() is None
    assert evaluator([short, long, long], section).alignment().weights.shape == (1, 1)


def test_every_evaluation_of_dev_logs_it_and_draws_it(tmp_path):
    recipe = tiny_recipe(epochs=2)
    trainer = tiny_trainer(recipe, tmp_path, MemoryLedger(22), total=22)
    run(trainer)
    logged = lines(tmp_path, "alignment")
    assert [line["step"] for line in logged] == [line["step"] for line in lines(tmp_path, "dev")]
    assert len({tuple(line["labels"]) for line in logged}) == 1
    reporter = Reporter(MetricsLog(tmp_path / "log", 0.0), tmp_path / "board")
    reporter.dev(Progress(step=7, dev=0.5), "wer", 1.0, trainer.parts.evaluator.alignment())
    reporter.close()
    events = EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    (image,) = events.Tensors("dev/alignment")
    _, height, _ = image.tensor_proto.string_val
    assert (image.step, int(height)) == (7, 12 * len(logged[-1]["labels"]))


def test_percentages_are_those_of_the_weights(tmp_path):
    reporter = Reporter(MetricsLog(tmp_path / "log", 0.0))
    view = alignment_function(model_of(BFA), tiny_units())(EXAMPLE.features, LABELS)
    reporter.dev(Progress(step=1, dev=0.5), "wer", 1.0, view)
    reporter.close()
    line = json.loads((tmp_path / "log").read_text().splitlines()[-1])
    assert np.array(line["percent"]) == pytest.approx(100 * view.weights, abs=0.51)
