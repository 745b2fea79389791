"""Steps that are not finite, and examples that cannot be trained on."""

import dataclasses
import itertools

import numpy as np
import pytest
from training.harness import run, tiny_trainer, weights
from training.tiny import tiny_example, tiny_recipe

from sonorant.training.checkpoints import load_checkpoint
from sonorant.training.collective import SingleProcess
from sonorant.training.loop import Reason
from sonorant.training.non_finite import NonFiniteSteps, NonFiniteWeights
from sonorant.training.rejections import TooManyRejected


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


def test_weights_that_an_update_has_made_infinite_are_in_no_checkpoint(ledger, tmp_path):
    trainer = tiny_trainer(tiny_recipe(epochs=2), tmp_path, ledger, total=22)
    after_step, broken = trainer._after_step, trainer.parts.step.model.trainable_variables[0]

    def update(result):
        after_step(result)
        if trainer.progress.epoch == 1:
            broken.assign(broken * np.inf)

    trainer._after_step = update
    with pytest.raises(NonFiniteWeights, match=r"the weights .* are not finite; the latest checkpoint"):
        run(trainer)
    kept = load_checkpoint(tmp_path / "checkpoints", "latest")
    assert kept.progress.epoch == 1
    assert all(np.isfinite(one).all() for one in kept.weights.values())


class Watched(SingleProcess):
    """Notes which checkpoints there are at each gather, where all ranks are at the same time."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.seen = folder, []

    def gather(self, value):
        self.seen.append([path.name for path in self.folder.glob("step-*")])
        return super().gather(value)


def test_a_run_that_stops_so_keeps_its_last_good_weights_and_goes_on_from_them(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1, max_bad_steps=2)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    original, got = trainer.parts.feeder.get, itertools.count()

    def get(timeout_s):
        item = original(timeout_s)
        if getattr(item, "ordinals", ()) and next(got) >= 3:
            return dataclasses.replace(item, tensors=item.tensors._replace(features=item.tensors.features * np.nan))
        return item

    trainer.parts.feeder.get = get
    watched = Watched(tmp_path / "checkpoints")
    trainer.ports = dataclasses.replace(trainer.ports, collective=watched)
    with pytest.raises(NonFiniteSteps, match=r"step 5: .* the latest checkpoint has what was learnt before"):
        run(trainer)
    assert watched.seen[-2:] == [[], ["step-00000005"]]  # no rank ends before it is written
    kept = load_checkpoint(tmp_path / "checkpoints", "latest")
    assert (kept.progress.step, kept.progress.skipped_steps, kept.progress.bad_steps) == (5, 2, 0)
    for name, weight in trainer.parts.step.model.named_weights().items():
        np.testing.assert_array_equal(kept.weights[name], weight)
    assert ledger.progress(0).committed < 22
    again = tiny_trainer(recipe, tmp_path, ledger, total=22)
    assert run(again) is Reason.EPOCHS
    assert ledger.progress(0).committed == 22


def test_a_run_that_never_gets_beyond_them_ends_so_each_time_and_keeps_nothing(ledger, tmp_path):
    for _ in range(3):
        trainer = tiny_trainer(tiny_recipe(epochs=1, max_bad_steps=2), tmp_path, ledger, total=22)
        with pytest.raises(NonFiniteSteps, match="step 2: "):
            run_with_moments_of(trainer, spoiled=set(range(22)))
        assert not list((tmp_path / "checkpoints").glob("step-*"))


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
