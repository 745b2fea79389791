"""Write a model as a SavedModel that recognizes streams, or whole utterances where the family cannot stream."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.corpus.record import Record
from sonorant.decoding import Heard, LabelDecoder, MonotonicDecoder, load_scorer
from sonorant.export.fixed_batch import BATCH
from sonorant.export.language_model import copy_language_models
from sonorant.export.loading import ExportedModel, load_exported
from sonorant.export.manifest import MANIFEST, BadExport, Manifest, checksums
from sonorant.export.neural_language_model import load_language_model
from sonorant.export.signatures import signature, signatures
from sonorant.export.stability import add_stability
from sonorant.export.transcribe.obstacle import obstacle
from sonorant.export.transcribe.signature import TRANSCRIBE, transcribe_function
from sonorant.export.versions import Export, content_sha256, next_version
from sonorant.export.warm_up import add_warm_up
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.family import Inputs, Model, Streaming
from sonorant.models.label_synchronous import LabelSynchronous
from sonorant.models.monotonic_decoder import TensorMonotonicDecoder
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.tensorflow import graph_function, save_module, tf
from sonorant.text.units import Units

__all__ = ["export_model", "write_model"]

# Largest difference between the exported model and the one in memory, in log-probability, and as a share of it where
# it is beyond 1: a confident model has -100, of which 32-bit floats keep seven digits.
_TOLERANCE = 1e-5
# The same between that graph and kernels of our own, whose sums run in another order.
_KERNEL_TOLERANCE = 2e-4
# The same between recognizing an utterance block by block, or alone, and training on it in a padded batch: sums run in
# another order.
_ORDER_TOLERANCE = 1e-3
# Vectors of the random stream on which the two are compared.
_CHECKED_VECTORS = 50
_CHECKED_LABELS = 5
_PADDING = 7  # vectors


def export_model(
    model: Model,
    recipe: Recipe,
    units: Units,
    exports: Path,
    recordings: Sequence[Record] = (),
    step: int | None = None,
) -> Export:
    """Write `exports/<recipe.name>/<version>/`, version being the next integer, atomically.

    recordings: of dev; on them the stability of interim results is measured, and some become recorded requests of its
    warm-up. step: see `Manifest`. The written model is loaded, and its graph is compared with `model` on a random
    stream; raises BadExport if their log-probabilities differ by more than 1e-5 (or that share of them), or by more
    than 1e-3 from those of `model` on the whole stream in a padded batch, or those of kernels that take the graph's
    place by more than 2e-4 from the graph's. Raises BadLanguageModel or WrongVocabulary for a language model that does
    not fit, and Unavailable as `next_version`.
    """
    # A fault is named before anything is written.
    load_scorer(units, recipe.decoding, recipe.text, Path(), load_language_model)
    content = content_sha256(model.named_weights(), recipe, units)
    with next_version(exports / recipe.name) as (draft, export):
        exported = write_model(draft, model, recipe, units, export.version, content, step)
        add_warm_up(draft, exported, recordings)
        add_stability(draft, exported, recordings)
    return export


def write_model(
    draft: Path, model: Model, recipe: Recipe, units: Units, version: int, content: str, step: int | None = None
) -> ExportedModel:
    """Write a version into an empty folder, check it as `export_model` does, and return it as it is loaded.

    content: of `content_sha256`; step: see `Manifest`.
    """
    rate_hz = recipe.corpus.sample_rate_hz
    extractor = FeatureExtractor(recipe.features, rate_hz)
    module, functions = signatures(model)
    why_not = obstacle(model.search, recipe, units)
    if not why_not:
        module.transcribe = functions[TRANSCRIBE] = transcribe_function(recipe, rate_hz, units, functions)
    save_module(module, draft, functions)
    (draft / "recipe.yaml").write_text(dump_recipe(copy_language_models(recipe, draft)), encoding="utf-8")
    (draft / "units.json").write_text(units.to_json(), encoding="utf-8")
    state = model.initial_state(1) if isinstance(model, Streaming) else []
    manifest = Manifest(
        model=recipe.name,
        version=version,
        sample_rate_hz=rate_hz,
        bins=extractor.bins,
        vector_seconds=extractor.vector_seconds,
        state_shapes=tuple(tuple(int(size) for size in tensor.shape[1:]) for tensor in state),
        content_sha256=content,
        files=checksums(draft),
        search=model.search,
        signature=signature(model),
        without_transcribe=why_not,
        step=step,
    )
    (draft / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    exported = load_exported(draft)
    assert isinstance(exported, ExportedModel)
    _compare(exported, model)
    return exported


def _compare(exported: ExportedModel, model: Model) -> None:
    rng = np.random.default_rng(0)
    vectors = max(_CHECKED_VECTORS, 4 * (model.framing.lead + 1) * model.framing.block)
    levels = 2 * rng.standard_normal((vectors, 1))
    features = (levels + rng.standard_normal((vectors, exported.extractor.bins))).astype(np.float32)
    graph = exported.by_graph() or exported
    frames = _recognized(graph, features)
    if isinstance(model, Streaming):
        _check("trained one, block by block,", frames, _stepped(model, features), _TOLERANCE)
    else:
        _check("trained one", frames, _whole(model, features[np.newaxis], len(features)), _TOLERANCE)
    _check("trained one, on the whole in a padded batch,", frames, _batched(model, features), _ORDER_TOLERANCE)
    if graph is not exported:
        _check("graph of the trained one", _recognized(exported, features), frames, _KERNEL_TOLERANCE)
    if isinstance(model, LabelSynchronous):
        _compare_decoders(exported, model, features, frames)


def _recognized(exported: ExportedModel, features: Features) -> NDArray[np.float32]:
    """Return the frames of a stream that is cut into chunks."""
    state, parts = exported.initial_state(), []
    for chunk in np.array_split(features, [1, 2, 5, 20]):
        frames, state = exported.step(chunk, state)
        parts.append(frames)
    return np.concatenate([*parts, exported.finish(state)])


def _stepped(model: Streaming, features: Features) -> NDArray[np.float32]:
    """Return the frames of a stream, of so many in a batch as an exported model's calls have.

    As a graph, which TensorFlow rearranges: step by step an LSTM makes 1e-5 of what is rounded otherwise.
    """
    framing, step = model.framing, graph_function(model.step)
    vectors = np.concatenate([features, *[model.padding[None]] * framing.padding_after(len(features))])
    state = model.initial_state(BATCH)
    parts = []
    for first in range(0, len(vectors) - framing.step + 1, framing.step):
        streams = np.repeat(vectors[None, first : first + framing.step], BATCH, axis=0)
        log_probs, state = step(tf.constant(streams), state)
        parts.append(np.asarray(log_probs)[0])
    frames: NDArray[np.float32] = np.concatenate(parts)
    return frames[framing.lead :][: framing.frames(len(features))]


def _batched(model: Model, features: Features) -> NDArray[np.float32]:
    """Return the frames of an utterance that is followed by padding, beside one that is longer."""
    batch = np.zeros((2, len(features) + _PADDING, features.shape[1]), np.float32)
    batch[0, : len(features)] = features
    batch[1, : len(features)] = features[::-1]
    return _whole(model, batch, len(features), batch.shape[1])


def _whole(model: Model, batch: Features, *lengths: int) -> NDArray[np.float32]:
    """Return the frames of the first of whole utterances, Float32[utterances, vectors, bins]."""
    inputs = Inputs(tf.constant(batch), tf.constant(lengths))
    if isinstance(model, LabelSynchronous):
        outputs, lengths = model.encode(*inputs[:2])
    else:
        lengths, outputs, *_ = model.outputs(inputs)
    frames: NDArray[np.float32] = np.asarray(outputs)[0, : int(lengths[0])]
    return frames


def _compare_decoders(
    exported: ExportedModel, model: LabelSynchronous, features: Features, encoded: NDArray[np.float32]
) -> None:
    """Compare label by label with what training gives for a whole sequence of random labels."""
    assert exported.decoder is not None
    labels = np.random.default_rng(0).integers(0, model.symbols.units, _CHECKED_LABELS).astype(np.int32)
    before = np.array([model.symbols.size - 1, *labels], np.int32)
    if isinstance(exported.decoder, TensorMonotonicDecoder):
        steps = _monotonic_steps(exported.decoder, encoded, before)
    else:
        steps = _label_steps(exported.decoder, encoded, before)
    inputs = Inputs(tf.constant(features[None]), tf.constant([len(features)]), tf.constant(labels[None]))
    trained = model.outputs(inputs)
    _check("trained one, by teacher forcing,", steps, np.asarray(trained.labels)[0], _ORDER_TOLERANCE)
    if model.joint_ctc:
        (frames,) = exported.decoder.frame_log_probs([encoded])
        _check("trained one, by frame,", frames, np.asarray(trained.frames)[0], _ORDER_TOLERANCE)


def _label_steps(decoder: LabelDecoder, encoded: NDArray[np.float32], before: NDArray[np.int32]) -> NDArray[np.float32]:
    state, steps = decoder.begin([encoded]), []
    for label in before:
        log_probs, _, state = decoder.next(np.array([[label]]), np.zeros((1, 1), np.int32), state)
        steps.append(log_probs[0, 0])
    return np.stack(steps)


def _monotonic_steps(
    decoder: MonotonicDecoder, encoded: NDArray[np.float32], before: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Offer frame after frame, and in the end none."""
    state = decoder.seek(before[:1], decoder.begin())
    steps: list[NDArray[np.float32]] = []
    offers = [
        Heard(encoded[max(0, last - decoder.window) : last], last, over=False) for last in range(1, len(encoded) + 1)
    ]
    for heard in [*offers, Heard(encoded[-decoder.window :], len(encoded), over=True)]:
        while len(steps) < len(before):
            attends, log_probs, after = decoder.look(heard, state)
            if not attends[0]:
                break
            steps.append(log_probs[0])
            state = decoder.seek(before[len(steps) : len(steps) + 1], after) if len(steps) < len(before) else state
    return np.stack(steps)


def _check(what: str, found: NDArray[np.float32], expected: NDArray[np.float32], tolerance: float) -> None:
    if found.shape != expected.shape:
        raise BadExport(
            f"the exported model has {len(found)} frames where the {what} has {len(expected)}; nothing was written"
        )
    difference = float((np.abs(found - expected) / np.maximum(1, np.abs(expected))).max())
    if not difference <= tolerance:  # so that NaN fails too
        raise BadExport(
            f"the exported model differs from the {what} by {difference} on a random stream; "
            f"expected at most {tolerance}; nothing was written"
        )
