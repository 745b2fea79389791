"""Synthesis by superposition: several noises are laid over the speech (Deep Speech, 4.1).

Many short noises replace one long noise, so that a network cannot memorise them. What is superimposed
could be unlike any noise that is ever recorded; so each candidate has to pass a test: it is rejected if its average
power in a frequency band differs significantly from that of real noisy recordings. The paper gives neither bands nor
bound. Ours are octaves and decibels, of each band's share of the power, as the level of the noise is set afterwards.
"""

from itertools import pairwise
from typing import Literal, Self

import numpy as np
from ducc0 import fft
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sonorant.arrays import Waveform
from sonorant.audio.levels import unit_power, within_full_scale
from sonorant.augment.noise_folder import NoiseFolder
from sonorant.augment.noise_source import NoiseRecipe, NoiseSource
from sonorant.augment.resources import StageResources
from sonorant.augment.stage import Augmentation, Stage, StageSection, by_chance
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.section import Fraction, Interval

__all__ = [
    "SUPERPOSITION",
    "SuperpositionRecipe",
    "band_shares",
    "differs",
    "reference_shares",
    "superimpose",
    "superposition_stage",
]

_LOWEST_HZ = 100.0  # the lowest octave starts above it: what is below, features do not see
_MOST_DRAWS = 32  # of candidates, for one noise
_REFERENCE_EXCERPTS = 200
_REFERENCE_S = 4.0

_Shares = NDArray[np.float64]


class SuperpositionRecipe(StageSection):
    """Noises laid over the speech, if they are like real ones (Deep Speech, 4.1)."""

    stage: Literal["superposition"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that get noise.")
    noises: tuple[int, int] = Field((1, 3), description="Fewest and most noises at once, 1 to 16.")
    snr_db: Interval = Field(Interval(low=5, high=25), description="Speech to all noise, in decibels.")
    noise: NoiseRecipe = Field(NoiseRecipe(), description="Where candidates come from.")
    reference: str = Field(
        "",
        description="Folder of real noisy recordings, below the data folder; absent: equal power in all octaves.",
    )
    tolerance_db: float = Field(
        20.0,
        gt=0,
        description="A candidate whose share of the power in an octave is off the reference's by more is redrawn.",
    )

    @property
    def folders(self) -> tuple[str, ...]:
        """See `StageSection`."""
        return (*self.noise.folders, self.reference) if self.reference else self.noise.folders

    @model_validator(mode="after")
    def _countable(self) -> Self:
        fewest, most = self.noises
        if not 1 <= fewest <= most <= 16:
            raise ValueError(f"noises={fewest}..{most}: need 1 <= fewest <= most <= 16")
        return self


def band_shares(waveform: Waveform, sample_rate_hz: int) -> _Shares:
    """Return the share of each octave below half the sample rate in the power of them all: Float64[octaves].

    The lowest octave starts between 100 and 200 Hz. All zero if the waveform has no power in any.
    """
    power = np.square(np.abs(fft.r2c(waveform.astype(np.float64))))
    octaves = int(np.log2(sample_rate_hz / 2 / _LOWEST_HZ))
    edges = (len(power) * 0.5 ** np.arange(octaves, -1, -1)).astype(int)
    bands = np.array([power[low:high].sum() for low, high in pairwise(edges)])
    total = float(bands.sum())
    return bands / total if total > 0 else bands


def differs(shares: _Shares, reference: _Shares, tolerance_db: float) -> bool:
    """Return whether any band's power is more than `tolerance_db` above or below the reference's; True for silence."""
    bound = 10 ** (tolerance_db / 10)
    return not bool(((shares * bound >= reference) & (shares <= reference * bound)).all())


def reference_shares(recordings: NoiseFolder) -> _Shares:
    """Return the average shares of real noisy recordings: of 200 excerpts of 4 s, always the same ones.

    Raises RejectedExample if a recording cannot be read, or is silent wherever it was listened to.
    """
    rate_hz = recordings.sample_rate_hz
    rng = np.random.default_rng(0)
    excerpts = (recordings.excerpt(round(_REFERENCE_S * rate_hz), rng) for _ in range(_REFERENCE_EXCERPTS))
    shares: _Shares = np.mean([band_shares(excerpt, rate_hz) for excerpt in excerpts], axis=0)
    if not shares.all():
        raise RejectedExample(f"{recordings.folder}: recordings without any sound in some octave are no reference")
    return shares


def superimpose(speech: Waveform, noise: Waveform, snr_db: float) -> Waveform:
    """Return speech and noise: Float32[..., samples]; only if that exceeds full scale, both are attenuated.

    speech: Float32[..., samples]. noise: Float32[samples], the same at all microphones; silence leaves speech alone.
    snr_db: power of speech over power of noise, whole utterance, at microphone 0. RejectedExample if speech is silent.
    """
    first = np.atleast_2d(speech)[0]
    power = float(np.mean(np.square(first, dtype=np.float64)))
    if not power > 0:
        raise RejectedExample("the speech is silent, so no noise has any ratio to it")
    return within_full_scale(speech + unit_power(noise) * np.float32(np.sqrt(power) * 10 ** (-snr_db / 20)))


def superposition_stage(recipe: SuperpositionRecipe, resources: StageResources, sample_rate_hz: int) -> Stage:
    """Return the stage; it draws whether to act, the SNR, the number of noises, and each until one passes the test.

    Without a folder of reference recordings all octaves are expected to have the same power, as pink noise has, which
    the surroundings of people come near to on average. Raises BadRecipe and BadCorpus as NoiseSource does.
    """
    source = NoiseSource(recipe.noise, resources, sample_rate_hz)
    octaves = len(band_shares(np.zeros(sample_rate_hz, np.float32), sample_rate_hz))
    reference = np.full(octaves, 1 / octaves)
    if recipe.reference:
        recordings = NoiseFolder(resources.data_folder / recipe.reference, sample_rate_hz)
        resources.faults.extend(recordings.left_out)
        resources.listings.append(recordings.listing)
        reference = reference_shares(recordings)

    def draw_noise(example: Example, samples: int, rng: np.random.Generator) -> Waveform:
        for _ in range(_MOST_DRAWS):
            candidate = source.draw(example, samples, rng)
            if not differs(band_shares(candidate, sample_rate_hz), reference, recipe.tolerance_db):
                return candidate
        raise RejectedExample(
            f"none of {_MOST_DRAWS} noises has the reference's power in every octave, within {recipe.tolerance_db:g} "
            "dB; raise tolerance_db or give other noises"
        )

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        snr_db = rng.uniform(recipe.snr_db.low, recipe.snr_db.high)
        noise = np.zeros(waveform.shape[-1], np.float32)
        for _ in range(int(rng.integers(recipe.noises[0], recipe.noises[1], endpoint=True))):
            noise += draw_noise(example, noise.size, rng)
        return example._replace(waveform=superimpose(waveform, noise, snr_db))

    return by_chance(recipe.probability, change)


SUPERPOSITION = Augmentation(
    SuperpositionRecipe,
    lambda section, context: superposition_stage(section, context.resources, context.sample_rate_hz),
    effect="several noises, if they are like real ones",
    source="Deep Speech, 4.1",
)
