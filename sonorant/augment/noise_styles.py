"""Noise styles: a fixed catalogue of rooms with noise, of which each utterance draws one.

Google's acoustic models were trained on "100 different styles of noises with varying degrees of noise and
reverberation" (Variani et al., "End-to-end training of acoustic models for LVCSR with TensorFlow", Interspeech 2017,
section 4), and tested on the same configuration. A style is a room, where everything is in it, what each noise source
plays and how loud; the piece of noise is another one for each utterance. What a fixed catalogue gives up in variety it
saves in time: responses are computed once. The paper does not list its styles; ours are drawn as the room stage draws.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from pydantic import Field

from sonorant.arrays import Responses
from sonorant.augment.noise_source import NoiseSource
from sonorant.augment.resources import StageResources
from sonorant.augment.room import Scene, SceneRecipe, Setting, draw_scene, scene_responses, scene_stage
from sonorant.augment.stage import Augmentation, Stage
from sonorant.delivery.example import Example
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.randomness import generator

__all__ = ["NOISE_STYLES", "NoiseStylesRecipe", "Style", "draw_catalogue", "noise_styles_stage"]


class NoiseStylesRecipe(SceneRecipe):
    """A fixed catalogue of rooms with noise, of which each utterance draws one (Google, 4)."""

    stage: Literal["noise_styles"] = Field(description="Name of the stage.")
    styles: int = Field(100, ge=1, le=1000, description="Styles in the catalogue; their responses stay in memory.")
    catalogue_seed: int = Field(
        0, ge=0, description="The catalogue follows from this and the distributions, whatever the recipe's seed."
    )


@dataclass(frozen=True, slots=True)
class Style:
    """A scene, and the kind of noise that each of its noise sources plays."""

    scene: Scene
    kinds: tuple[str, ...]


def draw_catalogue(recipe: NoiseStylesRecipe, source: NoiseSource) -> tuple[Style, ...]:
    """Return the recipe's styles; those of a smaller catalogue come first in a larger one.

    Raises BadRecipe if the recipe has hardly a possible room.
    """
    catalogue = []
    for number in range(recipe.styles):
        rng = generator(recipe.catalogue_seed, 0, f"style {number}", recipe.stage)
        try:
            scene = draw_scene(recipe, rng)
        except RejectedExample as error:
            raise BadRecipe(f"stage {recipe.stage}: style {number}: {error}") from error
        catalogue.append(Style(scene, tuple(source.draw_kind(rng) for _ in scene.sources_m[1:])))
    return tuple(catalogue)


def noise_styles_stage(recipe: NoiseStylesRecipe, resources: StageResources, sample_rate_hz: int) -> Stage:
    """Return the stage (`scene_stage`); it draws whether to act, the style by its index, and the noises.

    Raises BadRecipe and BadCorpus as `draw_catalogue` and NoiseSource do.
    """
    source = NoiseSource(recipe.noise, resources, sample_rate_hz)
    catalogue = draw_catalogue(recipe, source)
    resources.counts["rooms"] += len(catalogue)
    resources.counts["rooms_redrawn"] += sum(style.scene.redraws for style in catalogue)

    @cache
    def responses(index: int) -> Responses:
        rng = generator(recipe.catalogue_seed, 0, f"tail of style {index}", recipe.stage)
        return scene_responses(catalogue[index].scene, sample_rate_hz, recipe.tail_after_ms, rng)

    def set_up(example: Example, samples: int, rng: np.random.Generator) -> Setting:
        index = int(rng.integers(len(catalogue)))
        style = catalogue[index]
        response = responses(index)
        noises = [source.play(kind, example, samples + response.shape[-1] - 1, rng) for kind in style.kinds]
        return Setting(style.scene, response, noises)

    return scene_stage(recipe, sample_rate_hz, set_up)


NOISE_STYLES = Augmentation(
    NoiseStylesRecipe,
    lambda section, context: noise_styles_stage(section, context.resources, context.sample_rate_hz),
    effect="one of a fixed catalogue of rooms with noise",
    source="Google, 4",
)
