"""Noise of a recipe's noise sources: each draws a kind of noise, then a piece of it."""

from collections.abc import Callable
from typing import Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from sonorant.arrays import Waveform
from sonorant.audio.levels import unit_power
from sonorant.audio.noise import pink_noise, white_noise
from sonorant.augment.babble import babble
from sonorant.augment.noise_folder import NoiseFolder
from sonorant.augment.resources import StageResources
from sonorant.delivery.example import Example
from sonorant.errors import BadRecipe
from sonorant.section import Section

__all__ = ["NoiseRecipe", "NoiseSource"]

_NoiseMaker: TypeAlias = Callable[[Example, int, np.random.Generator], Waveform]


class NoiseRecipe(Section):
    """What noise sources play."""

    kinds: tuple[Literal["white", "pink", "babble", "folder"], ...] = Field(
        ("white", "pink", "babble"), min_length=1, description="Each source draws one of these."
    )
    folder: str = Field("", description="Folder of noise recordings, below the data folder (kind folder only).")
    babble_voices: int = Field(4, ge=1, le=32, description="Utterances that are mixed to babble.")

    @property
    def folders(self) -> tuple[str, ...]:
        """The folder, if there is one."""
        return (self.folder,) if self.folder else ()

    @model_validator(mode="after")
    def _folder_named(self) -> Self:
        if ("folder" in self.kinds) != bool(self.folder):
            raise ValueError(
                f"kinds={list(self.kinds)} and folder={self.folder!r}: give the folder exactly when kinds has 'folder'"
            )
        return self


class NoiseSource:
    """Noise by a recipe's section. Noises have mean square 1, or are silent where a recording is."""

    def __init__(self, recipe: NoiseRecipe, resources: StageResources, sample_rate_hz: int) -> None:
        """Open the sources; BadRecipe if babble has too few utterances, BadCorpus if a folder is empty."""
        self._kinds = recipe.kinds
        self._makers: dict[str, _NoiseMaker] = {
            kind: _noise_maker(kind, recipe, resources, sample_rate_hz) for kind in recipe.kinds
        }

    def draw_kind(self, rng: np.random.Generator) -> str:
        """Draw one of the recipe's kinds."""
        return self._kinds[int(rng.integers(len(self._kinds)))]

    def play(self, kind: str, example: Example, samples: int, rng: np.random.Generator) -> Waveform:
        """Return a random piece of a kind of noise, for an example whose speech it must not contain: Float32[samples].

        Raises RejectedExample if the recording that was drawn cannot be used, or there is no voice for babble.
        """
        return unit_power(self._makers[kind](example, samples, rng))

    def draw(self, example: Example, samples: int, rng: np.random.Generator) -> Waveform:
        """Draw a kind, and return a piece of it as `play` does."""
        return self.play(self.draw_kind(rng), example, samples, rng)


def _noise_maker(kind: str, recipe: NoiseRecipe, resources: StageResources, sample_rate_hz: int) -> _NoiseMaker:
    if kind == "white":
        return lambda _, samples, rng: white_noise(samples, rng)
    if kind == "pink":
        return lambda _, samples, rng: pink_noise(samples, rng)
    if kind == "folder":
        folder = NoiseFolder(resources.data_folder / recipe.folder, sample_rate_hz)
        resources.faults.extend(folder.left_out)
        resources.listings.append(folder.listing)
        return lambda _, samples, rng: folder.excerpt(samples, rng)
    utterances = resources.utterances
    if utterances is None or utterances.total < 2:
        found = "none" if utterances is None else str(utterances.total)
        do = "prepare the run first, or take it out" if utterances is None else "take it out"
        raise BadRecipe(f"noise kind babble needs at least 2 training utterances, found {found}: {do} of noise.kinds")
    return lambda example, samples, rng: babble(
        utterances, recipe.babble_voices, samples, sample_rate_hz, example.utterance, rng
    )
