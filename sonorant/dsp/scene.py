"""The acoustic simulator: a random room for each utterance (Samsung, 2.3).

A scene is what a recipe's distributions gave: one shoebox with a speaker, noise sources and microphones. The room
stage draws one, computes its responses and plays the utterance in it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sonorant.dsp.mixing import mix
from sonorant.dsp.noise_source import NoiseSource
from sonorant.dsp.resources import StageResources
from sonorant.dsp.room import LEAD, SPEED_OF_SOUND, ImpossibleRoom, absorption_of, image_responses
from sonorant.dsp.stages import Stage
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.pipeline.example import Example
from sonorant.recipe.section import Interval
from sonorant.recipe.signal import RoomRecipe

__all__ = ["Scene", "draw_scene", "room_stage"]

_MOST_REDRAWS = 1000
_NEAREST_M = 0.05  # from any source to any microphone: nobody speaks inside the device


@dataclass(frozen=True, slots=True)
class Scene:
    """A room and what is in it; positions in metres from one corner of the floor.

    sources_m: Float64[1 + noises, 3], the speaker first. microphones_m: Float64[microphones, 3].
    absorption: of the walls, after Sabine. redraws: how often a draw was impossible and made again.
    """

    room_m: NDArray[np.float64]
    t60_s: float
    absorption: float
    sources_m: NDArray[np.float64]
    microphones_m: NDArray[np.float64]
    snr_db: float
    redraws: int

    def onset(self, sample_rate_hz: int) -> int:
        """Return the tap of the responses at which the speech's direct path arrives at microphone 0."""
        distance_m = float(np.linalg.norm(self.sources_m[0] - self.microphones_m[0]))
        return LEAD + round(distance_m / SPEED_OF_SOUND * sample_rate_hz)


def draw_scene(recipe: RoomRecipe, rng: np.random.Generator) -> Scene:
    """Draw a scene.

    Room and T60 are drawn again, together, when no absorption of the walls gives that T60 in that room, so they
    follow the recipe's distributions among what is possible; so is the whole scene when a source comes closer than
    5 cm to a microphone. Raises RejectedExample after 1,000 redraws.
    """
    for redraws in range(_MOST_REDRAWS):
        room_m = np.array([_uniform(side, rng) for side in (recipe.length_m, recipe.width_m, recipe.height_m)])
        t60_s = _uniform(recipe.t60_s, rng)
        try:
            absorption = absorption_of(t60_s, room_m)
        except ImpossibleRoom:
            continue
        noises = int(rng.integers(recipe.noise_sources[0], recipe.noise_sources[1], endpoint=True))
        microphones_m = _draw_microphones(recipe, room_m, rng)
        wall_m = recipe.wall_distance_m
        sources_m = rng.uniform(wall_m, room_m - wall_m, (1 + noises, 3))
        snr_db = _uniform(recipe.snr_db, rng)
        if np.linalg.norm(sources_m[:, None] - microphones_m, axis=-1).min() >= _NEAREST_M:
            return Scene(room_m, t60_s, absorption, sources_m, microphones_m, snr_db, redraws)
    raise RejectedExample(f"no possible room in {_MOST_REDRAWS} draws: give longer t60_s or smaller rooms")


def room_stage(recipe: RoomRecipe, resources: StageResources, sample_rate_hz: int) -> Stage:
    """Return the stage that plays each utterance in a room of its own.

    With two microphones every waveform leaves as Float32[2, samples], those outside the probability as two equal
    channels. Raises BadRecipe if no room of the recipe can have any of its T60, or babble has too few utterances.
    """
    _check(recipe)
    source = NoiseSource(recipe.noise, resources, sample_rate_hz)

    def play(example: Example, rng: np.random.Generator) -> Example:
        speech = example.waveform
        if speech is None or speech.ndim != 1 or speech.size == 0 or example.sample_rate_hz != sample_rate_hz:
            found = "no waveform" if speech is None else f"shape {speech.shape} at {example.sample_rate_hz} Hz"
            raise RejectedExample(f"room got {found}; it needs one channel at {sample_rate_hz} Hz, not empty")
        if rng.random() >= recipe.probability:
            return example if recipe.microphones == 1 else replace(example, waveform=np.stack([speech, speech]))
        scene = draw_scene(recipe, rng)
        noises = np.empty((len(scene.sources_m) - 1, speech.size), dtype=np.float32)
        for noise in noises:
            noise[:] = source.draw(example, speech.size, rng)
        responses = image_responses(
            scene.room_m, scene.absorption, scene.sources_m, scene.microphones_m, sample_rate_hz, scene.t60_s
        )
        mixture = mix(speech, noises, responses, scene.snr_db, scene.onset(sample_rate_hz))
        return replace(example, waveform=mixture.waveform if recipe.microphones == 2 else mixture.waveform[0])

    return play


def _uniform(interval: Interval, rng: np.random.Generator) -> float:
    return float(rng.uniform(interval.low, interval.high))


def _draw_microphones(recipe: RoomRecipe, room_m: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return Float64[microphones, 3]: on a level line through a random place, in a random direction."""
    angle = rng.uniform(0, 2 * np.pi)
    arm = np.array([np.cos(angle), np.sin(angle), 0.0]) * recipe.microphone_spacing_m / 2
    if recipe.microphones == 1:
        arm = np.zeros(3)
    margin = recipe.wall_distance_m + np.abs(arm)
    centre = rng.uniform(margin, room_m - margin)
    places: NDArray[np.float64] = np.stack([centre - arm, centre + arm])[: recipe.microphones]
    return places


def _check(recipe: RoomRecipe) -> None:
    """Refuse a recipe whose smallest room cannot have its longest T60: then none can have any."""
    try:
        absorption_of(recipe.t60_s.high, (recipe.length_m.low, recipe.width_m.low, recipe.height_m.low))
    except ImpossibleRoom as error:
        raise BadRecipe(f"stage room: {error}") from error
