"""The acoustic simulator: a random room for each utterance (Samsung, 2.3).

A scene is a draw from a recipe's distributions: one shoebox with a speaker, noise sources and microphones. The room
stage draws one, computes its responses and plays the utterance in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sonorant.arrays import Responses, Waveform
from sonorant.audio.decay import absorption_of
from sonorant.audio.high_pass import high_passed
from sonorant.audio.image_method import (
    LEAD,
    SPEED_OF_SOUND,
    ImpossibleRoom,
    image_responses,
    response_taps,
)
from sonorant.audio.late_tail import add_late_tail
from sonorant.audio.mixing import mix
from sonorant.augment.noise_source import NoiseRecipe, NoiseSource
from sonorant.augment.resources import StageResources
from sonorant.augment.stage import Augmentation, Stage, StageSection
from sonorant.delivery.example import Example, WordSpan
from sonorant.errors import RejectedExample
from sonorant.section import Fraction, Interval

__all__ = [
    "ROOM",
    "RoomRecipe",
    "Scene",
    "SceneRecipe",
    "Setting",
    "draw_scene",
    "room_stage",
    "scene_responses",
    "scene_stage",
]

_MOST_REDRAWS = 1000
_LONGEST_S = 30.0  # three cathedrals'; the work for an utterance grows with it
_LARGEST_M = 1000.0
_NEAREST_M = 0.05  # from any source to any microphone: no speaker is inside the device
_EARLY_S = 0.05  # after the direct sound


class SceneRecipe(StageSection):
    """Distributions of a random shoebox with one speaker, noise sources and microphones (Samsung, 2.3)."""

    stage: str = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are played in a room.")
    length_m: Interval = Field(Interval(low=3, high=10), description="Length of the room, in metres.")
    width_m: Interval = Field(Interval(low=3, high=8), description="Width of the room, in metres.")
    height_m: Interval = Field(Interval(low=2.4, high=4), description="Height of the room, in metres.")
    t60_s: Interval = Field(Interval(low=0.1, high=0.6), description="Reverberation time, in seconds.")
    snr_db: Interval = Field(
        Interval(low=5, high=25), description="Speech to noise at the first microphone, in decibels."
    )
    noise_sources: tuple[int, int] = Field((1, 3), description="Fewest and most noise sources, 0 to 3.")
    microphones: Literal[1, 2] = Field(1, description="Number of microphones.")
    snr_speech: Literal["early", "reverberant"] = Field(
        "early", description="Speech that the SNR counts: what arrives within 50 ms of the direct sound, or all."
    )
    direct_delay: Literal["removed", "kept"] = Field(
        "removed",
        description="Time that the direct sound takes to the first microphone: removed, so that words stay where they "
        "were, or kept. The length stays either way.",
    )
    tail_after_ms: float | None = Field(
        None,
        ge=1,
        description="Time after the direct sound from which reflections are a statistical tail, in milliseconds; 50 is "
        "usual; absent: each reflection is exact.",
    )
    microphone_spacing_m: float = Field(0.071, gt=0, le=1, description="Distance between two microphones, in metres.")
    wall_distance_m: float = Field(0.3, gt=0, description="Least distance of anything to a wall, in metres.")
    noise: NoiseRecipe = Field(NoiseRecipe(), description="What the noise sources play.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        fewest, most = self.noise_sources
        if not 0 <= fewest <= most <= 3:
            raise ValueError(f"noise_sources={fewest}..{most}: need 0 <= fewest <= most <= 3")
        if not 0 < self.t60_s.low <= self.t60_s.high <= _LONGEST_S:
            raise ValueError(
                f"t60_s={self.t60_s.low}..{self.t60_s.high}: must be above 0 and {_LONGEST_S:g} at most, in seconds; "
                "0.1..0.6 is usual"
            )
        for side, given in (("length_m", self.length_m), ("width_m", self.width_m), ("height_m", self.height_m)):
            if given.high > _LARGEST_M:
                raise ValueError(f"{side}={given.low}..{given.high}: must be {_LARGEST_M:g} m at most")
        smallest_m = (self.length_m.low, self.width_m.low, self.height_m.low)
        if min(smallest_m) <= 2 * self.wall_distance_m:
            raise ValueError(
                f"the smallest room side, {min(smallest_m)} m, leaves no space between walls {self.wall_distance_m} m "
                "away; take a larger room or a shorter wall_distance_m"
            )
        if self.microphones == 2 and min(smallest_m[:2]) <= 2 * self.wall_distance_m + self.microphone_spacing_m:
            raise ValueError(
                f"the smallest room side, {min(smallest_m[:2])} m, leaves no space between walls "
                f"{self.wall_distance_m} m away for microphones {self.microphone_spacing_m} m apart"
            )
        _check_longest_t60(self.t60_s.high, smallest_m)
        return self

    @property
    def folders(self) -> tuple[str, ...]:
        """See `StageSection`."""
        return self.noise.folders

    def check(self, earlier: Sequence[StageSection], frame_bins: int) -> None:
        """Raise ValueError if a room before this one gives two channels."""
        for scene in earlier:
            if isinstance(scene, SceneRecipe) and scene.microphones > 1:
                raise ValueError(
                    f"stages {[*(section.stage for section in earlier), self.stage]}: {self.stage} plays one channel "
                    f"and {scene.stage} before it gives {scene.microphones}; set the microphones of {scene.stage} to 1"
                )


class RoomRecipe(SceneRecipe):
    """Acoustic simulator: another room for each utterance (Samsung, 2.3)."""

    stage: Literal["room"] = Field(description="Name of the stage.")


@dataclass(frozen=True, slots=True)
class Scene:
    """A room and what is in it; positions in metres from one corner of the floor.

    sources_m: Float64[1 + noises, 3], the speaker first. microphones_m: Float64[microphones, 3].
    absorption: of the walls (`decay.absorption_of`). redraws: how often a draw was impossible and made again.
    """

    room_m: NDArray[np.float64]
    t60_s: float
    absorption: float
    sources_m: NDArray[np.float64]
    microphones_m: NDArray[np.float64]
    snr_db: float
    redraws: int

    def direct_delays_s(self) -> NDArray[np.float64]:
        """Return the time of flight from each source to each microphone: Float64[1 + noises, microphones]."""
        distances_m = np.linalg.norm(self.sources_m[:, None] - self.microphones_m, axis=-1)
        delays_s: NDArray[np.float64] = distances_m / SPEED_OF_SOUND
        return delays_s


class Setting(NamedTuple):
    """Where an utterance is played: a scene, its responses, and a noise of mean square 1 for each noise source.

    The noises have taps - 1 samples more than the utterance: they begin before it, as `mix` requires.
    """

    scene: Scene
    responses: Responses
    noises: Sequence[Waveform]


def draw_scene(recipe: SceneRecipe, rng: np.random.Generator) -> Scene:
    """Draw a scene.

    Room and T60 are drawn again, together, when no absorption of the walls gives that T60 in that room, after Sabine,
    so they follow the recipe's distributions among what is possible; so is the whole scene when a source comes closer
    than 5 cm to a microphone. Raises RejectedExample after 1,000 redraws.
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
        scene = Scene(room_m, t60_s, absorption, sources_m, microphones_m, snr_db, redraws)
        if scene.direct_delays_s().min() >= _NEAREST_M / SPEED_OF_SOUND:
            return scene
    raise RejectedExample(f"no possible room in {_MOST_REDRAWS} draws: give longer t60_s or smaller rooms")


def room_stage(recipe: RoomRecipe, resources: StageResources, sample_rate_hz: int) -> Stage:
    """Return the stage that plays each utterance in a room of its own, see `scene_stage`.

    It counts rooms, and how many draws were impossible and made again.
    Raises BadRecipe and BadCorpus as NoiseSource does.
    """
    source = NoiseSource(recipe.noise, resources, sample_rate_hz)

    def set_up(example: Example, samples: int, rng: np.random.Generator) -> Setting:
        scene = draw_scene(recipe, rng)
        resources.counts["rooms"] += 1
        resources.counts["rooms_redrawn"] += scene.redraws
        responses = scene_responses(scene, sample_rate_hz, recipe.tail_after_ms, rng)
        noises = [source.draw(example, samples + responses.shape[-1] - 1, rng) for _ in scene.sources_m[1:]]
        return Setting(scene, responses, noises)

    return scene_stage(recipe, sample_rate_hz, set_up)


def scene_stage(
    recipe: SceneRecipe, sample_rate_hz: int, set_up: Callable[[Example, int, np.random.Generator], Setting]
) -> Stage:
    """Return the stage that plays a share of the utterances in what `set_up` makes for that many samples.

    The SNR counts all reverberant speech, or (`snr_speech: early`) what arrives within 50 ms of the direct sound, as
    only that helps to understand it (Bradley, Sato and Picard, "On the importance of early reflections for speech in
    rooms", JASA 113, 2003); it is the early energy of C50 in ISO 3382-1. The direct sound's delay is removed, or it is
    kept and words move. With two microphones every waveform leaves as Float32[2, samples], those outside the
    probability as two equal channels.
    """

    def play(example: Example, rng: np.random.Generator) -> Example:
        speech = example.waveform
        if speech is None or speech.ndim != 1 or speech.size == 0 or example.sample_rate_hz != sample_rate_hz:
            found = "no waveform" if speech is None else f"shape {speech.shape} at {example.sample_rate_hz} Hz"
            raise RejectedExample(f"{recipe.stage} got {found}; it needs one channel at {sample_rate_hz} Hz, not empty")
        if rng.random() >= recipe.probability:
            return example if recipe.microphones == 1 else example._replace(waveform=np.stack([speech, speech]))
        scene, responses, played = set_up(example, speech.size, rng)
        noises = np.array(played, dtype=np.float32).reshape(len(played), speech.size + responses.shape[-1] - 1)
        delay_s = float(scene.direct_delays_s()[0, 0])
        onset = LEAD + round(delay_s * sample_rate_hz)
        early_taps = onset + round(_EARLY_S * sample_rate_hz) if recipe.snr_speech == "early" else None
        kept = recipe.direct_delay == "kept"
        mixture = mix(speech, noises, responses, scene.snr_db, LEAD if kept else onset, early_taps)
        words = _delayed(example.words, delay_s, speech.size / sample_rate_hz) if kept else example.words
        waveform = mixture.waveform if recipe.microphones == 2 else mixture.waveform[0]
        return example._replace(waveform=waveform, words=words)

    return play


def scene_responses(
    scene: Scene, sample_rate_hz: int, tail_after_ms: float | None, rng: np.random.Generator
) -> Responses:
    """Return the responses of a scene, up to its T60, high-passed: Float32[1 + noises, microphones, taps].

    tail_after_ms: from then on after the last direct sound they are a statistical tail, drawn from rng; None: exact.
    """
    exact_s = scene.t60_s
    if tail_after_ms is not None:
        exact_s = min(exact_s, float(scene.direct_delays_s().max()) + tail_after_ms / 1000)
    room = (scene.room_m, scene.absorption)
    responses = image_responses(*room, scene.sources_m, scene.microphones_m, sample_rate_hz, exact_s)
    if exact_s < scene.t60_s:
        more = response_taps(scene.t60_s, sample_rate_hz) - responses.shape[-1]
        responses = np.pad(responses, ((0, 0), (0, 0), (0, more)))
        add_late_tail(responses, *room, scene.microphones_m, sample_rate_hz, exact_s, scene.t60_s, rng)
    return high_passed(responses, sample_rate_hz)


def _delayed(words: tuple[WordSpan, ...], delay_s: float, duration_s: float) -> tuple[WordSpan, ...]:
    """Return the words of a recording that starts so much later and is cut off at the same duration."""
    return tuple(
        WordSpan(word, min(start_s + delay_s, duration_s), min(end_s + delay_s, duration_s))
        for word, start_s, end_s in words
    )


def _uniform(interval: Interval, rng: np.random.Generator) -> float:
    return float(rng.uniform(interval.low, interval.high))


def _draw_microphones(
    recipe: SceneRecipe, room_m: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return Float64[microphones, 3]: on a level line through a random point, in a random direction."""
    angle = rng.uniform(0, 2 * np.pi)
    arm = np.array([np.cos(angle), np.sin(angle), 0.0]) * recipe.microphone_spacing_m / 2
    if recipe.microphones == 1:
        arm = np.zeros(3)
    margin = recipe.wall_distance_m + np.abs(arm)
    centre = rng.uniform(margin, room_m - margin)
    positions_m: NDArray[np.float64] = np.stack([centre - arm, centre + arm])[: recipe.microphones]
    return positions_m


def _check_longest_t60(t60_s: float, room_m: tuple[float, float, float]) -> None:
    """Refuse distributions of which not even the smallest room can have the longest T60: then none can have any."""
    try:
        absorption_of(t60_s, room_m)
    except ImpossibleRoom as error:
        raise ValueError(str(error)) from error


ROOM = Augmentation(
    RoomRecipe,
    lambda section, context: room_stage(section, context.resources, context.sample_rate_hz),
    effect="a random room with noise for each utterance",
    source="Samsung, 2.3",
)
