"""The recurrence of clipped rectifiers as its paper writes it, for the tests of its forms."""

import numpy as np

from sonorant.tensorflow import tf

__all__ = ["by_definition", "draw", "passes"]


def draw(seed, lengths, frames, cells):
    """Return inputs [B, T, cells], lengths and weight [2, cells, cells]."""
    rng = np.random.default_rng(seed)
    inputs = tf.constant(rng.normal(size=(len(lengths), frames, cells)), tf.float32)
    weight = tf.constant(rng.normal(0, 1.2 / cells**0.5, (2, cells, cells)), tf.float32)
    return inputs, tf.constant(lengths, tf.int32), weight


def by_definition(inputs, lengths, weight, ceiling):
    """Hannun 2014, section 2, frame by frame; 0 in padding."""
    rows = []
    for utterance, length in zip(inputs, lengths.numpy(), strict=True):
        both = [tf.zeros_like(utterance[0])] * len(utterance)
        for direction, frames in enumerate((range(length), reversed(range(length)))):
            state = tf.zeros_like(utterance[:1])
            for t in frames:
                state = tf.minimum(tf.nn.relu(utterance[t] + state @ weight[direction]), ceiling)
                both[t] = both[t] + state[0]
        rows.append(tf.stack(both))
    return tf.stack(rows)


def passes(form, inputs, lengths, weight, ceiling):
    """Return the outputs of utterances, 0 in padding, and the gradients of random ones of these."""
    present = tf.sequence_mask(lengths, inputs.shape[1], tf.float32)[:, :, tf.newaxis]
    with tf.GradientTape() as tape:
        tape.watch([inputs, weight])
        outputs = form(inputs, lengths, weight, ceiling) * present
        loss = tf.reduce_sum(outputs * np.random.default_rng(1).normal(size=outputs.shape).astype(np.float32))
    return [outputs, *tape.gradient(loss, [inputs, weight], unconnected_gradients="zero")]
