import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.beads import BINS, WORDS, beads

from sonorant.features.section import FeaturesRecipe
from sonorant.models.family import Inputs
from sonorant.models.mocha import Mocha
from sonorant.models.section import MochaRecipe
from sonorant.objectives.ctc import frames_needed
from sonorant.objectives.forced_alignment import force_align
from sonorant.objectives.head_alignment import ctc_spikes, delayed, head_alignment_loss
from sonorant.objectives.label_cross_entropy import LabelCrossEntropy
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units
from sonorant.training.adam import Adam
from sonorant.training.greedy import greedy

BLANK = 3


def highest_of_each(log_probs, labels):
    """By `force_align`: the frame of each label's highest probability among those of its run on the path."""
    path, runs = force_align(log_probs, labels, BLANK), []
    for t, symbol in enumerate(path):
        if symbol == BLANK:
            continue
        if t == 0 or path[t - 1] != symbol:
            runs.append([])
        runs[-1].append(t)
    return [max(run, key=lambda t: log_probs[t, path[t]]) for run in runs]


spikes = tf.function(ctc_spikes, reduce_retracing=True)


@given(st.integers(0, 10_000), st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=2, max_size=3))
@settings(max_examples=40, deadline=None)
def test_spikes_are_those_of_forced_alignment_one_by_one(seed, labels):
    rng = np.random.default_rng(seed)
    lengths = np.array([frames_needed(one) + rng.integers(0, 5) for one in labels], np.int32)
    log_probs = rng.normal(0, 2, (len(labels), lengths.max(), 4)).astype(np.float32)
    padded = np.full((len(labels), max(map(len, labels))), rng.integers(-1, 3), np.int32)
    for row, one in zip(padded, labels, strict=True):
        row[: len(one)] = one
    found = spikes(log_probs, lengths, padded, np.array([len(one) for one in labels], np.int32)).numpy()
    for i, one in enumerate(labels):
        assert list(found[i, : len(one)]) == highest_of_each(log_probs[i, : lengths[i]], one)


def test_a_batch_of_one_frame_has_its_spike_there():
    log_probs = np.log(np.full((1, 1, 4), 0.25, np.float32))
    assert ctc_spikes(log_probs, tf.constant([1]), tf.constant([[2]]), tf.constant([1])).numpy().tolist() == [[0]]


def test_loss_is_the_log_probability_of_heads_at_their_frames_and_of_none_at_the_end():
    heads = np.random.default_rng(2).uniform(0, 0.3, (2, 4, 3)).astype(np.float32)
    loss = head_alignment_loss(tf.constant(heads), tf.constant([[0, 2, 1], [1, 0, 0]]), tf.constant([3, 1]))
    labels = [-np.log(heads[0, [0, 1, 2], [0, 2, 1]]).sum(), -np.log(heads[1, 0, 1])]
    ends = -np.log([1 - heads[0, 3].sum(), 1 - heads[1, 1].sum()])
    np.testing.assert_allclose(loss, labels + ends, rtol=1e-5)
    impossible = tf.constant([[[0.0, 1.0], [1.0, 0.0]]])
    assert np.isfinite(head_alignment_loss(impossible, tf.constant([[0]]), tf.constant([1]))).all()


def test_delayed_frames_stay_within_their_utterance():
    frames, lengths = tf.constant([[0, 3, 4], [1, 2, 0], [0, 0, 0]]), tf.constant([5, 9, 0])
    assert delayed(frames, 2, lengths).numpy().tolist() == [[2, 4, 4], [3, 4, 2], [0, 0, 0]]
    assert delayed(frames, 0, lengths).numpy().tolist() == frames.numpy().tolist()


def test_heads_are_aligned_behind_their_labels_by_the_recipes_delay():
    section = {"layers": 1, "cells": 8, "pooling": [2], "decoder_cells": 8, "embedding": 4, "attention": 6}
    model = Mocha(MochaRecipe(family="mocha", readout=8, dropout=0.0, ctc=True, **section), BINS, WORDS, seed=1)
    features, lengths, labels, counts = map(tf.constant, beads(np.random.default_rng(3), 4))
    batch, seed = BatchTensors(features, lengths, {"labels": Padded(labels, counts)}, tf.ones(4)), tf.constant([5, 0])
    outputs = model.outputs(Inputs(features, lengths, labels, counts), seed)
    frames = ctc_spikes(outputs.frames, outputs.lengths, labels, counts)
    for delay in (0, 2):
        training = TrainingRecipe(ctc_weight=0.3, head_weight=2.0, head_delay_frames=delay, head_after_steps=5)
        objective = LabelCrossEntropy(training, Units("words", tuple("abcde")), FeaturesRecipe(), model.framing)
        before, after = (objective.losses(model, batch, tf.constant(objective.schedule(n)), seed) for n in (4, 5))
        expected = head_alignment_loss(outputs.attention, delayed(frames, delay, outputs.lengths), counts)
        np.testing.assert_allclose(after.reported["heads"], expected, rtol=1e-4)
        np.testing.assert_allclose(after.minimised - before.minimised, 2 * expected, rtol=1e-3)


def test_hard_attention_learns_to_transcribe():
    """At least 56 of 64 strings; without the alignment at most 16."""
    section = {"layers": 1, "cells": 48, "pooling": [2], "decoder_cells": 24, "embedding": 8, "attention": 32}
    recipe = MochaRecipe(family="mocha", readout=24, dropout=0.0, ctc=True, energy_scale=2.0, **section)
    model = Mocha(recipe, BINS, WORDS, seed=1)
    training = TrainingRecipe(ctc_weight=0.3, head_weight=1.0)
    objective = LabelCrossEntropy(training, Units("words", tuple("abcde")), FeaturesRecipe(), model.framing)
    variables = [v.value for v in model.trainable_variables]
    adam = Adam(variables)

    @tf.function(reduce_retracing=True)
    def step(batch, seed, rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(objective.losses(model, batch, tf.constant(objective.schedule(0)), seed).minimised)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        adam.update(tf.clip_by_global_norm(gradients, 5.0)[0], rate)

    rng = np.random.default_rng(1)
    for number in range(STEPS):
        features, lengths, labels, counts = map(tf.constant, beads(rng, 16))
        batch = BatchTensors(features, lengths, {"labels": Padded(labels, counts)}, tf.ones(16))
        rate = 0.02 * min(1, (number + 1) / 20) * (0.51 + 0.5 * np.cos(np.pi * number / STEPS))
        step(batch, tf.constant([5, number * 1000]), tf.constant(rate, tf.float32))
    features, lengths, labels, counts = beads(np.random.default_rng(99), 64)
    found = greedy(model)(features, lengths)
    exact = sum(list(one) == list(y[:n]) for one, y, n in zip(found, labels, counts, strict=True))
    assert exact >= 56


STEPS = 300
