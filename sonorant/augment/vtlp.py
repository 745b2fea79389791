"""Vocal tract length perturbation with resynthesis (Samsung, 2.3, Eq. 1): the same words by another speaker.

Frequencies are warped frame by frame, and the frames overlap-added. Copying STFT bins from ω to ω′ would leave each
tone the phase that it had at ω: it advances by ω·hop from frame to frame where a tone at ω′ advances by ω′·hop, and
overlapping frames cancel. Rotating each bin by its own (ω′ − ω)·hop·frame does not cure it: neighbours within the
lobe of one tone drift apart. So we move peaks, as Laroche and Dolson do ("New phase-vocoder techniques for
pitch-shifting, harmonizing and other exotic effects", WASPAA 1999): a peak takes the bins around it along, by a whole
number of bins and under one rotation, which follows the interpolated frequency of the tone through the frames.
A lobe keeps its width, hence a sound its time; the gaps between lobes stretch or shrink. A lobe comes to
lie within half a bin of where it belongs; zero-padding would halve that at twice the cost, but what it cures, frames of
one tone that drift apart towards their edges, is a known loss of level (0.9 dB at most), which is given back.
Where the map squeezes frequencies, bins between peaks are dropped: a tone keeps its level, white noise loses 0.8 dB for
alpha 0.8 or 1.2, and 1.6 dB in the twelfth of the band that is squeezed most;
`tests/augment/test_vtlp_speech.py` has that of read sentences.
"""

from typing import Literal, NamedTuple, Self

import numpy as np
from ducc0 import fft
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sonorant.arrays import Waveform
from sonorant.audio import kernels
from sonorant.audio.fft_rows import row_stride
from sonorant.audio.levels import within_full_scale
from sonorant.audio.peaks import PeakMover, Spectra, warp_frequency
from sonorant.audio.windows import hann
from sonorant.augment.stage import Augmentation, Stage, StageSection
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.section import Fraction, Interval

__all__ = ["VTLP", "VtlpRecipe", "vtlp_stage", "warp", "warp_frequency"]

_OVERLAP = 4  # frames over each sample: Hann windows at analysis and synthesis then sum to 3/2
_WINDOW_SUM = 1.5
_BLOCK = 80  # frames computed at once: few calls, and what they need stays in the cache


class VtlpRecipe(StageSection):
    """Vocal tract length perturbation with resynthesis (Samsung, 2.3, Eq. 1)."""

    stage: Literal["vtlp"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are warped.")
    alpha: Interval = Field(Interval(low=0.8, high=1.2), description="Warping factor; below 1 raises frequencies.")
    window_ms: float = Field(50.0, gt=0, le=500, description="Window of the analysis and resynthesis, in milliseconds.")

    @model_validator(mode="after")
    def _invertible(self) -> Self:
        if not 0 < self.alpha.low <= self.alpha.high < 2:
            raise ValueError(
                f"alpha={self.alpha.low}..{self.alpha.high}: the bilinear map needs 0 < alpha < 2; 0.8..1.2 is usual"
            )
        return self


class _Buffers(NamedTuple):
    """What a block of frames needs, used again for each: fresh memory would cost as much as the transforms."""

    frames: NDArray[np.float32]  # with a gap after each (`fft_rows`)
    spectra: Spectra
    moved: Spectra


def warp(waveform: Waveform, alpha: float, sample_rate_hz: int, window_ms: float = 50.0) -> Waveform:
    """Return Float32[samples], finite, with its frequencies warped by Eq. 1: Float32[samples].

    Timing stays; with alpha = 1 the samples do, to 1e-5. Peaks may pass 1, as partials meet in other phases.
    window_ms is lengthened to what transforms quickly.
    """
    hop = fft.good_size(max(1, round(window_ms * sample_rate_hz / 1000 / _OVERLAP)), True)
    window = _OVERLAP * hop
    analysis = hann(window)
    synthesis = analysis / np.float32(_WINDOW_SUM * window)  # the transform back leaves out its 1 / window
    mover = PeakMover(alpha, hop, window)

    margin = window - hop  # so that the first samples lie in as many frames as all others
    frames = -(-(margin + waveform.size) // hop)
    padded = np.zeros(frames * hop + margin, np.float32)
    padded[margin : margin + waveform.size] = waveform
    total = np.zeros_like(padded)
    buffers = _buffers(min(frames, _BLOCK), window)
    for start in range(0, frames, _BLOCK):
        now = slice(0, frames - start)
        block, spectra, moved = buffers.frames[now], buffers.spectra[now], buffers.moved[now]
        kernels.cut_frames(padded[start * hop :], hop, analysis, block)
        fft.r2c(block[:, :window], axes=(1,), out=spectra)
        mover.move(spectra, moved)
        fft.c2r(moved, axes=(1,), lastsize=window, forward=False, out=block[:, :window])
        kernels.overlap_add(block, synthesis, hop, total[start * hop :])
    return total[margin : margin + waveform.size]


def _buffers(frames: int, window: int) -> _Buffers:
    """Return buffers for so many frames."""
    samples, bins = (frames, row_stride(window)), (frames, window // 2 + 1)
    return _Buffers(np.empty(samples, np.float32), np.empty(bins, np.complex64), np.empty(bins, np.complex64))


def vtlp_stage(recipe: VtlpRecipe) -> Stage:
    """Return the stage that warps a share of the utterances by a factor drawn uniformly; word spans stay.

    Draws, always both and in this order: whether to warp, alpha. Several microphones are warped one by one.
    It raises RejectedExample if the waveform is absent or has samples that are not finite.
    """

    def perturb(example: Example, rng: np.random.Generator) -> Example:
        chance, alpha = rng.random(), rng.uniform(recipe.alpha.low, recipe.alpha.high)
        waveform = example.waveform
        if waveform is None:
            raise RejectedExample("no waveform to warp; vtlp must come before the featurizer")
        if not np.isfinite(waveform).all():
            raise RejectedExample("waveform has samples that are not finite; listen to the recording")
        if chance >= recipe.probability:
            return example
        microphones = np.atleast_2d(waveform)
        warped = [warp(microphone, alpha, example.sample_rate_hz, recipe.window_ms) for microphone in microphones]
        return example._replace(waveform=within_full_scale(np.stack(warped).reshape(waveform.shape)))

    return perturb


VTLP = Augmentation(
    VtlpRecipe,
    lambda section, context: vtlp_stage(section),
    effect="warps the vocal tract's length",
    source="Samsung, 2.3",
)
