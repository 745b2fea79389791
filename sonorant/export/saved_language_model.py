"""Write a language model in the layout of recognizers, and compare what was written."""

from pathlib import Path

import numpy as np

from sonorant.export.manifest import LANGUAGE_MODEL, MANIFEST, BadExport, Manifest, checksums
from sonorant.export.neural_language_model import ExportedLanguageModel, load_language_model
from sonorant.export.transcribe.obstacle import A_LANGUAGE_MODEL
from sonorant.export.versions import Export, content_sha256, next_version
from sonorant.models.language_model import LanguageModel
from sonorant.models.language_model_functions import language_model_functions
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.tensorflow import save_module, tf
from sonorant.text.units import Units

__all__ = ["export_language_model"]

_TOLERANCE = 1e-3  # of log-probabilities: sums over labels run in another order
_CHECKED_LABELS = 20


def export_language_model(model: LanguageModel, recipe: Recipe, units: Units, exports: Path) -> Export:
    """Write `exports/<recipe.name>/<version>/`, version being the next integer, atomically.

    The written model is loaded, and compared with `model` label by label and as a whole; raises BadExport if their
    log-probabilities differ, and Unavailable as `next_version`.
    """
    with next_version(exports / recipe.name) as (draft, export):
        _write(draft, model, recipe, units, export.version)
        _compare(load_language_model(draft), model)
    return export


def _write(draft: Path, model: LanguageModel, recipe: Recipe, units: Units, version: int) -> None:
    functions = language_model_functions(model)
    module = tf.Module()
    module.weights = [weight.value for weight in model.weights]  # what is not reachable from here is not saved
    save_module(module, draft, functions)
    (draft / "recipe.yaml").write_text(dump_recipe(recipe), encoding="utf-8")
    (draft / "units.json").write_text(units.to_json(), encoding="utf-8")
    manifest = Manifest(
        model=recipe.name,
        version=version,
        sample_rate_hz=recipe.corpus.sample_rate_hz,
        bins=0,
        vector_seconds=0.0,
        state_shapes=(),
        content_sha256=content_sha256(model.named_weights(), recipe, units),
        files=checksums(draft),
        search="",
        signature=LANGUAGE_MODEL,
        without_transcribe=A_LANGUAGE_MODEL,
    )
    (draft / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


def _compare(exported: ExportedLanguageModel, model: LanguageModel) -> None:
    """Compare on random labels, with a second hypothesis beside."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, model.symbols.units, _CHECKED_LABELS).astype(np.int32)
    expected = model.log_probs(tf.constant(labels[np.newaxis])).numpy()[0]
    state, steps, parents = exported.begin(1), [], np.zeros((1, 2), np.int32)
    for before in (model.end, *labels):
        beside = rng.integers(0, model.symbols.units)
        log_probs, state = exported.next(np.array([[beside, before]], np.int32), parents, state)
        parents = np.ones((1, 2), np.int32)
        steps.append(log_probs[0, 1])
    difference = float(np.abs(np.stack(steps) - expected).max())
    if not difference <= _TOLERANCE:  # so that NaN fails too
        raise BadExport(
            f"the exported language model differs from the trained one by {difference} on random labels; expected at "
            f"most {_TOLERANCE}; nothing was written"
        )
