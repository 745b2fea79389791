"""Playing speech and noises in a room, at a given signal-to-noise ratio."""

from dataclasses import dataclass

import numpy as np
from ducc0 import fft
from numpy.lib.stride_tricks import sliding_window_view

from sonorant.arrays import Responses, Waveform
from sonorant.dsp import kernels
from sonorant.dsp.fft_sizes import coarse_length
from sonorant.errors import RejectedExample

__all__ = ["Mixture", "mix"]

_BLOCK_PER_RESPONSE = 3  # samples transformed at once per tap: much less is mostly overlap, more leaves the cache


@dataclass(frozen=True, slots=True)
class Mixture:
    """What the microphones hear: Float32[microphones, samples] each.

    waveform: speech + noise. speech: the reverberant speech in it. noise: the noises in it, zero if there are none.
    """

    waveform: Waveform
    speech: Waveform
    noise: Waveform


def mix(speech: Waveform, noises: Waveform, responses: Responses, snr_db: float, onset: int) -> Mixture:
    """Play speech and noises in a room.

    speech: Float32[samples]. noises: Float32[noises, samples], equally loud at their places.
    responses: Float32[1 + noises, microphones, taps], the speech's first.
    snr_db: power of the reverberant speech over power of all noises, whole utterance, at microphone 0.
    onset: tap of the speech's direct path at microphone 0. The result starts there, so that words stay where they
    were, and it has the length of the speech: the reverberation after its end is cut off.

    Levels: the reverberant speech at microphone 0 keeps the power of the dry speech; the noises are scaled to the SNR;
    only if that exceeds [-1, 1] is everything turned down, to a peak of 1. Silent noises leave speech alone.
    Raises RejectedExample if the speech is silent, at its source or at microphone 0.
    """
    speech_image, noise_image = _images(speech, noises, responses, onset)
    dry, wet, noise_power = (kernels.energy(part) / part.size for part in (speech, speech_image[0], noise_image[0]))
    if not (dry > 0 and wet > 0):
        raise RejectedExample(f"the speech is silent: mean power {dry:.3g} at its source, {wet:.3g} at the microphone")
    noise_gain = np.sqrt(dry / noise_power) * 10 ** (-snr_db / 20) if noise_power > 0 else 0
    waveform = np.empty_like(speech_image)
    peak = kernels.add_scaled(speech_image, noise_image, np.sqrt(dry / wet), noise_gain, waveform)
    if peak > 1:
        for part in (waveform, speech_image, noise_image):
            part /= np.float32(peak)
    return Mixture(waveform, speech_image, noise_image)


def _images(speech: Waveform, noises: Waveform, responses: Responses, onset: int) -> tuple[Waveform, Waveform]:
    """Return what is heard of the speech, and of all noises, from tap `onset` on: Float32[microphones, samples] each.

    By overlap-save: of each block, as many values as the response has taps, less one, are wrapped around and dropped.
    """
    samples, (_, microphones, taps) = speech.size, responses.shape
    block = min(coarse_length(_BLOCK_PER_RESPONSE * taps), 2 * coarse_length((samples + taps) // 2))
    step = block - taps + 1
    blocks = -(-samples // step)
    spectra = fft.r2c(_cut([speech, *noises], taps - 1 - onset, block, step, blocks), axes=(2,))
    filters = np.zeros((len(spectra), microphones, 1, block), np.float32)
    filters[:, :, 0, :taps] = responses
    responded = fft.r2c(filters, axes=(3,))
    products = np.empty((2, microphones, blocks, block // 2 + 1), np.complex64)
    np.multiply(spectra[:2], responded[:2].swapaxes(0, 1), out=products[: len(spectra[:2])].swapaxes(0, 1))
    products[len(spectra) :] = 0  # no noise
    for spectrum, response in zip(spectra[2:], responded[2:], strict=True):
        products[1] += spectrum * response
    images = fft.c2r(products, axes=(3,), lastsize=block, forward=False, inorm=2)[..., taps - 1 :]
    heard: Waveform = images.reshape(2, microphones, -1)
    return np.ascontiguousarray(heard[0, :, :samples]), np.ascontiguousarray(heard[1, :, :samples])


def _cut(sources: list[Waveform], lead: int, block: int, step: int, blocks: int) -> Waveform:
    """Return Float32[sources, blocks, block], a view of overlapping blocks; the first begins `lead` samples early."""
    padded = np.zeros((len(sources), (blocks - 1) * step + block), np.float32)
    first = max(0, lead)
    for row, source in zip(padded, sources, strict=True):
        heard = source[max(0, -lead) :][: row.size - first]
        row[first : first + heard.size] = heard
    return sliding_window_view(padded, block, axis=1)[:, ::step]
