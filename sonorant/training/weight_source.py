"""Whether `training.init_from` names what a training can begin with; said before it starts, and no weight is read."""

from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from sonorant.errors import BadRecipe
from sonorant.run_folder import RunFolder

if TYPE_CHECKING:
    from sonorant.recipe.training import TrainingRecipe

__all__ = ["SourceKind", "check_source", "source_kind"]


class SourceKind(Enum):
    """A folder that has weights."""

    EXPORT = auto()
    CHECKPOINT = auto()
    RUN = auto()


def check_source(recipe: "TrainingRecipe") -> None:
    """Raise BadRecipe if a training that begins has mWER and no `init_from`; one that resumes has weights."""
    if recipe.mwer_hypotheses and not recipe.init_from:
        raise BadRecipe(
            f"training.mwer_hypotheses={recipe.mwer_hypotheses}: mWER goes on from a converged model, whose hypotheses "
            "differ by few errors; give training.init_from, or train this run without it first"
        )


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
