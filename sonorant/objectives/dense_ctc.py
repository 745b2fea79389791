"""CTC by operations that a GPU has: TensorFlow's sparse kernel is one of CPUs alone."""

from sonorant.tensorflow import tf

__all__ = ["dense_ctc_loss"]


def dense_ctc_loss(log_probs: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor, label_lengths: tf.Tensor) -> tf.Tensor:
    """Return Float32[B], as `ctc_loss` does; arguments are its too.

    What cannot be spelt has what the sparse kernel says: 0 if there are more labels than frames, infinity if only the
    blanks between equal labels do not fit; neither has a gradient.

    The largest tensors are [T, B, L, L]: without `unique` they would be [T, B, L, units + 1].
    """
    lengths, label_lengths = tf.convert_to_tensor(lengths), tf.convert_to_tensor(label_lengths)
    present = tf.sequence_mask(label_lengths, tf.shape(labels)[1])
    labels = tf.where(present, labels, 0)
    repeated = (labels[:, 1:] == labels[:, :-1]) & present[:, 1:]
    fits = label_lengths + tf.reduce_sum(tf.cast(repeated, tf.int32), 1) <= lengths
    loss = tf.nn.ctc_loss(
        labels=labels,
        logits=log_probs,
        label_length=tf.where(fits, label_lengths, 0),
        logit_length=lengths,
        logits_time_major=False,
        unique=tf.nn.ctc_unique_labels(labels),
        blank_index=-1,
    )
    return tf.where(fits, loss, tf.where(label_lengths > lengths, 0.0, float("inf")))
