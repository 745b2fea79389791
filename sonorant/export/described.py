"""What an exported model's own files say of it, whatever recognizes with it."""

from pathlib import Path

from sonorant.export.manifest import Manifest
from sonorant.recipe.loading import load_recipe
from sonorant.text.units import Units

__all__ = ["Described"]


class Described:
    """The folder of an export, its name, version, search and sample rate by the manifest, its recipe and its units."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.name = manifest.model
        self.version = manifest.version
        self.search = manifest.search
        self.sample_rate_hz = manifest.sample_rate_hz
        self.recipe = load_recipe(folder / "recipe.yaml")
        self.units = Units.from_json((folder / "units.json").read_text(encoding="utf-8"))
