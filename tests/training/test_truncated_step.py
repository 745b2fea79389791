"""Truncated unrolling beside full unrolling through plain operations, cut by `stop_gradient` at the chunks' bounds."""

import math
import threading
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from pydantic import ValidationError
from rigs.tiny_convolution import SECTION_2D
from training import by_frame
from training.by_frame import FAMILIES, LOSSES, frame_recipe, labelled, normalised_model, objective_of
from training.tiny import BINS

from sonorant.models.family import Inputs
from sonorant.tensorflow import tf
from sonorant.training.collective import SingleProcess
from sonorant.training.schedule import learning_rate
from sonorant.training.step import Notes
from sonorant.training.unrolling import batch_layout, build_step

VECTORS = 4


def truncated(recipe, collective=None):
    return build_step(normalised_model(recipe), objective_of(recipe), recipe, collective or SingleProcess())


def batch_of(recipe, ordinals):
    return batch_layout(objective_of(recipe), recipe)(0, 0, labelled(recipe, ordinals)).tensors


class Summing:
    """An optimizer that adds gradients up, and leaves the weights as they are."""

    def __init__(self, variables):
        self.sums = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.t = tf.Variable(0.0)
        self.rates = tf.Variable(0.0)

    def update(self, gradients, rate):
        self.t.assign_add(1.0)
        self.rates.assign_add(rate)
        for total, gradient in zip(self.sums, gradients, strict=True):
            total.assign_add(gradient)

    def clear(self):
        for variable in (*self.sums, self.t, self.rates):
            variable.assign(tf.zeros_like(variable))


def summing(recipe):
    step = truncated(recipe)
    step.optimizer = Summing(step._variables)
    return step


def plain_lstm(layer, vector, cell, hidden):
    """One step of the recurrence (Hochreiter 1997; Gers 2000), with the weights of a layer."""
    i, g, f, o = tf.split(tf.concat([vector, hidden], 1) @ layer.weight.value + layer.bias.value, 4, 1)
    cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
    return cell, tf.sigmoid(o) * tf.tanh(cell)


def reference_frames(model, item, vectors, delay):
    """Log-probabilities of an utterance's frames, vector by vector; the state counts as a constant every so many."""
    tail = np.repeat(np.asarray(model.normalisation.padding)[None], delay, 0)
    features = tf.constant(np.concatenate([item.features, tail]))[None]
    normal, _ = model.normalisation(features, model.initial_state(1)[2 * len(model.encoder) :])
    normal = model.convolution(normal)
    state = [tf.zeros((1, layer.cells)) for layer in model.encoder for _ in range(2)]
    frames = []
    for t in range(len(item.features) + delay):
        if t % vectors == 0:
            state = [tf.stop_gradient(s) for s in state]
        vector = normal[:, t]
        for n, layer in enumerate(model.encoder):
            state[2 * n], state[2 * n + 1] = plain_lstm(layer, vector, state[2 * n], state[2 * n + 1])
            vector = state[2 * n + 1]
        if t >= delay:
            frames.append(tf.nn.log_softmax(model.projection(vector)))
    return tf.stack(frames, 1)


def reference_loss(frames, item, recipe, step):
    """The loss of an utterance, and its part that is reported."""
    symbols = item.targets["frames"]
    entropy = -tf.add_n([frames[0, t, int(symbol)] for t, symbol in enumerate(symbols) if symbol >= 0] or [0.0])
    if recipe.training.objective == "frame_cross_entropy":
        return entropy, entropy
    labels = item.targets["labels"]
    lengths = {"label_length": [len(labels)], "logit_length": [frames.shape[1]]}
    ctc = tf.nn.ctc_loss([labels], frames, **lengths, logits_time_major=False, blank_index=-1)[0]
    return ctc + recipe.training.alignment_weight * (1 - step / recipe.training.alignment_steps) * entropy, ctc


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_of_all_chunks_add_up_to_those_of_full_unrolling_cut_at_their_bounds(family, loss):
    recipe = frame_recipe(FAMILIES[family], unroll_vectors=VECTORS, unroll_rows=1, clip_norm=1e9, **LOSSES[loss])
    step, ordinals = summing(recipe), [0, 4]
    result = step(batch_of(recipe, ordinals), 3, Notes())
    model, delay = step.model, recipe.model.framing.lead
    with tf.GradientTape() as tape:
        losses = [
            reference_loss(reference_frames(model, item, VECTORS, delay), item, recipe, 3)
            for item in labelled(recipe, ordinals)
        ]
        minimised, reported = (tf.add_n(parts) for parts in zip(*losses, strict=True))
    expected = tape.gradient(minimised, step._variables)
    for found, gradient, variable in zip(step.optimizer.sums, expected, step._variables, strict=True):
        np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-5, err_msg=variable.name)
    assert result.loss == pytest.approx(float(reported) / 2, rel=1e-5)
    assert (result.examples, result.applied, result.updates) == (2, True, int(step.optimizer.t))
    rates = [learning_rate(3 + number, recipe.training, 0) for number in range(result.updates)]
    assert float(step.optimizer.rates) == pytest.approx(sum(rates))
    spans = [len(item.features) + delay for item in labelled(recipe, ordinals)]
    assert result.updates == sum(-(-(span - delay // VECTORS * VECTORS) // VECTORS) for span in spans)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_chunk_as_long_as_the_utterance_has_the_gradient_of_full_unrolling_with_its_dropout(loss):
    model, options = by_frame.PLAIN | {"dropout": 0.5}, {"clip_norm": 1e9} | LOSSES[loss]
    (item,) = labelled(frame_recipe(model, **options), [4])
    found = []
    for unrolling in ({"unroll_vectors": item.frames, "unroll_rows": 1}, {}):
        recipe = frame_recipe(model, **options, **unrolling)
        step = summing(recipe)
        result = step(batch_of(recipe, [4]), 3, Notes())
        found.append([result.loss, result.gradient_norm, *step.optimizer.sums])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_batch_normalisation_of_chunks_with_a_delay_is_refused():
    model = FAMILIES["convolution_2d, late"] | {"convolution_2d": SECTION_2D}
    with pytest.raises(ValidationError, match=r"convolution_2d\.batch_normalisation to false, or unroll_vectors to 0"):
        frame_recipe(model, unroll_vectors=VECTORS, unroll_rows=1)
    frame_recipe(model)


@pytest.mark.parametrize("loss", LOSSES)
def test_batch_normalisation_is_by_the_vectors_of_a_chunk(loss):
    model = FAMILIES["convolution_2d"] | {"convolution_2d": SECTION_2D}
    recipe = frame_recipe(model, unroll_vectors=VECTORS, unroll_rows=1, **LOSSES[loss])
    step = truncated(recipe)
    counts, update = [], step.model.update_moments
    step.model.update_moments = lambda sums: (
        tf.py_function(lambda n: counts.append(float(n)), [sums[0][-1]], []),
        update(sums),
    )
    ordinals = [0, 4]
    step(batch_of(recipe, ordinals), 3, Notes())
    vectors = [len(item.features) for item in labelled(recipe, ordinals)]
    positions = step.model.recipe.convolution_2d.feature_maps(BINS)[1].bins
    assert sum(counts) == sum(vectors) * positions
    assert max(counts) == VECTORS * positions
    steps = {n: float(v) for n, v in step.model.named_weights().items() if n.endswith("_normal/steps")}
    assert set(steps.values()) == {len(counts)}


@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_carried_from_chunk_to_chunk_are_those_of_whole_utterances(family):
    recipe = frame_recipe(FAMILIES[family])
    model, delay = normalised_model(recipe), recipe.model.framing.lead
    (item,) = labelled(recipe, [4])
    whole = model.outputs(Inputs(item.features[None], tf.constant([item.frames])))
    state, frames = model.initial_state(1), []
    for first in range(0, item.frames + delay, VECTORS):
        part = np.zeros((VECTORS, BINS), np.float32)
        own = item.features[first : first + VECTORS]
        part[: len(own)] = own
        outputs, state = model.carry(Inputs(tf.constant(part[None]), tf.constant([len(own)])), state)
        frames.append(outputs.frames[0])
    found = np.concatenate(frames)[delay : delay + item.frames]
    np.testing.assert_allclose(found, whole.frames[0], atol=1e-6)


def test_a_step_has_the_mean_over_the_rows_that_have_a_target():
    recipe = frame_recipe(unroll_vectors=50, unroll_rows=2, clip_norm=1e9)
    step, found = summing(recipe), []
    for ordinals in ([0], [1], [0, 1]):
        step.optimizer.clear()
        assert step(batch_of(recipe, ordinals), 0, Notes()).updates == 1
        found.append([total.numpy() for total in step.optimizer.sums])
    for first, second, both in zip(*found, strict=True):
        np.testing.assert_allclose(both, (first + second) / 2, atol=1e-5)


def test_each_chunk_has_a_dropout_of_its_own():
    recipe = frame_recipe(by_frame.PLAIN | {"dropout": 0.5}, unroll_vectors=50, unroll_rows=1)
    step = summing(recipe)
    first, again, second = (step(batch_of(recipe, [4]), number, Notes()).loss for number in (7, 7, 8))
    assert first == again
    assert abs(first - second) > 0.01
    both = step(batch_of(recipe, [4, 4]), 7, Notes())
    assert both.updates == 2
    assert both.loss == pytest.approx((first + second) / 2, rel=1e-5)


def test_a_delay_before_the_first_output_makes_no_step():
    recipe = frame_recipe(FAMILIES["delayed_lstm"] | {"delay_vectors": 5}, unroll_vectors=5, unroll_rows=1)
    (item,) = labelled(recipe, [4])
    result = truncated(recipe)(batch_of(recipe, [4]), 0, Notes())
    assert result.updates == -(-(item.frames + 5) // 5) - 1


def test_after_a_step_that_is_not_finite_the_rest_of_the_batch_is_left_out():
    recipe = frame_recipe(unroll_vectors=VECTORS, unroll_rows=1)
    step, tensors = summing(recipe), batch_of(recipe, [4])
    assert len(tensors.weights) > 2
    step(tf.nest.map_structure(lambda tensor: tensor[:1], tensors), 0, Notes())
    expected = [total.numpy() for total in step.optimizer.sums]
    step.optimizer.clear()
    mask = np.ones(tensors.features.shape, np.float32)
    mask[1] = np.nan
    result = step(tensors._replace(features=tensors.features * mask), 0, Notes())
    assert (result.applied, result.updates, result.examples, float(step.optimizer.t)) == (False, 2, 1, 1.0)
    for found, first in zip(step.optimizer.sums, expected, strict=True):
        np.testing.assert_array_equal(found, first)


def test_the_gradient_norm_of_a_batch_leaves_out_steps_that_overflowed(monkeypatch):
    recipe = frame_recipe(unroll_vectors=VECTORS, unroll_rows=1, precision="float16")
    step, tensors = summing(recipe), batch_of(recipe, [4])
    norms = [2.0, math.inf, 4.0] + [3.0] * (len(tensors.weights) - 3)
    result_of, made = step._result, iter(norms)

    def result(vector):
        norm = next(made)
        return replace(result_of(vector), gradient_norm=norm, overflowed=math.isinf(norm), applied=not math.isinf(norm))

    monkeypatch.setattr(step, "_result", result)
    assert step(tensors, 0, Notes()).gradient_norm == 3.0


class Pair:
    """A rank of two, in threads of one process."""

    size = 2
    barrier = threading.Barrier(2, timeout=60)
    given: ClassVar = {}

    def __init__(self, rank):
        self.rank = rank

    def sum(self, tensors, name):
        def exchange(*own):
            self.given[self.rank] = own
            self.barrier.wait()
            total = [a + b for a, b in zip(self.given[0], self.given[1], strict=True)]
            self.barrier.wait()
            return total

        summed = tf.numpy_function(exchange, tensors, [t.dtype for t in tensors])
        for total, tensor in zip(summed, tensors, strict=True):
            total.set_shape(tensor.shape)
        return summed


def both_ranks(recipe, shares, notes):
    """Return the results and weights of two ranks that are given batches of these examples, or None."""
    found = {}

    def train(rank):
        step, number, results = truncated(recipe, Pair(rank)), 0, []
        for share, late in zip(shares, notes, strict=True):
            own = share[rank]
            batch = batch_of(recipe, own) if own else None
            results.append(step(batch, number, Notes(late=late[rank], audio_s=float(len(own)))))
            number += results[-1].updates * bool(results[-1].examples)
        found[rank] = results, step.model.named_weights()

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found[0], found[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_ranks_with_unlike_numbers_of_chunks_make_the_steps_of_one_rank(loss):
    shares = [([0, 1], [2, 3]), ([4], []), ([5, 6], [7]), ([], [8, 9])]
    recipe = frame_recipe(unroll_vectors=VECTORS, unroll_rows=2, **LOSSES[loss])
    one = frame_recipe(unroll_vectors=VECTORS, unroll_rows=4, **LOSSES[loss])
    step, number, expected = truncated(one), 0, []
    for first, second in shares[:2] + shares[3:]:
        expected.append(step(batch_of(one, [*first, *second]), number, Notes(audio_s=len(first) + len(second))))
        number += expected[-1].updates
    late = [(0.0, 0.0), (0.0, 0.0), (0.0, 1.0), (0.0, 0.0)]  # the third batch is not trained on
    (results, own), (others, other) = both_ranks(recipe, shares, late)
    assert results == others
    assert results.pop(2).examples == 0
    for found, wanted in zip(results, expected, strict=True):
        assert (found.examples, found.updates, found.notes.audio_s) == (
            wanted.examples,
            wanted.updates,
            wanted.notes.audio_s,
        )
        np.testing.assert_allclose([found.loss, found.gradient_norm], [wanted.loss, wanted.gradient_norm], rtol=1e-4)
    for name, array in step.model.named_weights().items():
        np.testing.assert_allclose(own[name], array, atol=1e-5, err_msg=name)
        np.testing.assert_array_equal(own[name], other[name])
