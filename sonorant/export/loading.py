"""Read exported models: checked against their manifest, loaded, and warm."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.errors import SonorantError
from sonorant.export.manifest import BadExport, read_manifest, verify_files
from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe.loading import load_recipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["ExportedModel", "State", "load_exported", "use_few_threads"]

State: TypeAlias = tuple[Any, ...]  # one tf.Tensor [1, ...] for each state tensor; opaque to callers


class ExportedModel:
    """A model that recognizes streams. It holds no stream's state, so threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        manifest = read_manifest(folder)
        verify_files(folder, manifest)
        self.name = manifest.model
        self.version = manifest.version
        self.search = manifest.search
        self.sample_rate_hz = manifest.sample_rate_hz
        self.recipe = load_recipe(folder / "recipe.yaml")
        self.extractor = FeatureExtractor(self.recipe.features, manifest.sample_rate_hz)
        if self.extractor.bins != manifest.bins:
            raise BadExport(
                f"{folder}: takes {manifest.bins} bins, the features of its recipe have {self.extractor.bins}"
            )
        self.units = Units.from_json((folder / "units.json").read_text(encoding="utf-8"))
        self._module = tf.saved_model.load(str(folder))  # owns the variables that the signature uses
        self._stream = self._module.signatures["stream"]
        start = self._module.signatures["start"](streams=tf.constant(1))
        self._start = tuple(start[f"state_{i}"] for i in range(len(manifest.state_shapes)))

    def initial_state(self) -> State:
        """Return the state at the start of a stream."""
        return self._start

    def step(self, features: Features, state: State) -> tuple[NDArray[np.float32], State]:
        """Return log-probabilities [T, units + 1] of features [T, bins] that follow `state`, and the state after them.

        T >= 1. However a stream is cut into steps, its log-probabilities are the same bit for bit.
        """
        inputs = {f"state_{i}": tensor for i, tensor in enumerate(state)}
        outputs = self._stream(features=tf.constant(features[None], tf.float32), **inputs)
        return outputs["log_probs"].numpy()[0], tuple(outputs[f"state_{i}"] for i in range(len(state)))


def load_exported(folder: Path) -> ExportedModel:
    """Load the exported model in `folder` and run it once, because the first call is slow; raises BadExport."""
    try:
        model = ExportedModel(folder)
        model.step(np.zeros((1, model.extractor.bins), np.float32), model.initial_state())
    except SonorantError:
        raise
    except (OSError, ValueError, KeyError, tf.errors.OpError) as error:
        raise BadExport(f"{folder}: TensorFlow {tf.__version__} cannot load it: {error}; export it again") from error
    return model


def use_few_threads() -> None:
    """Limit TensorFlow to one thread an operation; call it before any other use of TensorFlow.

    A step of one stream is too small to split: a recognizer's cores are better used by streams side by side.
    """
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
