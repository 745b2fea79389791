"""What an exported model's own files say of it, whatever recognizes with it."""

from pathlib import Path

from sonorant.export.manifest import Manifest, name_and_version
from sonorant.export.stability import read_stability
from sonorant.recipe.loading import load_recipe
from sonorant.text.units import Units

__all__ = ["Described"]


class Described:
    """An export's folder, name and version, search and sample rate by the manifest, recipe, units and stability."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.name, self.version = name_and_version(folder, manifest)
        self.search = manifest.search
        self.sample_rate_hz = manifest.sample_rate_hz
        self.recipe = load_recipe(folder / "recipe.yaml")
        self.units = Units.from_json((folder / "units.json").read_text(encoding="utf-8"))
        self.stability = read_stability(folder)
