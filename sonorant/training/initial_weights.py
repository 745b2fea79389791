"""Transfer: a new run starts from the weights of another one that match by name and shape."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import BadRecipe
from sonorant.models.family import Model
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoint_files import decode
from sonorant.training.checkpoints import load_checkpoint

__all__ = ["InitialWeights", "read_weights"]

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class InitialWeights:
    """Weights of another model for a new one.

    source: where they are from. matching: those to load. unmatched: a line for each name that is not the same in both,
    with both shapes.
    """

    source: str
    matching: Weights
    unmatched: tuple[str, ...]

    @classmethod
    def of(cls, source: str, found: Weights, model: Model) -> "InitialWeights":
        """Return what of `found` the model can load; raises BadRecipe if that is nothing."""
        own = {name: array.shape for name, array in model.named_weights().items()}
        other = {name: array.shape for name, array in found.items()}
        matching = {name: array for name, array in found.items() if own.get(name) == array.shape}
        unmatched = tuple(
            f"{name}: {_shape(other.get(name))} in the source, {_shape(own.get(name))} here"
            for name in sorted(own.keys() | other.keys())
            if name not in matching
        )
        if not matching:
            raise BadRecipe(
                f"training.init_from={source}: no weight has the same name and shape as one of this model: "
                f"{'; '.join(unmatched[:4])}; take a run of a like model, or remove the key"
            )
        return cls(source, matching, unmatched)

    def load(self, model: Model) -> None:
        """Set the model's matching weights; its others stay."""
        model.assign(model.named_weights() | dict(self.matching))


def read_weights(source: Path) -> Weights:
    """Return the weights that are evaluated, of a run folder (best on dev), a checkpoint's, or an exported model's.

    Raises BadRecipe if the folder is none of these, and BadCheckpoint or BadExport, with the file, if it is damaged.
    """
    if (source / "manifest.json").is_file() and (source / "recipe.yaml").is_file():
        from sonorant.export.weights import exported_weights

        return exported_weights(source)
    if (source / "manifest.json").is_file() or (source / "state.json").is_file():
        return decode(source).evaluated
    run = RunFolder(source)
    if run.checkpoints.is_dir():
        return load_checkpoint(run.checkpoints, "best").evaluated
    found = "unknown content" if source.exists() else "no such folder"
    raise BadRecipe(
        f"training.init_from={source}: {found}; expected a run folder, a checkpoint `RUN/checkpoints/step-…`, or an "
        "exported model `RUN/exports/<model>/<version>`"
    )


def _shape(shape: tuple[int, ...] | None) -> str:
    return "none" if shape is None else str(list(shape))
