"""Transformer language model as in Irie 2019 (arXiv 1905.04226): deep, without positional encoding."""

from typing import NamedTuple

from sonorant.models.applications import Applications
from sonorant.models.figures import LABELS
from sonorant.models.half_precision import Dense
from sonorant.models.language_model import LanguageModel
from sonorant.models.section import TransformerLmRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["TransformerLm"]


class TransformerLm(LanguageModel):
    """Labels before to log-probabilities of units and end (the last).

    An embedding, projected to the layers' size; layers; layer normalisation and softmax. Position l sees positions 0 to
    l, whose number is all that tells it where it is (Irie 2019, section 5). state: keys and values [B, K, l, size] of
    the l labels before, by layer.

    units: without the end; seed: of the first weights; bins: of feature vectors, of which there are none.
    """

    def __init__(self, recipe: TransformerLmRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe, units, seed)
        self.recipe = recipe
        self.to_size = _linear(recipe.embedding, recipe.size, seed, "to_size", bias=False)
        self.layer_list = [_Layer.of(recipe, i, seed * 1000 + 10 * i) for i in range(recipe.layers)]
        self.norm = _norm(recipe.size, "norm")
        self.projection = _linear(recipe.size, units + 1, seed, "projection")
        self.built = True

    def log_probs(self, labels: tf.Tensor, dropout_seed: tf.Tensor | None = None) -> tf.Tensor:
        """See `LanguageModel`; dropout is of the embedding and of what each sublayer adds."""
        before = self._before(labels)
        length = tf.shape(before)[1]
        seen = tf.linalg.band_part(tf.ones((length, length), tf.bool), -1, 0)
        hidden = self.to_size(self.dropout(self.embedding(before), seed=dropout_seed, layer=0))
        for i, layer in enumerate(self.layer_list):
            normal = layer.attention_norm(hidden)
            attended = self._attend(layer, normal, layer.key(normal), layer.value(normal), seen)
            hidden += self.dropout(attended, seed=dropout_seed, layer=2 * i + 1)
            hidden += self.dropout(_feed_forward(layer, hidden), seed=dropout_seed, layer=2 * i + 2)
        return tf.nn.log_softmax(self.projection(self.norm(hidden)))

    def begin(self, batch: int | tf.Tensor, hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """See `LanguageModel`."""
        return [tf.zeros((batch, hypotheses, 0, self.recipe.size)) for _ in range(2 * self.recipe.layers)]

    def next_label(self, before: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """See `LanguageModel`."""
        hidden = self.to_size(self.embedding(before))[:, :, tf.newaxis]  # [B, K, 1, size]
        after = []
        for i, layer in enumerate(self.layer_list):
            normal = layer.attention_norm(hidden)
            keys = tf.concat([state[2 * i], layer.key(normal)], 2)
            values = tf.concat([state[2 * i + 1], layer.value(normal)], 2)
            after += [keys, values]
            hidden += self._attend(layer, normal, keys, values, None)
            hidden += _feed_forward(layer, hidden)
        return tf.nn.log_softmax(self.projection(self.norm(hidden)))[:, :, 0], after

    def products(self, vectors: int) -> dict[str, Applications]:
        """See `Model`: energies and the weighted sum over as many labels as `LABELS`, of all heads, in each layer."""
        del vectors
        each = Applications(label=2 * LABELS * self.recipe.size)
        return {f"layer_{i}_attended": each for i in range(self.recipe.layers)}

    def _attend(
        self, layer: "_Layer", normal: tf.Tensor, keys: tf.Tensor, values: tf.Tensor, seen: tf.Tensor | None
    ) -> tf.Tensor:
        """Return [..., q, size]: multi-head attention of q positions to t keys and values [..., t, size].

        seen: Bool[q, t], which of them; None: all.
        """
        heads = self.recipe.heads
        query, keys, values = (_split(tensor, heads) for tensor in (layer.query(normal), keys, values))
        energies = tf.matmul(query, keys, transpose_b=True) * (self.recipe.size // heads) ** -0.5
        if seen is not None:
            energies = tf.where(seen, energies, energies.dtype.min)
        return layer.attended(_join(tf.matmul(tf.nn.softmax(energies), values)))


class _Layer(NamedTuple):
    """What one layer is made of: self-attention and feed-forward sublayer, each behind a layer normalisation."""

    attention_norm: keras.layers.Layer
    query: keras.layers.Layer
    key: keras.layers.Layer
    value: keras.layers.Layer
    attended: keras.layers.Layer
    forward_norm: keras.layers.Layer
    expand: keras.layers.Layer
    contract: keras.layers.Layer

    @classmethod
    def of(cls, recipe: TransformerLmRecipe, number: int, seed: int) -> "_Layer":
        size, wide = recipe.size, recipe.feed_forward
        query, key, value, attended = [
            _linear(size, size, seed + j, f"layer_{number}_{name}", bias=False)
            for j, name in enumerate(("query", "key", "value", "attended"))
        ]
        return cls(
            _norm(size, f"layer_{number}_attention_norm"),
            query,
            key,
            value,
            attended,
            _norm(size, f"layer_{number}_forward_norm"),
            _linear(size, wide, seed + 4, f"layer_{number}_expand"),
            _linear(wide, size, seed + 5, f"layer_{number}_contract"),
        )


def _feed_forward(layer: _Layer, hidden: tf.Tensor) -> tf.Tensor:
    return layer.contract(tf.nn.relu(layer.expand(layer.forward_norm(hidden))))


def _linear(inputs: int, outputs: int, seed: int, name: str, *, bias: bool = True) -> keras.layers.Layer:
    """Return a projection whose first weights are uniform with variance 1 / inputs, as in the paper's set-up."""
    scaled = keras.initializers.VarianceScaling(1.0, "fan_in", "uniform", seed=seed)
    layer = Dense(outputs, use_bias=bias, kernel_initializer=scaled, name=name)
    layer.build((None, inputs))
    return layer


def _norm(size: int, name: str) -> keras.layers.Layer:
    layer = keras.layers.LayerNormalization(epsilon=1e-6, name=name)
    layer.build((None, size))
    return layer


def _split(tensor: tf.Tensor, heads: int) -> tf.Tensor:
    """[..., t, size] as [..., heads, t, size / heads]."""
    shape = tf.shape(tensor)
    split = tf.reshape(tensor, tf.concat([shape[:-1], [heads, tensor.shape[-1] // heads]], 0))
    return _swap(split)


def _join(tensor: tf.Tensor) -> tf.Tensor:
    """[..., heads, t, n] as [..., t, heads n]."""
    swapped = _swap(tensor)
    shape = tf.shape(swapped)
    return tf.reshape(swapped, tf.concat([shape[:-2], [tensor.shape[-3] * tensor.shape[-1]]], 0))


def _swap(tensor: tf.Tensor) -> tf.Tensor:
    """Swap the second and third axis from the end."""
    axes = list(range(len(tensor.shape)))
    axes[-3], axes[-2] = axes[-2], axes[-3]
    return tf.transpose(tensor, axes)
