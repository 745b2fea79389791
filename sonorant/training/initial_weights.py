"""Transfer: a new run starts from the weights of another one that match by name, shape and, where it matters, units."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import BadRecipe
from sonorant.export.weights import exported_weights
from sonorant.models.family import Model
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units, read_units
from sonorant.training.checkpoint_files import decode
from sonorant.training.checkpoints import load_checkpoint
from sonorant.training.weight_source import SourceKind, source_kind

__all__ = ["InitialWeights", "Source", "read_source"]

Weights = Mapping[str, NDArray[np.float32]]


class Source(NamedTuple):
    """Weights to start from. units: what their symbols stand for; None: unknown, of a checkpoint without its run."""

    weights: Weights
    units: Units | None


@dataclass(frozen=True)
class InitialWeights:
    """Weights of another model for a new one.

    source: where they are from. matching: those to load. expected: how many the model has. unmatched: a line for each
    name that is not the same in both, with both shapes, or the first unit that differs.
    """

    source: str
    matching: Weights
    expected: int
    unmatched: tuple[str, ...]

    @classmethod
    def of(cls, source: str, found: Source, model: Model, units: Units, by_unit: Collection[str]) -> "InitialWeights":
        """Return what of `found` the model can load, its settings aside; raises BadRecipe if that is nothing.

        units: the model's. by_unit: names of its weights that have a part for each unit, which match if all units do.
        """
        settings = model.settings
        own = {name: shape for name, shape in model.weight_shapes().items() if name not in settings}
        other = {name: array.shape for name, array in found.weights.items() if name not in settings}
        foreign = by_unit if found.units is not None and found.units.symbols != units.symbols else ()
        matching = {
            name: array for name, array in found.weights.items() if own.get(name) == array.shape and name not in foreign
        }
        unmatched = tuple(
            f"{name}: {_difference(other.get(name), own.get(name), found.units, units)}"
            for name in sorted(own.keys() | other.keys())
            if name not in matching
        )
        if not matching:
            raise BadRecipe(
                f"training.init_from={source}: no weight has the same name, shape and units as one of this model: "
                f"{'; '.join(unmatched[:4])}; take a run of a like model, or remove the key"
            )
        return cls(source, matching, len(own), unmatched)

    def load(self, model: Model) -> None:
        """Set the model's matching weights; its others stay."""
        model.assign(model.named_weights() | dict(self.matching))


def read_source(source: Path) -> Source:
    """Return the weights that are evaluated, of a run folder (best on dev), a checkpoint's, or an exported model's.

    Raises BadRecipe if the folder is none of these, and BadCheckpoint, BadExport or BadCorpus, with the
    file, if it is damaged.
    """
    match source_kind(source):
        case SourceKind.EXPORT:
            return Source(exported_weights(source), _read_units(source / "units.json"))
        case SourceKind.CHECKPOINT:
            run = RunFolder(source.absolute().parent.parent)
            return Source(decode(source).evaluated, _read_units(run.shards / "units.json"))
        case SourceKind.RUN:
            run = RunFolder(source)
            return Source(load_checkpoint(run.checkpoints, "best").evaluated, _read_units(run.shards / "units.json"))


def _read_units(path: Path) -> Units | None:
    return read_units(path) if path.is_file() else None


def _difference(
    theirs: tuple[int, ...] | None, own: tuple[int, ...] | None, other_units: Units | None, units: Units
) -> str:
    if theirs != own or other_units is None:
        return f"{_shape(theirs)} in the source, {_shape(own)} here"
    symbols = zip_longest(other_units.symbols, units.symbols)
    number, (there, here) = next((i, pair) for i, pair in enumerate(symbols) if pair[0] != pair[1])
    return f"unit {number} is {there!r} in the source, {here!r} here"


def _shape(shape: tuple[int, ...] | None) -> str:
    return "none" if shape is None else str(list(shape))
