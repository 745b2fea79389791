"""The registry of stages: what an utterance passes on its way from a shard to the trainer.

A new augmentation is one file in this folder, one section of the recipe and one case in `_augmentation`.
"""

import numpy as np

from sonorant.augment.resources import StageResources
from sonorant.augment.stage import Stage
from sonorant.delivery.example import Example
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.links.payload import as_carried
from sonorant.randomness import generator
from sonorant.recipe.channel import EqualiserRecipe, GainRecipe, TelephoneRecipe
from sonorant.recipe.pipeline import PayloadRecipe
from sonorant.recipe.schema import Recipe
from sonorant.recipe.signal import (
    LombardRecipe,
    NoiseStylesRecipe,
    RoomRecipe,
    SpeedRecipe,
    StageRecipe,
    SuperpositionRecipe,
    VtlpRecipe,
)
from sonorant.recipe.spec_augment import FeatureStageRecipe, SpecAugmentRecipe

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
    """Return the names of a recipe's stages in order: those on waveforms, the featurizer, those on features."""
    on_features = [section.stage for section in recipe.stages if isinstance(section, FeatureStageRecipe)]
    on_waveforms = [section.stage for section in recipe.stages if section.stage not in on_features]
    return (*on_waveforms, FEATURIZER, *on_features)


def build_chain(recipe: Recipe, resources: StageResources) -> dict[str, Stage]:
    """Return all stages of a recipe, in the order in which an utterance passes them.

    Each but the first takes what a link would bring of what the one before left (`pipeline.payload`): recordings, of 16
    bits, pass any link unchanged. What the last leaves is as it is before the link to the trainer.
    """
    first, *others = stage_names(recipe)
    chain = {first: build_stage(first, recipe, resources)}
    for name in others:
        chain[name] = _behind_link(build_stage(name, recipe, resources), recipe.pipeline.payload)
    return chain


def build_stage(name: str, recipe: Recipe, resources: StageResources) -> Stage:
    """Return one stage of a recipe; BadRecipe if the recipe has no stage of that name."""
    if name == FEATURIZER:
        from sonorant.augment.featurizer import featurizer_stage

        return featurizer_stage(recipe.features, recipe.corpus.sample_rate_hz)
    for section in recipe.stages:
        if section.stage == name:
            return _augmentation(section, recipe, resources)
    raise BadRecipe(f"stage {name!r}: recipe {recipe.name!r} has {list(stage_names(recipe))}; add it below 'stages:'")


def apply_stage(name: str, stage: Stage, example: Example, seed: int) -> Example:
    """Return what a stage makes of an example.

    The random numbers are keyed by (seed, epoch, utterance, name), hence the same wherever and whenever this runs.
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


def _behind_link(stage: Stage, payload: PayloadRecipe) -> Stage:
    return lambda example, rng: stage(as_carried(example, payload), rng)


def _augmentation(section: StageRecipe, recipe: Recipe, resources: StageResources) -> Stage:
    """Build the stage of a section; each imports its module when used: a service loads the one stage that it runs."""
    match section:
        case SpeedRecipe():
            from sonorant.augment.speed import speed_stage

            return speed_stage(section)
        case VtlpRecipe():
            from sonorant.augment.vtlp import vtlp_stage

            return vtlp_stage(section)
        case LombardRecipe():
            from sonorant.augment.lombard import lombard_stage

            return lombard_stage(section)
        case RoomRecipe():
            from sonorant.augment.room import room_stage

            return room_stage(section, resources, recipe.corpus.sample_rate_hz)
        case NoiseStylesRecipe():
            from sonorant.augment.noise_styles import noise_styles_stage

            return noise_styles_stage(section, resources, recipe.corpus.sample_rate_hz)
        case SuperpositionRecipe():
            from sonorant.augment.superposition import superposition_stage

            return superposition_stage(section, resources, recipe.corpus.sample_rate_hz)
        case GainRecipe():
            from sonorant.augment.gain import gain_stage

            return gain_stage(section)
        case EqualiserRecipe():
            from sonorant.augment.equaliser import equaliser_stage

            return equaliser_stage(section)
        case TelephoneRecipe():
            from sonorant.augment.telephone import telephone_stage

            return telephone_stage(section)
        case SpecAugmentRecipe():
            from sonorant.augment.spec_augment import spec_augment_stage

            return spec_augment_stage(section, recipe.features.stack)
