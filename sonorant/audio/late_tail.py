"""The late part of a room's responses as noise, instead of images too dense to tell apart.

After Lehmann and Johansson, "Diffuse reverberation model for efficient image-source simulation of room impulse
responses" (IEEE TASLP 18, 2010): up to some time the images are exact, from then on the response is Gaussian noise
with the power that the images would have had. We take that power from the images' statistics, by `decay.image_power`,
where they fit it to a first run of the image method.

In a diffuse field the signals of two microphones have the coherence sin(k d) / (k d), with k = 2 pi f / c and d their
distance (Cook et al., "Measurement of correlation coefficients in reverberant sound fields", JASA 27, 1955); the noises
are mixed to it frequency by frequency with the coherence matrix's Cholesky factor (Habets, Cohen and Gannot,
"Generating nonstationary multisensor signals under a spatial coherence constraint", JASA 124, 2008).
"""

import numpy as np
from ducc0 import fft
from numpy.typing import NDArray

from sonorant.arrays import Responses
from sonorant.audio.decay import image_power
from sonorant.audio.fft_sizes import coarse_length
from sonorant.audio.image_method import LEAD, SPEED_OF_SOUND

__all__ = ["add_late_tail", "diffuse_noise"]

_KNOTS = 32  # of the decay, between which its level is taken as straight
_LEAST_EIGENVALUE = 1e-6  # coherence matrices are singular at 0 Hz

_Floats = NDArray[np.float64]


def add_late_tail(
    responses: Responses,
    room_m: _Floats,
    absorption: float,
    microphones_m: _Floats,
    sample_rate_hz: int,
    start_s: float,
    end_s: float,
    rng: np.random.Generator,
) -> None:
    """Add a statistical tail, from `start_s` to `end_s` after emission, to responses as `image_responses` has them.

    responses: Float32[sources, microphones, taps], exact up to `start_s`; a tail that exceeds the taps is cut off.
    """
    first, last = round(start_s * sample_rate_hz), round(end_s * sample_rate_hz)
    if last <= first:
        return
    late = responses[..., LEAD + first : LEAD + last]
    knots = np.linspace(first, last, _KNOTS)
    power = image_power(room_m, absorption, knots / sample_rate_hz) / sample_rate_hz
    level = np.log(np.maximum(power, np.finfo(np.float32).tiny)) / 2
    envelope = np.exp(np.interp(np.arange(first, last), knots, level).astype(np.float32))
    noise = diffuse_noise(len(responses), microphones_m, last - first, sample_rate_hz, rng)
    late += (noise * envelope)[..., : late.shape[-1]]


def diffuse_noise(
    sources: int, microphones_m: _Floats, samples: int, sample_rate_hz: int, rng: np.random.Generator
) -> Responses:
    """Return noise of power 1 with the coherence of a diffuse field: Float32[sources, microphones, samples].

    microphones_m: [microphones, 3]. Noises of different sources have nothing in common.
    """
    microphones = len(microphones_m)
    length = 2 * coarse_length((samples + 1) // 2)
    noise = rng.standard_normal((sources, microphones, length), dtype=np.float32)
    if microphones == 1:
        return noise[..., :samples]
    distance_m = np.linalg.norm(microphones_m[:, None] - microphones_m, axis=-1)
    frequency_hz = np.fft.rfftfreq(length, 1 / sample_rate_hz)
    coherence = np.sinc(2 * frequency_hz[:, None, None] * distance_m / SPEED_OF_SOUND)
    factor = np.linalg.cholesky(coherence + _LEAST_EIGENVALUE * np.eye(microphones)).astype(np.float32)
    spectra = np.einsum("fmn,snf->smf", factor, fft.r2c(noise, axes=(2,)))
    mixed: Responses = fft.c2r(spectra, axes=(2,), lastsize=length, forward=False, inorm=2)[..., :samples]
    return mixed
