"""The late part of a room's responses as noise, in place of images that nobody can tell apart any more.

After Lehmann and Johansson, "Diffuse reverberation model for efficient image-source simulation of room impulse
responses" (IEEE TASLP 18, 2010): up to some time the images are exact, from then on the response is Gaussian noise
with the power that the images would have had. We take that power from the images' statistics, by `image_power`, where
they fit it to a first run of the image method.

In a diffuse field what two microphones hear has the coherence sin(k d) / (k d), with k = 2 pi f / c and d their
distance (Cook et al., "Measurement of correlation coefficients in reverberant sound fields", JASA 27, 1955); the noises
are mixed to it frequency by frequency with the coherence matrix's Cholesky factor (Habets, Cohen and Gannot,
"Generating nonstationary multisensor signals under a spatial coherence constraint", JASA 124, 2008).
"""

import numpy as np
from ducc0 import fft
from numpy.typing import NDArray

from sonorant.arrays import Responses
from sonorant.dsp.fft_sizes import coarse_length
from sonorant.dsp.room import LEAD, SPEED_OF_SOUND

__all__ = ["add_late_tail", "diffuse_noise", "image_power"]

_KNOTS = 256  # of the decay, between which it is taken as straight: a quarter of a decibel, at T60
_NODES = 16  # of the mean over directions, in each of two angles
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
    envelope = np.interp(np.arange(first, last), knots, np.sqrt(power)).astype(np.float32)
    noise = diffuse_noise(len(responses), microphones_m, last - first, sample_rate_hz, rng)
    late += (noise * envelope)[..., : late.shape[-1]]


def image_power(room_m: _Floats, absorption: float, time_s: _Floats) -> _Floats:
    """Return the mean power of all images that arrive at these times after emission, per second: Float64[times].

    One image stands in each volume V, and at distance r it has the energy 1 / (4 pi r)^2 if walls swallow nothing; so
    c / (4 pi V) arrives per second. An image in direction u was reflected r (|u_x| / L_x + |u_y| / L_y + |u_z| / L_z)
    times; the mean over all directions decays more slowly than at the mean number of reflections.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    height = ((nodes + 1) / 2)[:, None]  # of u, uniform on the sphere; by symmetry an eighth of it will do
    angle = (nodes + 1) / 2 * np.pi / 2
    level = np.sqrt(1 - height**2)
    length_m, width_m, height_m = room_m
    walls_per_m = level * np.cos(angle) / length_m + level * np.sin(angle) / width_m + height / height_m
    kept = (1 - absorption) ** (SPEED_OF_SOUND * time_s[:, None, None] * walls_per_m)
    power: _Floats = (kept * np.outer(weights, weights) / 4).sum(axis=(1, 2)) * SPEED_OF_SOUND / (4 * np.pi)
    return power / np.prod(room_m)


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
