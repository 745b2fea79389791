import copy
import dataclasses
import json

import numpy as np
import pytest
from training.harness import run, tiny_trainer, weights
from training.tiny import tiny_example, tiny_recipe

from services.process.restarts import FINAL_CODES
from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.ledger import LedgerLost, MemoryLedger, StaleGeneration
from sonorant.training import evaluation
from sonorant.training.collective import SingleProcess
from sonorant.training.identity import identity
from sonorant.training.loop import NonFiniteSteps, Reason
from sonorant.training.rejections import TooManyRejected
from sonorant.training.step import StepResult


def lines(folder, kind):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["kind"] == kind]


@pytest.fixture
def ledger():
    return MemoryLedger(total=22)


def test_a_tiny_task_is_learnt_and_every_example_committed_once_an_epoch(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=12, patience=12, weight_average=0.9), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.EPOCHS
    assert [ledger.progress(e).committed for e in range(12)] == [22] * 12
    steps = lines(tmp_path, "step")
    assert sum(row["examples"] for row in steps) == 12 * 22
    assert steps[-1]["loss"] < 0.3 * steps[0]["loss"]
    assert trainer.progress.best_wer == min(row["wer"] for row in lines(tmp_path, "dev")) < 0.5


def test_every_turn_is_told_to_who_watches_the_loop(ledger, tmp_path):
    turns = []
    trainer = tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22, turned=lambda: turns.append(True))
    run(trainer)
    assert len(turns) > trainer.progress.step > 1  # the normalisation turns too


def test_time_that_is_not_in_steps_is_reported_as_waited(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22)
    waited_s, worked_s = [], []
    trainer.parts.reporter.waited = waited_s.append
    trainer.parts.reporter.worked = lambda busy_s, *_: worked_s.append(busy_s)
    run(trainer)
    progress = trainer.progress
    assert sum(worked_s) == pytest.approx(progress.session_s)
    assert sum(waited_s) == pytest.approx(progress.elapsed_s - progress.session_s)
    assert sum(waited_s) > 0


def test_a_trainer_that_waits_for_its_first_examples_reports_it_at_every_turn(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22)
    waited_s, before_they_came = [], []
    trainer.parts.reporter.waited = waited_s.append
    first = trainer.parts.feeder.first_examples

    def late(patience_s):
        before_they_came.append(len(waited_s))
        return None if len(before_they_came) < 4 else first(patience_s)

    trainer.parts.feeder.first_examples = late
    run(trainer)
    assert before_they_came[:4] == [0, 1, 2, 3]


def test_a_look_at_dev_shows_that_it_goes_on(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "_BATCH", 4)  # of ten utterances
    turns, shown = [], []
    trainer = tiny_trainer(tiny_recipe(epochs=2), tmp_path, ledger, total=22, turned=lambda: turns.append(len(shown)))
    trainer.parts.reporter._show = lambda figures: shown.append(figures.get("evaluated"))
    run(trainer)
    assert [count for count in shown if count] == [4, 8, 10, 14, 18, 20]
    assert {shown.index(4), shown.index(8), shown.index(10)} <= set(turns)


class _LateAt:
    """Steps of a gang whose other rank is late in some turns, in which nothing is trained on."""

    def __init__(self, step, turns):
        self._step, self._turns, self.asked = step, turns, []

    def __getattr__(self, name):
        return getattr(self._step, name)

    def __call__(self, batch, step, notes):
        self.asked.append(notes)
        if len(self.asked) in self._turns:
            return StepResult({"loss": 0.0}, 0.0, 0, False, notes._replace(late=1.0))
        return self._step(batch, step, notes)


def in_order(recipe, order):
    return recipe.model_copy(update={"pipeline": recipe.pipeline.model_copy(update={"order": order})})


def test_a_batch_waits_for_a_rank_that_is_late_and_is_trained_on_once(tmp_path):
    recipe = in_order(tiny_recipe(epochs=2), "strict")
    undisturbed, held = (
        tiny_trainer(recipe, tmp_path / name, MemoryLedger(22), total=22) for name in ("undisturbed", "held")
    )
    run(undisturbed)
    widen, widened = held.parts.held_up, []
    held.parts = dataclasses.replace(
        held.parts, step=_LateAt(held.parts.step, {1, 4, 5}), held_up=lambda: (widened.append(True), widen())
    )
    commit, committed = held.parts.feeder.commit, []
    held.parts.feeder.commit = lambda batch: (committed.append(batch), commit(batch))
    assert run(held) is Reason.EPOCHS
    assert len(held.parts.step.asked) > undisturbed.progress.step + 3
    np.testing.assert_array_equal(weights(held), weights(undisturbed))
    assert held.progress.step == undisturbed.progress.step
    assert len(widened) == 3
    assert held.progress.examples == sum(len(batch.ordinals) for batch in committed) == 44
    assert held.progress.audio_s == pytest.approx(undisturbed.progress.audio_s)
    assert [held.parts.ledger.progress(e).committed for e in range(2)] == [22, 22]


def test_a_batch_that_is_held_when_a_signal_comes_is_left_to_the_next_gang(tmp_path):
    recipe = in_order(tiny_recipe(epochs=1), "strict")
    whole = tiny_trainer(recipe, tmp_path / "whole", MemoryLedger(22), total=22)
    run(whole)
    ledger = MemoryLedger(22)
    first = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22, terminate_after=4)
    first.parts = dataclasses.replace(first.parts, step=_LateAt(first.parts.step, range(3, 9)))
    assert run(first) is Reason.TERMINATED
    assert first._held
    assert ledger.progress(0).committed == first.progress.examples == 8
    second = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22)
    assert run(second) is Reason.EPOCHS
    np.testing.assert_array_equal(weights(second), weights(whole))
    assert ledger.progress(0).committed == 22


@pytest.mark.parametrize("order", ["fast", "strict"])
def test_only_in_strict_order_does_a_rank_without_a_batch_hold_the_others_up(ledger, tmp_path, order):
    trainer = tiny_trainer(in_order(tiny_recipe(epochs=1), order), tmp_path, ledger, total=22)
    steps = _LateAt(trainer.parts.step, ())
    trainer.parts = dataclasses.replace(trainer.parts, step=steps)
    come, trainer._next_batch = trainer._next_batch, lambda: None
    trainer._turn()
    trainer._next_batch = come
    run(trainer)
    assert [notes.late for notes in steps.asked[:2]] == [order == "strict", 0]
    at_the_end = [notes.late for notes in steps.asked if notes.drained]
    assert at_the_end
    assert not any(at_the_end)


def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(tmp_path):
    recipe = tiny_recipe(epochs=2, weight_average=0.9)
    whole = tiny_trainer(recipe, tmp_path / "whole", MemoryLedger(22), total=22)
    run(whole)
    ledger = MemoryLedger(22)
    first = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22, terminate_after=3)
    assert run(first) is Reason.TERMINATED
    assert 0 < ledger.progress(0).committed <= 12  # so that what is drawn next depends on the number of batches
    second = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22)
    assert run(second) is Reason.EPOCHS
    np.testing.assert_array_equal(weights(second), weights(whole))
    assert second.progress.examples == whole.progress.examples == 44
    assert [row["step"] for row in lines(tmp_path / "cut", "step")] == list(range(1, whole.progress.step + 1))
    assert [ledger.progress(e).committed for e in range(2)] == [22, 22]


def test_steps_after_the_last_checkpoint_are_forgotten_and_done_again(tmp_path):
    ledger, recipe = MemoryLedger(22), tiny_recipe(epochs=1, checkpoint_every_steps=2)
    crashing = tiny_trainer(recipe, tmp_path, ledger, total=22)
    crashing.parts.feeder.start()
    for _ in range(3):  # the checkpoint is of step 2
        crashing._turn()
    crashing.parts.feeder.flush()  # as the claim of a later batch would
    crashing.parts.feeder.close()
    crashing.parts.reporter.close()
    assert ledger.progress(0).committed == 12
    again = tiny_trainer(recipe, tmp_path, ledger, total=22)
    assert again.progress.step == 2
    assert ledger.progress(0).committed == 8
    run(again)
    assert again.progress.examples == 22
    assert ledger.progress(0).committed == 22


class _Overslept(SingleProcess):
    """A rank that is stopped when it has committed its step, and wakes when another gang has taken over."""

    def __init__(self, ledger):
        self._ledger = ledger

    def gather(self, value):
        self._ledger.restore(self._ledger.generation() + 1, None)
        return super().gather(value)


def test_a_gang_that_wakes_after_its_end_writes_no_checkpoint(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    trainer.parts.feeder.start()
    trainer._turn()
    trainer.parts = dataclasses.replace(trainer.parts, collective=_Overslept(ledger))
    with pytest.raises(StaleGeneration):
        trainer._save(best=False)
    trainer.parts.feeder.close()
    trainer.parts.reporter.close()
    assert trainer.parts.checkpoints.latest(identity(recipe)) is None


class _Losing(SingleProcess):
    """A gang in which, while the ranks meet before a checkpoint, the ledger's store loses what `lose` makes it lose."""

    def __init__(self, lose):
        self._lose = lose

    def gather(self, value):
        self._lose()
        return super().gather(value)


def test_no_checkpoint_is_written_with_a_ledger_that_lost_the_last_commit(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    trainer.parts.feeder.start()
    trainer._turn()
    trainer.parts.feeder.close()
    before = copy.deepcopy(ledger.store)
    trainer.parts = dataclasses.replace(
        trainer.parts, collective=_Losing(lambda: setattr(ledger, "store", copy.deepcopy(before)))
    )
    with pytest.raises(LedgerLost, match=r"1 of \d+ acknowledged writes"):
        trainer._save(best=False)
    trainer.parts.reporter.close()
    assert trainer.parts.checkpoints.latest(identity(recipe)) is None
    again = tiny_trainer(recipe, tmp_path, ledger, total=22)
    assert run(again) is Reason.EPOCHS
    assert again.progress.examples == ledger.progress(0).committed == 22


class _WithAnother(SingleProcess):
    """A gang with a second rank, which has flushed something that the ledger's store has lost."""

    def gather(self, value):
        batches, receipt = value
        return [value, (batches, receipt._replace(client="the other rank", writes=1))]


def test_no_checkpoint_is_written_with_a_ledger_that_lost_what_another_rank_flushed(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    trainer.parts.feeder.start()
    trainer._turn()
    trainer.parts = dataclasses.replace(trainer.parts, collective=_WithAnother())
    with pytest.raises(LedgerLost, match="1 of 1 acknowledged writes of the other rank are lost"):
        trainer._save(best=False)
    trainer.parts.feeder.close()
    trainer.parts.reporter.close()
    assert trainer.parts.checkpoints.latest(identity(recipe)) is None


def test_an_epoch_is_not_over_while_the_ledger_lacks_an_example(ledger, tmp_path):
    """A rejection that the coordinator wrote is lost: no rank misses it, only the sum."""

    def make(ordinal, epoch=0):
        return tiny_example(ordinal, epoch)._replace(text="five" if ordinal == 3 else "one")

    def lose():
        ledger.store.state.put(0, ledger.store.state.committed(0), Bitmap(22))

    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22, make=make)
    trainer.parts = dataclasses.replace(trainer.parts, collective=_Losing(lose))
    with pytest.raises(LedgerLost, match="epoch 0 is over, but 1 of its 22 examples are not settled") as caught:
        run(trainer)
    assert caught.value.exit_code not in FINAL_CODES
    assert run(tiny_trainer(recipe, tmp_path, ledger, total=22, make=make)) is Reason.EPOCHS
    assert (ledger.progress(0).committed, ledger.progress(0).rejected) == (21, 1)


@pytest.mark.parametrize("resumed", [False, True])
def test_a_gang_that_waits_hears_that_another_has_taken_over(ledger, tmp_path, resumed):
    recipe = tiny_recipe(epochs=1)
    if resumed:
        run(tiny_trainer(recipe, tmp_path, ledger, total=22, terminate_after=3))
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22, terminate_after=3)  # if it hears nothing
    ledger.restore(ledger.generation() + 1, None)
    with pytest.raises(StaleGeneration):  # its feeder was never started: nothing comes, nothing is claimed
        trainer.run()
    trainer.parts.reporter.close()


def spoil(ordinals):
    def make(ordinal, epoch=0):
        example = tiny_example(ordinal, epoch)
        huge = np.full_like(example.features, 3e38)  # finite, so only the step can find out
        return example._replace(features=huge) if ordinal in ordinals else example

    return make


def test_a_step_that_is_not_finite_is_skipped_and_counted(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22)
    model = trainer.parts.step.model
    run_with_moments_of(trainer, spoiled={7})
    assert trainer.progress.skipped_steps == 1
    assert ledger.progress(0).committed == 22
    assert all(np.isfinite(w).all() for w in model.named_weights().values())


def run_with_moments_of(trainer, spoiled):
    """Spoil features behind the normalisation's back: NaN can only come from arithmetic inside the step."""
    original = trainer.parts.feeder.get

    def get(timeout_s):
        item = original(timeout_s)
        if spoiled & set(getattr(item, "ordinals", ())):
            tensors = item.tensors._replace(features=item.tensors.features * np.nan)
            return dataclasses.replace(item, tensors=tensors)
        return item

    trainer.parts.feeder.get = get
    return run(trainer)


def test_a_run_that_stays_not_finite_stops_and_names_the_utterances(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=1, max_bad_steps=2), tmp_path, ledger, total=22)
    before = weights(trainer)
    with pytest.raises(NonFiniteSteps, match="step 2: loss or gradient not finite in 2 steps in a row") as caught:
        run_with_moments_of(trainer, spoiled=set(range(22)))
    assert len(caught.value.utterances) == 4
    assert set(caught.value.utterances) <= {f"u{o}" for o in range(22)}
    np.testing.assert_array_equal(weights(trainer)[12:], before[12:])  # all but mean and deviation


def test_what_cannot_be_trained_on_is_rejected_at_the_ledger_and_the_epoch_completes(ledger, tmp_path):
    def make(ordinal, epoch=0):
        return tiny_example(ordinal, epoch)._replace(text="five" if ordinal == 3 else "one")

    run(tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22, make=make))
    assert (ledger.progress(0).committed, ledger.progress(0).rejected) == (21, 1)
    (rejection,) = ledger.rejections()
    assert (rejection.utterance, rejection.stage) == ("u3", "trainer")


@pytest.mark.parametrize("usable", [10, 9, 0])
def test_more_rejections_than_the_recipe_allows_end_training_with_the_commonest_reason(ledger, tmp_path, usable):
    def make(ordinal, epoch=0):
        text = "five" if ordinal == 21 else "" if ordinal >= usable else "one"
        return tiny_example(ordinal, epoch)._replace(text=text)

    trainer = tiny_trainer(tiny_recipe(epochs=2, max_rejected=0.55), tmp_path, ledger, total=22, make=make)
    if usable == 10:
        assert run(trainer) is Reason.EPOCHS
        return
    with pytest.raises(TooManyRejected) as caught:
        run(trainer)
    rejected = 22 - usable
    said = f"epoch 0: {rejected} of 22 examples were rejected, {rejected - 1} of the {rejected} first by stage trainer"
    assert said in str(caught.value)
    assert f"such as u{usable}: empty transcript: there is nothing to learn from it" in str(caught.value)
    assert "training.max_rejected=0.55" in str(caught.value)


def test_training_stops_when_dev_gets_no_better(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=9, patience=2, learning_rate=1e-9), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.PATIENCE
    assert trainer.progress.epoch == 3
    assert run(tiny_trainer(tiny_recipe(epochs=9, patience=2), tmp_path, ledger, total=22)) is Reason.PATIENCE


def test_training_stops_in_time_with_a_look_at_dev(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=500, max_minutes=0.1), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.TIME  # the clock of the harness jumps
    assert 6 <= trainer.progress.train_s < 12
    assert trainer.progress.wer is not None
