"""The training loop: learning, what it reports, and when it ends."""

import pytest
from training.harness import lines, run, tiny_trainer
from training.tiny import tiny_recipe

from sonorant.recipe import Recipe
from sonorant.training import evaluation
from sonorant.training.loop import Reason


def test_a_tiny_task_is_learnt_and_every_example_committed_once_an_epoch(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=12, patience=12, weight_average=0.9), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.EPOCHS
    assert [ledger.progress(e).committed for e in range(12)] == [22] * 12
    steps = lines(tmp_path, "step")
    assert sum(row["examples"] for row in steps) == 12 * 22
    assert steps[-1]["loss"] < 0.3 * steps[0]["loss"]
    assert trainer.progress.best_dev == min(row["wer"] for row in lines(tmp_path, "dev")) < 0.5


def test_every_turn_is_told_to_who_watches_the_loop(ledger, tmp_path):
    iterations = []
    trainer = tiny_trainer(
        tiny_recipe(epochs=1), tmp_path, ledger, total=22, on_iteration=lambda: iterations.append(True)
    )
    run(trainer)
    assert len(iterations) > trainer.progress.step > 1  # the normalisation iterations too


def test_time_that_is_not_in_steps_is_reported_as_waited(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22)
    waited_s, worked_s = [], []
    trainer.ports.reporter.waited = waited_s.append
    trainer.ports.reporter.worked = lambda busy_s, *_: worked_s.append(busy_s)
    run(trainer)
    progress = trainer.progress
    assert sum(worked_s) == pytest.approx(progress.session_s)
    assert sum(waited_s) == pytest.approx(progress.elapsed_s - progress.session_s)
    assert sum(waited_s) > 0


def test_a_trainer_that_waits_for_its_first_examples_reports_it_at_every_turn(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22)
    waited_s, before_they_came = [], []
    trainer.ports.reporter.waited = waited_s.append
    first = trainer.parts.feeder.first_examples

    def late(patience_s):
        before_they_came.append(len(waited_s))
        return None if len(before_they_came) < 4 else first(patience_s)

    trainer.parts.feeder.first_examples = late
    run(trainer)
    assert before_they_came[:4] == [0, 1, 2, 3]


def test_a_look_at_dev_shows_that_it_goes_on(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "_BATCH", 4)  # of ten utterances
    iterations, shown = [], []
    trainer = tiny_trainer(
        tiny_recipe(epochs=2),
        tmp_path,
        ledger,
        total=22,
        on_iteration=lambda: iterations.append(len(shown)),
        show=lambda figures: shown.append(figures.get("evaluated")),
    )
    run(trainer)
    assert [count for count in shown if count] == [4, 8, 10, 14, 18, 20]
    assert {shown.index(4), shown.index(8), shown.index(10)} <= set(iterations)


def test_training_stops_when_dev_gets_no_better(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=9, patience=2, learning_rate=1e-9), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.PATIENCE
    assert trainer.progress.epoch == 3
    assert run(tiny_trainer(tiny_recipe(epochs=9, patience=2), tmp_path, ledger, total=22)) is Reason.PATIENCE


def test_training_stops_in_time_with_a_look_at_dev(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=500, max_minutes=0.1), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.TIME  # the clock of the harness jumps
    assert 6 <= trainer.progress.train_s < 12
    assert trainer.progress.dev is not None


def annealing_recipe(epochs):
    values = tiny_recipe(epochs=epochs, patience=50, learning_rate=1e-12).model_dump(mode="json")
    values["training"] |= {"anneal_dropout": [0.2, 0.0], "anneal_patience": 2}
    family = {"family": "conv_lstm_ctc", "width_vectors": 1, "stride": 1, "filters": 4, "layers": 1, "cells": 4}
    return Recipe.model_validate(values | {"model": family})


def test_dropout_is_annealed_on_a_plateau_from_the_best_checkpoint_on(ledger, tmp_path):
    rates = []
    trainer = tiny_trainer(annealing_recipe(7), tmp_path, ledger, total=22)  # which learns nothing
    step = trainer.parts.step
    save, restore = trainer.save, step.restore
    restored = []
    step.restore = lambda checkpoint: (restored.append(checkpoint.progress.step), restore(checkpoint))
    trainer.save = lambda *given, **named: (rates.append(float(step.model.drop.rate.numpy())), save(*given, **named))
    trainer.parts.evaluator.measure = lambda recognised: 1.0
    run(trainer)
    assert rates == pytest.approx([0.5, 0.5, 0.2, 0.2, 0.0, 0.0, 0.0])  # after the 1st, 3rd and 5th: best, 2 without
    assert restored == [6, 6]
    assert trainer.progress.anneals == 2
    told = [(row["dropout"], row["from_step"]) for row in lines(tmp_path, "anneal")]
    assert told == [(pytest.approx(0.2), 6), (0.0, 6)]


def test_batches_that_waited_when_the_best_was_written_are_of_no_later_step(ledger, tmp_path):
    values = annealing_recipe(4).model_dump(mode="json")
    values["training"] |= {"accumulate_batches": 4, "anneal_dropout": [0.0], "anneal_patience": 1}
    for minutes in (5 / 60, 0):  # the first, and only best, evaluation is in the middle of a step
        recipe = Recipe.model_validate(values | {"training": values["training"] | {"max_minutes": minutes}})
        trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
        trainer.parts.evaluator.measure = lambda recognised: 1.0
        run(trainer)
    assert trainer.progress.anneals == 1
    assert sum(row["examples"] for row in lines(tmp_path, "step")) == trainer.progress.examples == 88


def test_a_resumed_run_keeps_the_annealed_rate(ledger, tmp_path):
    first = tiny_trainer(annealing_recipe(3), tmp_path, ledger, total=22)
    first.parts.evaluator.measure = lambda recognised: 1.0
    run(first)
    again = tiny_trainer(annealing_recipe(4), tmp_path, ledger, total=22)
    again.ports.reporter.close()
    assert again.progress.anneals == 1
    assert float(again.parts.step.model.drop.rate.numpy()) == pytest.approx(0.2)


def test_dropout_that_would_never_be_annealed_is_refused():
    with pytest.raises(ValueError, match="anneal_patience=10 above patience=3: training ends before"):
        tiny_recipe(anneal_dropout=[0.0], anneal_patience=10, patience=3)


def test_a_family_whose_dropout_is_fixed_is_refused_with_annealing():
    with pytest.raises(ValueError, match=r"the dropout of model\.family=lstm_ctc is fixed"):
        tiny_recipe(anneal_dropout=[0.1])
