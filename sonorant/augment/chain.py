"""The chain of stages between shard and trainer."""

import numpy as np

from sonorant.augment.featurizer import featurizer_stage
from sonorant.augment.resources import StageResources
from sonorant.augment.stage import Stage, StageContext, StageSection
from sonorant.augment.table import STAGES
from sonorant.delivery.example import Example
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.links.payload import as_carried
from sonorant.links.section import PayloadRecipe
from sonorant.randomness import generator
from sonorant.recipe.schema import Recipe

__all__ = [
    "FEATURIZER",
    "StageResources",
    "apply_stage",
    "build_chain",
    "build_stage",
    "stage_names",
]

FEATURIZER = "featurizer"  # stands between the stages on waveforms and those on features


def stage_names(recipe: Recipe) -> tuple[str, ...]:
    """Return the names of a recipe's stages in order: those on waveforms, the featurizer, those on features.

    Text passes none.
    """
    if recipe.of_text:
        return ()
    on_features = [section.stage for section in recipe.stages if section.works_on == "features"]
    on_waveforms = [section.stage for section in recipe.stages if section.stage not in on_features]
    return (*on_waveforms, FEATURIZER, *on_features)


def build_chain(recipe: Recipe, resources: StageResources) -> dict[str, Stage]:
    """Return all stages of a recipe, in the order in which an utterance passes them.

    The input of each but the first is rounded as by a link (`pipeline.payload`); recordings, of 16 bits, pass any link
    unchanged. The output of the last is not rounded: it is as before the link to the trainer.
    """
    chain = {name: build_stage(name, recipe, resources) for name in stage_names(recipe)}
    return {
        name: _behind_link(stage, recipe.pipeline.payload) if number else stage
        for number, (name, stage) in enumerate(chain.items())
    }


def build_stage(name: str, recipe: Recipe, resources: StageResources) -> Stage:
    """Return one stage of a recipe; BadRecipe if the recipe has no stage of that name."""
    if name == FEATURIZER:
        return featurizer_stage(recipe.features, recipe.corpus.sample_rate_hz)
    for section in recipe.stages:
        if section.stage == name:
            context = StageContext(resources, recipe.corpus.sample_rate_hz, recipe.features.stack)
            return _after_clean_epochs(section, context, recipe.training.clean_epochs)
    raise BadRecipe(f"stage {name!r}: recipe {recipe.name!r} has {list(stage_names(recipe))}; add it below 'stages:'")


def apply_stage(name: str, stage: Stage, example: Example, seed: int) -> Example:
    """Return the output of a stage for an example.

    The random numbers are keyed by (seed, epoch, utterance, name), hence the same on every machine and at any time.
    Raises RejectedExample if the stage does, or if it leaves samples or features that are not finite, or none at all.
    """
    result = stage(example, generator(seed, example.lineage.epoch, example.utterance, name))
    for content, array in (("waveform", result.waveform), ("features", result.features)):
        if array is None:
            continue
        if array.size == 0:
            raise RejectedExample(f"{name} left an empty {content}: need at least one value")
        if not np.isfinite(array).all():
            bad = int(array.size - np.isfinite(array).sum())
            raise RejectedExample(f"{name} left {bad} of {array.size} values of the {content} not finite")
    return result


def _after_clean_epochs(section: StageSection, context: StageContext, clean_epochs: int) -> Stage:
    """Return the stage of a section, whose probability is 0 in the first epochs."""
    build = STAGES[section.stage].build
    stage = build(section, context)
    if clean_epochs == 0:
        return stage
    clean = build(section.model_copy(update={"probability": 0.0}), context)

    def of_epoch(example: Example, rng: np.random.Generator) -> Example:
        return (clean if example.lineage.epoch < clean_epochs else stage)(example, rng)

    return of_epoch


def _behind_link(stage: Stage, payload: PayloadRecipe) -> Stage:
    return lambda example, rng: stage(as_carried(example, payload), rng)
