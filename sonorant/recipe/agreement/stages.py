"""Stages of augmentation in their order, and the replicas that run them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_stages"]


def check_stages(recipe: "Sections") -> None:
    """Refuse a stage that stands twice or in the wrong place, and replicas of stages that there are not."""
    names = [stage.stage for stage in recipe.stages]
    if len(set(names)) < len(names):
        raise ValueError(f"stages {names}: each stage may stand once")
    frame_bins = recipe.features.frame_bins(recipe.corpus.sample_rate_hz)
    for i, stage in enumerate(recipe.stages):
        before = recipe.stages[i - 1] if i else stage
        if before.works_on == "features" and stage.works_on == "waveform":
            raise ValueError(
                f"stages[{i - 1}].stage={before.stage} works on features and stages[{i}].stage={stage.stage} on "
                f"waveforms: put {before.stage} after all stages on waveforms"
            )
        stage.check(recipe.stages[:i], frame_bins)
    behind = () if recipe.of_text else (*names, "featurizer")
    chain = {"example_server"} if recipe.pipeline.layout == "fused" else {"shard_reader", *behind}
    if unknown := set(recipe.pipeline.replicas) - chain:
        raise ValueError(f"pipeline.replicas names {sorted(unknown)}, but this recipe's stages are {sorted(chain)}")
