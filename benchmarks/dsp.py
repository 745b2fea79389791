"""Signal processing on one core: rooms, mixing, VTLP, features and the whole chain, beside the toolkits' ways.

Peers do the same work as they are commonly used: pyroomacoustics for responses (its image method up to the order of
T60), scipy's overlap-add for mixing, librosa for the STFT below VTLP (complex bins copied along the map, which breaks
phases but costs the same) and for mel spectra. The limit is what the chain's own FFTs would take at the machine's best
rate, and its sounds at memory's; `chain / limit` is the part of it that is reached.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.limit import fft_flops, fft_flops_per_s, memory_bytes_per_s
from benchmarks.rigs import toolkits
from benchmarks.row import Progress, Row
from benchmarks.timing import quickest_s
from services.process.memory import keep_freed_memory
from sonorant.audio.decay import absorption_of
from sonorant.audio.high_pass import high_passed
from sonorant.audio.image_method import LEAD, image_responses, response_taps
from sonorant.audio.mixing import mix
from sonorant.augment.vtlp import warp
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.section import FeaturesRecipe

__all__ = ["rows"]

_RATE_HZ = 16000
_SECONDS = 12
_ALPHA = 0.9
_EARLY_TAPS = LEAD + round(0.06 * _RATE_HZ)  # the direct sound after some 10 ms, and 50 ms more
_CASE = f"{_SECONDS} s at {_RATE_HZ // 1000} kHz"
_SPEED = "audio-h/core-h"

_Array = NDArray[np.floating[Any]]
_Way = Callable[[], object]


@dataclass(frozen=True, slots=True)
class _Scene:
    """A 6 x 5 x 3 m room; the speech is the first source."""

    sources: int
    microphones: int
    t60_s: float

    @property
    def case(self) -> str:
        return f"{self.sources} src, {self.microphones} mic, T60 {self.t60_s} s"

    def responses(self) -> _Array:
        room, sources, microphones = _positions(self)
        absorption = absorption_of(self.t60_s, room)
        return high_passed(image_responses(room, absorption, sources, microphones, _RATE_HZ, self.t60_s), _RATE_HZ)

    def peer_responses(self) -> _Array:
        room, sources, microphones = _positions(self)
        return toolkits.responses(room, self.t60_s, sources, microphones, _RATE_HZ)


@cache
def _positions(scene: _Scene) -> tuple[_Array, _Array, _Array]:
    rng, room = np.random.default_rng(5), np.array([6.0, 5.0, 3.0])
    return room, rng.uniform(0.5, room - 0.5, (scene.sources, 3)), rng.uniform(1, 2, (scene.microphones, 3))


_SCENES = (_Scene(2, 1, 0.3), _Scene(2, 1, 0.6), _Scene(4, 2, 0.6))


def rows(progress: Progress) -> Iterator[Row]:
    """Yield each kernel's rate, then the chain's."""
    keep_freed_memory()  # as services do
    if toolkits.INSTALLED:
        toolkits.keep_to_one_thread()
    sound = (0.1 * np.random.default_rng(0).standard_normal((4, _SECONDS * _RATE_HZ))).astype(np.float32)
    extractor = FeatureExtractor(FeaturesRecipe(), _RATE_HZ)
    progress("the machine's limits")
    flops_per_s, bytes_per_s = fft_flops_per_s(), memory_bytes_per_s()
    yield Row("fft", "float32, in cache", flops_per_s / 1e9, "Gflop/s")
    yield Row("memory", "copy", bytes_per_s / 1e9, "GB/s")
    yield from _responses(progress)
    for scene in _SCENES:
        progress(f"mixing, {scene.case}")
        yield _speed("mixing", scene.case, *_mixing(scene, sound))
    progress("vtlp")
    yield _speed(
        "vtlp", _CASE, lambda: warp(sound[0], _ALPHA, _RATE_HZ), "librosa", lambda: toolkits.warp(sound[0], _ALPHA)
    )
    progress("power-mel")
    yield _speed(
        "power-mel", _CASE, lambda: extractor(sound[0]), "librosa", lambda: toolkits.power_mel(sound[0], _RATE_HZ)
    )
    for scene in _SCENES:
        progress(f"chain, {scene.case}")
        ours, peer, theirs = _chain(scene, sound, extractor)
        chain = _speed("chain", scene.case, ours, peer, theirs)
        yield chain
        limit_s = fft_flops(ours) / flops_per_s + _traffic_bytes(scene) / bytes_per_s
        yield Row("limit", scene.case, _SECONDS / limit_s, _SPEED)
        yield Row("chain / limit", scene.case, chain.value * limit_s / _SECONDS, "1")


def _responses(progress: Progress) -> Iterator[Row]:
    for scene in (_Scene(1, 1, 0.3), _Scene(1, 1, 0.6)):
        progress(f"response, {scene.case}")
        ways: dict[str, _Way] = {"ours": scene.responses}
        if toolkits.INSTALLED:
            ways["peer"] = scene.peer_responses
        took = quickest_s(ways)
        peer = ("pyroomacoustics", 1 / took["peer"]) if toolkits.INSTALLED else (None, None)
        yield Row("response", scene.case, 1 / took["ours"], "responses/core-s", *peer)


def _mixing(scene: _Scene, sound: _Array) -> tuple[_Way, str, _Way]:
    responses, dry, noises = scene.responses(), sound[: scene.sources], _begun_before(scene, sound)

    def ours() -> object:
        return mix(dry[0], noises, responses, 10, LEAD, _EARLY_TAPS)

    return ours, "scipy", lambda: toolkits.mix(dry, responses)


def _chain(scene: _Scene, sound: _Array, extractor: FeatureExtractor) -> tuple[_Way, str, _Way]:
    dry, noises = sound[: scene.sources], _begun_before(scene, sound)

    def ours() -> object:
        speech = warp(dry[0], _ALPHA, _RATE_HZ)
        return extractor(mix(speech, noises, scene.responses(), 10, LEAD, _EARLY_TAPS).waveform[0])

    def theirs() -> object:
        speech = toolkits.warp(dry[0], _ALPHA)
        return toolkits.power_mel(toolkits.mix(np.vstack([speech, dry[1:]]), scene.peer_responses())[0], _RATE_HZ)

    return ours, "toolkits", theirs


def _begun_before(scene: _Scene, sound: _Array) -> _Array:
    """Return the scene's noises, which begin a response earlier than the speech: Float32[noises, samples]."""
    noises = sound[1 : scene.sources]
    return np.concatenate([noises[:, 1 - response_taps(scene.t60_s, _RATE_HZ) :], noises], axis=1)


def _traffic_bytes(scene: _Scene) -> float:
    """Return what the chain must read and write if each stage touches its sounds once: vtlp, mixing, features."""
    sounds = 2 + (scene.sources + scene.microphones) + 1
    return 4.0 * sounds * _SECONDS * _RATE_HZ


def _speed(name: str, case: str, ours: _Way, peer: str, theirs: _Way) -> Row:
    took = quickest_s({"ours": ours, "peer": theirs} if toolkits.INSTALLED else {"ours": ours})
    if not toolkits.INSTALLED:
        return Row(name, case, _SECONDS / took["ours"], _SPEED)
    return Row(name, case, _SECONDS / took["ours"], _SPEED, peer, _SECONDS / took["peer"])
