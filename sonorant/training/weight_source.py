"""What kind of folder `training.init_from` names; said before a training starts, without reading a weight."""

from enum import Enum
from pathlib import Path

from sonorant.errors import BadRecipe
from sonorant.run_folder import RunFolder

__all__ = ["SourceKind", "source_kind"]


class SourceKind(Enum):
    """A folder that has weights."""

    EXPORT = "an exported model"
    CHECKPOINT = "a checkpoint of a run"
    RUN = "a run, of which the best checkpoint is meant"


def source_kind(source: Path) -> SourceKind:
    """Return what `source` is; raises BadRecipe if it is none of these, or a run that has no checkpoint yet."""
    if (source / "manifest.json").is_file() and (source / "recipe.yaml").is_file():
        return SourceKind.EXPORT
    if (source / "manifest.json").is_file() or (source / "state.json").is_file():
        return SourceKind.CHECKPOINT
    run = RunFolder(source)
    if run.is_trained:
        return SourceKind.RUN
    found = "no such folder" if not source.exists() else "a run without checkpoint" if run.recipe.is_file() else ""
    raise BadRecipe(
        f"training.init_from={source}: {found or 'unknown content'}; expected a run folder, a checkpoint "
        "`RUN/checkpoints/step-…`, or an exported model `RUN/exports/<model>/<version>`"
    )
