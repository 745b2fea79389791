"""A model of whole utterances: it needs the mean of all their vectors before it has the first frame."""

from sonorant.models.family import Model, Outputs, Symbols
from sonorant.tensorflow import keras, tf


class MeanFree(Model):
    """A projection of vectors less the mean of their utterance."""

    search = "ctc"

    def __init__(self, bins, units, seed=1):
        super().__init__("mean_free", bins, Symbols(units, blank=units))
        self.projection = keras.layers.Dense(
            units + 1, kernel_initializer=keras.initializers.GlorotUniform(seed=seed), name="projection"
        )
        self.projection.build((None, bins))
        self.built = True

    def outputs(self, inputs, dropout_seed=None):
        free = inputs.features - self._mean(inputs.features, inputs.lengths)
        return Outputs(inputs.lengths, frames=tf.nn.log_softmax(self.projection(9 * free)))

    def _mean(self, features, lengths):
        present = tf.sequence_mask(lengths, tf.shape(features)[1], tf.float32)[:, :, tf.newaxis]
        return tf.reduce_sum(features * present, 1, keepdims=True) / tf.reduce_sum(present, 1, keepdims=True)
