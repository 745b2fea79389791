"""Write a model as a SavedModel that recognizes streams.

Signature `start`: number of streams in, their first state out. Signature `stream`: features and state in,
log-probabilities and the state after them out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.atomic import atomic_folder
from sonorant.export.loading import ExportedModel, load_exported
from sonorant.export.manifest import MANIFEST, BadExport, Manifest, checksums
from sonorant.export.versions import Export, content_sha256, newest_version
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.family import Inputs, Model, Streaming
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["export_model"]

# Largest difference between the exported model and the one in memory, in log-probability, and as a share of it where
# it is beyond 1: a confident model has -100, of which 32-bit floats keep seven digits.
_TOLERANCE = 1e-5
# The same between recognizing vector by vector and training on the whole, which sum in another order.
_ORDER_TOLERANCE = 1e-3
# Vectors of the random stream on which the two are compared.
_CHECKED_VECTORS = 50


def export_model(model: Model, recipe: Recipe, units: Units, exports: Path) -> Export:
    """Write `exports/<recipe.name>/<version>/`, version being the next integer, atomically.

    The written model is loaded and compared with `model` on a random stream; raises BadExport if their
    log-probabilities differ by more than 1e-5 (or that share of them), or by more than 1e-3 from those of `model` on
    the whole stream at once; or without a streaming signature. Raises Unavailable if the folder cannot be written.
    """
    if not isinstance(model, Streaming):
        raise BadExport(f"model.family={recipe.model.family}: has no streaming form to export; expected one that has")
    folder = exports / recipe.name
    content = content_sha256(model.named_weights(), recipe, units)
    version = newest_version(folder)[0] + 1
    with atomic_folder(folder / str(version)) as draft:
        _write(draft, model, recipe, units, version, content)
        _compare(load_exported(draft), model)
    return Export(folder / str(version), version, is_new=True)


def _write(draft: Path, model: Streaming, recipe: Recipe, units: Units, version: int, content: str) -> None:
    rate_hz = recipe.corpus.sample_rate_hz
    extractor = FeatureExtractor(recipe.features, rate_hz)
    module = _stream_module(model)
    tf.saved_model.save(module, str(draft), signatures={"start": module.start, "stream": module.stream})
    (draft / "recipe.yaml").write_text(dump_recipe(recipe), encoding="utf-8")
    (draft / "units.json").write_text(units.to_json(), encoding="utf-8")
    manifest = Manifest(
        model=recipe.name,
        version=version,
        sample_rate_hz=rate_hz,
        bins=extractor.bins,
        vector_seconds=extractor.vector_seconds,
        state_shapes=tuple(tuple(int(size) for size in state.shape[1:]) for state in model.initial_state(1)),
        content_sha256=content,
        files=checksums(draft),
        search=model.search,
    )
    (draft / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


def _stream_module(model: Streaming) -> tf.Module:
    """Return the model as two functions, `start` and `stream`, of any number of streams.

    The loop over time gives the model one vector at a time, so that every product has the same shapes however a
    stream is cut into chunks: the sums then run in the same order, and the results agree to the last bit.
    """

    def start(streams: tf.Tensor) -> dict[str, tf.Tensor]:
        return _named(model.initial_state(streams))

    def stream(features: tf.Tensor, *state: tf.Tensor) -> dict[str, tf.Tensor]:
        vectors = tf.shape(features)[1]
        written = tf.TensorArray(tf.float32, size=vectors, element_shape=[None, model.symbols.size])

        def advance(t: tf.Tensor, written: tf.TensorArray, state: list[tf.Tensor]) -> tuple[Any, Any, Any]:
            log_probs, state = model.step(features[:, t : t + 1], state)
            return t + 1, written.write(t, log_probs[:, 0]), state

        _, written, last = tf.while_loop(lambda t, *_: t < vectors, advance, (0, written, list(state)))
        return {"log_probs": tf.transpose(written.stack(), [1, 0, 2])} | _named(last)

    first = model.initial_state(1)
    states = [tf.TensorSpec([None, *first[i].shape[1:]], first[i].dtype, f"state_{i}") for i in range(len(first))]
    module = tf.Module()
    module.weights = [weight.value for weight in model.weights]  # objects not reachable from here are not saved
    module.start = tf.function(start, input_signature=[tf.TensorSpec([], tf.int32, "streams")])
    module.stream = tf.function(
        stream, input_signature=[tf.TensorSpec([None, None, model.bins], tf.float32, "features"), *states]
    )
    return module


def _named(state: Sequence[tf.Tensor]) -> dict[str, tf.Tensor]:
    return {f"state_{i}": tensor for i, tensor in enumerate(state)}


def _compare(exported: ExportedModel, model: Streaming) -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((_CHECKED_VECTORS, exported.extractor.bins)).astype(np.float32)
    state = exported.initial_state()
    parts = []
    for chunk in np.array_split(features, [1, 2, 5, 20]):
        log_probs, state = exported.step(chunk, state)
        parts.append(log_probs)
    streamed = np.concatenate(parts)
    inputs = Inputs(tf.constant(features[None]), tf.constant([len(features)]))
    whole = np.asarray(model.outputs(inputs).frames)[0]
    _check("trained one, vector by vector,", streamed, _stepped(model, features), _TOLERANCE)
    _check("trained one, on the whole,", streamed, whole, _ORDER_TOLERANCE)


def _stepped(model: Streaming, features: Features) -> NDArray[np.float32]:
    state = model.initial_state(1)
    parts = []
    for vector in features:
        log_probs, state = model.step(tf.constant(vector[None, None]), state)
        parts.append(np.asarray(log_probs)[0])
    return np.concatenate(parts)


def _check(what: str, found: NDArray[np.float32], expected: NDArray[np.float32], tolerance: float) -> None:
    difference = float((np.abs(found - expected) / np.maximum(1, np.abs(expected))).max())
    if not difference <= tolerance:  # so that NaN fails too
        raise BadExport(
            f"the exported model differs from the {what} by {difference} on a random stream; "
            f"expected at most {tolerance}; nothing was written"
        )
