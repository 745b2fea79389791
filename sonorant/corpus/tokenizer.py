"""The units that a recipe brings along in a file, in place of those of its transcripts."""

from pathlib import Path

from sonorant.errors import BadCorpus
from sonorant.run_folder import RunFolder
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units

__all__ = ["check_trained_units", "read_tokenizer"]


def read_tokenizer(recipe: TextRecipe, data_folder: Path) -> Units | None:
    """Return the units of `text.tokenizer`, or None if the recipe names no file.

    Raises BadCorpus, naming the file, if it cannot be read or holds other units than the recipe is for.
    """
    if recipe.tokenizer is None:
        return None
    path = data_folder / recipe.tokenizer
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCorpus(f"text.tokenizer: {path}: {error}; expected a file that `sonorant tokenizer` wrote") from error
    units = Units.from_json(content, str(path))
    if (units.kind, units.jamo) != (recipe.units, recipe.hangul == "jamo"):
        raise BadCorpus(
            f"text.tokenizer: {path} has {units}, expected text.units={recipe.units} and text.hangul={recipe.hangul}; "
            "change the recipe, or train another tokenizer with it"
        )
    units.check_model(str(path))
    return units


def check_trained_units(tokenizer: Units, run: RunFolder) -> None:
    """Raise BadRun if the run has checkpoints of a model with other units than the tokenizer's."""
    path = run.shards / "units.json"
    if path.is_file() and run.checkpoints.is_dir() and any(run.checkpoints.iterdir()):
        trained = Units.from_json(path.read_text(encoding="utf-8"), str(path))
        trained.check_same(tokenizer, f"{path}, of the checkpoints in {run.checkpoints}", "text.tokenizer")
