"""The same systems as a user of Keras would write them: its layers, its losses, `model.fit` fed by tf.data.

What Keras has no layer for is replaced by what is nearest to it, and never by what takes longer:

- conv_lstm_ctc: `LSTM` has no peepholes. deep_speech: its first layer is a strided `Conv1D`, its recurrence a
  bidirectional `SimpleRNN` of clipped rectifiers.
- bfa, mocha: an LSTM decoder on the labels before, then one `AdditiveAttention` of all labels to all frames; so there
  is no feedback of contexts or weights, and of MoChA neither expectation nor chunks; layers that look ahead hear all of
  the utterance, and it once. `Dense` stands for maxout.
- CTC is `keras.losses.CTC`, with the frames' loss beside it where the recipe guides CTC. Padding is not masked.

The batch is a constant of the data set, and its shape is known to the graph: in real training it would not be.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigs.fixed_step import FixedStep
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.section import BfaRecipe, ConvLstmCtcRecipe, DeepSpeechRecipe, LstmCtcRecipe, MochaRecipe
from sonorant.tensorflow import keras, tf

__all__ = ["STEPS", "fitter"]

STEPS = 4
"""Steps of one call."""

_layers = keras.layers


def fitter(step: FixedStep) -> Callable[[], object]:
    """Return what makes `STEPS` steps by `model.fit` on the batch of `step`."""
    model, batch = step.recipe.model, step.batch.tensors
    symbols = step.units.size + 1
    features = keras.Input((None, int(batch.features.shape[2])))
    labels = np.asarray(batch.targets["labels"].values) if "labels" in batch.targets else np.zeros((1, 0), np.int32)
    inputs: Any
    if isinstance(model, BfaRecipe):
        network, inputs, due, losses = _label_synchronous(model, features, np.asarray(batch.features), labels, symbols)
    else:
        frames = _by_frame(model, features, symbols)
        network, inputs = keras.Model(features, {"frames": frames}), np.asarray(batch.features)
        due, losses = _frame_targets(step, labels, symbols)
    network.compile(_optimizer(step), loss=losses)
    data = tf.data.Dataset.from_tensors((inputs, due)).repeat().prefetch(1)
    return lambda: network.fit(data, steps_per_epoch=STEPS, shuffle=False, verbose=0)


def _clipped(values: Any) -> Any:
    return keras.ops.clip(values, 0.0, 20.0)


keras.saving.register_keras_serializable("benchmarks")(_clipped)  # else `Bidirectional` cannot copy a layer that has it


def _optimizer(step: FixedStep) -> Any:
    training = step.recipe.training
    clipped = {"learning_rate": training.learning_rate, "global_clipnorm": training.clip_norm}
    if training.optimizer == "nesterov":
        return keras.optimizers.SGD(momentum=training.momentum, nesterov=True, **clipped)
    return keras.optimizers.Adam(beta_2=0.98, **clipped)


def _frame_targets(step: FixedStep, labels: NDArray[Any], symbols: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return targets and losses of outputs by frame; as in Keras, symbol 0 is the blank."""
    if not labels.size:
        due = np.maximum(np.asarray(step.batch.tensors.targets["frames"].values), 0)
        return {"frames": due}, {"frames": keras.losses.SparseCategoricalCrossentropy(from_logits=True)}
    return {"frames": labels % (symbols - 1) + 1}, {"frames": keras.losses.CTC()}


def _by_frame(model: Any, features: Any, symbols: int) -> Any:
    """Return logits [B, T', symbols] of a family by frame."""
    match model:
        case DeepSpeechRecipe():
            hidden = _deep_speech(model, features)
        case ConvLstmCtcRecipe():
            hidden = _layers.BatchNormalization()(features)
            hidden = _layers.Conv1D(model.filters, model.width_vectors, strides=model.stride, activation="relu")(hidden)
            hidden = _layers.BatchNormalization()(hidden)
            for _ in range(model.layers):
                hidden = _layers.LSTM(model.cells, return_sequences=True)(hidden)
                hidden = _layers.Dropout(model.dropout)(_layers.BatchNormalization()(hidden))
        case LstmCtcRecipe():
            hidden = _convolved_over_frequency(model.convolution, features) if model.convolution else features
            hidden = _convolved_2d(model.convolution_2d, features) if model.convolution_2d else hidden
            if delay := getattr(model, "delay_vectors", 0):
                hidden = _layers.ZeroPadding1D((0, delay))(hidden)
            for _ in range(model.layers):
                hidden = _layers.LSTM(model.cells, return_sequences=True)(hidden)
                hidden = _layers.Dropout(model.dropout)(hidden)
            if delay:
                hidden = _layers.Cropping1D((delay, 0))(hidden)
        case _:
            raise TypeError(f"{model.family}: no model of Keras is known")
    return _layers.Dense(symbols, name="frames")(hidden)


def _convolved_2d(recipe: Convolution2dRecipe, features: Any) -> Any:
    """Return vectors [B, T, size]: layers of two-dimensional filters within each vector."""
    feature_maps = recipe.feature_maps(features.shape[2] // recipe.frames)
    found = keras.ops.reshape(features, (-1, *feature_maps[0], 1))
    for layer in recipe.layers:
        width, strides = (layer.width_frames, layer.width_bins), (layer.stride_frames, 1)
        found = _layers.Conv2D(layer.filters, width, strides=strides)(found)
        found = _layers.Activation("relu")(_layers.MaxPooling2D((1, layer.pool_bins))(found))
        found = _layers.BatchNormalization()(found) if recipe.batch_normalisation else found
    flat = feature_maps[-1].frames * feature_maps[-1].bins * recipe.layers[-1].filters
    by_utterance = _layers.Lambda(lambda both: tf.reshape(both[0], (tf.shape(both[1])[0], -1, flat)))([found, features])
    return _layers.Dense(recipe.size)(by_utterance)


def _convolved_over_frequency(recipe: FrequencyConvolutionRecipe, features: Any) -> Any:
    """Return vectors [B, T, size]: filters over frequency alone, frames of a vector as channels."""
    bins = features.shape[2] // recipe.frames
    spectra = _layers.Permute((1, 3, 2))(_layers.Reshape((-1, recipe.frames, bins))(features))
    found = _layers.Conv2D(recipe.filters, (1, recipe.width_bins), activation="relu")(spectra)
    found = _layers.MaxPooling2D((1, recipe.pool_bins))(found)
    found = _layers.Conv2D(recipe.filters, (1, recipe.pooled_width_bins), activation="relu")(found)
    return _layers.Dense(recipe.size)(_layers.Reshape((-1, recipe.positions(bins) * recipe.filters))(found))


def _deep_speech(model: DeepSpeechRecipe, features: Any) -> Any:
    width = 2 * model.context_vectors + 1
    hidden = _layers.Conv1D(model.cells, width, strides=model.stride, padding="same", activation=_clipped)(features)
    hidden = _layers.Dropout(model.dropout)(hidden)
    for _ in range(2):
        hidden = _layers.Dropout(model.dropout)(_layers.Dense(model.cells, activation=_clipped)(hidden))
    recurrent = _layers.SimpleRNN(model.cells, activation=_clipped, return_sequences=True)
    hidden = _layers.Bidirectional(recurrent, merge_mode="sum")(hidden)
    return _layers.Dropout(model.dropout)(_layers.Dense(model.cells, activation=_clipped)(hidden))


def _label_synchronous(
    model: BfaRecipe, features: Any, values: NDArray[Any], labels: NDArray[Any], symbols: int
) -> tuple[Any, tuple[NDArray[Any], NDArray[Any]], dict[str, Any], dict[str, Any]]:
    """Return model, inputs, targets and losses: cross-entropy of labels, CTC of frames."""
    hidden = features
    for layer in range(model.layers):
        lstm = _layers.LSTM(model.cells, return_sequences=True)
        past_alone = isinstance(model, MochaRecipe) and not model.look_ahead
        hidden = (lstm if past_alone else _layers.Bidirectional(lstm))(hidden)
        if layer < len(model.pooling) and model.pooling[layer] > 1:
            hidden = _layers.MaxPooling1D(model.pooling[layer], padding="same")(hidden)
        hidden = _layers.Dropout(model.dropout)(hidden)
    before = keras.Input((None,), dtype="int32")
    embedded = _layers.Embedding(symbols, model.embedding)(before)
    decoded = _layers.LSTM(model.decoder_cells, return_sequences=True)(embedded)
    query, keys = _layers.Dense(model.attention)(decoded), _layers.Dense(model.attention)(hidden)
    context = _layers.AdditiveAttention()([query, hidden, keys])
    readout = _layers.Dense(model.readout // 2)(_layers.Concatenate()([decoded, embedded, context]))
    outputs = {"labels": _layers.Dense(symbols, name="labels")(_layers.Dropout(model.dropout)(readout))}
    end = np.full((len(labels), 1), symbols - 1, np.int32)
    due = {"labels": np.concatenate([labels, end], 1)}
    losses = {"labels": keras.losses.SparseCategoricalCrossentropy(from_logits=True)}
    if model.ctc:
        outputs["frames"] = _layers.Dense(symbols, name="frames")(hidden)
        due["frames"], losses["frames"] = labels % (symbols - 1) + 1, keras.losses.CTC()
    network = keras.Model([features, before], outputs)
    return network, (values, np.concatenate([end, labels], 1)), due, losses
