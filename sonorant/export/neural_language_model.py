"""A language model as it is exported, in the layout of recognizers: loaded again."""

from pathlib import Path

import numpy as np

from sonorant.export.c_library import TensorFlowError, version
from sonorant.export.manifest import LANGUAGE_MODEL, MANIFEST, BadExport, read_manifest, verify_files
from sonorant.export.saved_session import load_signatures
from sonorant.models.tensor_language_model import TensorLanguageModel
from sonorant.text.units import Units

__all__ = ["ExportedLanguageModel", "load_language_model"]


class ExportedLanguageModel(TensorLanguageModel):
    """A `NeuralModel` of exported functions, and the units that its labels are."""

    def __init__(self, folder: Path, units: Units) -> None:
        super().__init__(load_signatures(folder))
        self.units = units


def load_language_model(folder: Path) -> ExportedLanguageModel:
    """Load the language model in `folder`; raises BadExport if it is none, or damaged."""
    if not (folder / MANIFEST).exists():
        raise BadExport(
            f"{folder}: a folder without {MANIFEST}; expected the file of an n-gram model, or an exported language "
            "model, RUN/exports/<model>/<version>"
        )
    manifest = read_manifest(folder)
    if manifest.signature != LANGUAGE_MODEL:
        raise BadExport(f"{folder}: recognizes speech; expected a language model, as of a recipe with reader: text")
    verify_files(folder, manifest)
    try:
        units = Units.from_json((folder / "units.json").read_text(encoding="utf-8"))
        model = ExportedLanguageModel(folder, units)
        one = np.zeros((1, 1), np.int32)
        model.next(one, one, model.begin(1))  # the first call is slow
    except (OSError, ValueError, KeyError, TensorFlowError) as error:
        raise BadExport(f"{folder}: TensorFlow {version()} cannot load it: {error}; export it again") from error
    return model
