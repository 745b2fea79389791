"""Options of training for outputs by label, and for heads of monotonic attention."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_heads", "check_labels"]


def check_labels(recipe: "Sections") -> None:
    """Refuse options of outputs by label for a model that has them by frame, those of frames for the other."""
    training, family = recipe.training, recipe.model.family
    by_label = {name: getattr(training, name) for name in ("label_smoothing", "sampling", "ctc_weight")}
    for name, value in by_label.items():
        if value and not recipe.model.label_synchronous:
            raise ValueError(
                f"training.{name}={value}: is for models with a label-synchronous decoder, such as bfa or mocha; "
                f"model.family={family} predicts frame by frame; set it to 0, or take one of them"
            )
    if recipe.model.label_synchronous and (training.objective != "ctc" or recipe.decoding.jitter_ms):
        raise ValueError(
            f"training.objective={training.objective}, decoding.jitter_ms={recipe.decoding.jitter_ms}: model.family="
            f"{family} has outputs by label; leave both at their defaults, ctc and 0"
        )
    if training.alignment_weight and recipe.model.label_synchronous and not training.ctc_weight:
        raise ValueError(
            f"training.alignment_weight={training.alignment_weight}: model.family={family} has outputs by frame "
            "with training.ctc_weight only; set that too, or set it to 0"
        )
    if recipe.model.label_synchronous and recipe.model.joint_ctc != bool(training.ctc_weight):
        raise ValueError(
            f"model.ctc={str(recipe.model.joint_ctc).lower()} with training.ctc_weight={training.ctc_weight}: the "
            "projection is trained by that weight alone; set both, or neither"
        )


def check_heads(recipe: "Sections") -> None:
    """Refuse options of monotonic heads for a model or a training that has none."""
    training, family = recipe.training, recipe.model.family
    if training.quantity_weight and not recipe.model.monotonic:
        raise ValueError(
            f"training.quantity_weight={training.quantity_weight}: model.family={family} has no attention that may "
            "go past the last frame; set it to 0, or take mocha"
        )
    if training.head_weight and not (recipe.model.monotonic and training.ctc_weight):
        raise ValueError(
            f"training.head_weight={training.head_weight}: aligns heads of monotonic attention with joint CTC; "
            f"found model.family={family}, training.ctc_weight={training.ctc_weight}; set it to 0, or take mocha "
            "and a ctc_weight above 0, such as 0.3"
        )
    for name in ("head_delay_frames", "head_after_steps"):
        if (value := getattr(training, name)) and not training.head_weight:
            raise ValueError(
                f"training.{name}={value} with training.head_weight=0: nothing aligns heads; set it to 0, or "
                "head_weight above 0, such as 0.5"
            )
