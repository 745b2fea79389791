"""What kind of folder `training.init_from` names; said before a training starts, without reading a weight."""

from enum import Enum, auto
from pathlib import Path

from sonorant.errors import BadRecipe
from sonorant.run_folder import RunFolder

__all__ = ["SourceKind", "source_kind"]


class SourceKind(Enum):
    """A folder that has weights."""

    EXPORT = auto()
    CHECKPOINT = auto()
    RUN = auto()


def source_kind(source: Path) -> SourceKind:
    """Return what `source` is; raises BadRecipe if it is none of these, or a run that has no checkpoint yet."""
    if (source / "manifest.json").is_file() and (source / "recipe.yaml").is_file():
        return SourceKind.EXPORT
    if (source / "manifest.json").is_file() or (source / "state.json").is_file():
        return SourceKind.CHECKPOINT
    if RunFolder(source).is_trained:
        return SourceKind.RUN
    raise BadRecipe(
        f"training.init_from={source}: {_other_content(source)}; expected a run folder, a checkpoint "
        "`RUN/checkpoints/step-…`, or an exported model `RUN/exports/<model>/<version>`"
    )


def _other_content(source: Path) -> str:
    if not source.exists():
        return "no such folder"
    return "a run without checkpoint" if RunFolder(source).recipe.is_file() else "unknown content"
