"""The units that a recipe brings along in a file, in place of those of its transcripts."""

from pathlib import Path

from sonorant.corpus.stored import Stored
from sonorant.errors import BadCorpus, BadRun
from sonorant.run_folder import RunFolder
from sonorant.text.section import TextRecipe
from sonorant.text.units import Units, read_units

__all__ = ["check_trained_units", "read_tokenizer"]


def read_tokenizer(recipe: TextRecipe, data_folder: Path) -> Units | None:
    """Return the units of `text.tokenizer`, or None if the recipe names no file.

    Raises BadCorpus, naming the file, if it cannot be read or holds other units than the recipe is for.
    """
    if recipe.tokenizer is None:
        return None
    path = data_folder / recipe.tokenizer
    try:
        units = read_units(path)
    except BadCorpus as error:
        raise BadCorpus(f"text.tokenizer: {error}") from error
    if (units.kind, units.jamo) != (recipe.units, recipe.hangul == "jamo"):
        raise BadCorpus(
            f"text.tokenizer: {path} has {units}, expected text.units={recipe.units} and text.hangul={recipe.hangul}; "
            "change the recipe, or train another tokenizer with it"
        )
    return units


def check_trained_units(tokenizer: Units, run: RunFolder, stored: Stored) -> None:
    """Raise BadRun if the run's checkpoints, here or in its store, have other units than the tokenizer."""
    path = run.shards / "units.json"
    if path.is_file() and (run.is_trained or (stored.trained_on is not None and stored.shards)):
        try:
            trained = read_units(path)
        except BadCorpus as error:
            raise BadRun(f"{error}; to have those of text.tokenizer, remove it and prepare the run again") from error
        where = run.checkpoints if run.is_trained else stored.url
        trained.check_same(tokenizer, f"{path}, of the checkpoints in {where}", "text.tokenizer")
