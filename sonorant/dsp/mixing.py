"""Playing speech and noises in a room, at a given signal-to-noise ratio."""

from dataclasses import dataclass

import numpy as np
from ducc0 import fft
from numpy.lib.stride_tricks import sliding_window_view

from sonorant.arrays import Responses, Waveform
from sonorant.dsp.fft_sizes import coarse_length
from sonorant.errors import RejectedExample

__all__ = ["Mixture", "mix"]

_BLOCK_PER_RESPONSE = 5  # samples transformed at once per tap: much less is mostly overlap, more leaves the cache


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
    speech_image, noise_image = _images(np.vstack([speech[None], noises]), responses, onset)
    dry, wet, noise_power = (_power(waveform) for waveform in (speech, speech_image[0], noise_image[0]))
    if not (dry > 0 and wet > 0):
        raise RejectedExample(f"the speech is silent: mean power {dry:.3g} at its source, {wet:.3g} at the microphone")
    speech_image *= np.float32(np.sqrt(dry / wet))
    noise_image *= np.float32(np.sqrt(dry / noise_power) * 10 ** (-snr_db / 20)) if noise_power > 0 else np.float32(0)
    waveform = speech_image + noise_image
    if (peak := max(float(waveform.max()), -float(waveform.min()))) > 1:
        for part in (waveform, speech_image, noise_image):
            part /= np.float32(peak)
    return Mixture(waveform, speech_image, noise_image)


def _images(sources: Waveform, responses: Responses, onset: int) -> Waveform:
    """Return Float32[2, microphones, samples], what is heard from tap `onset` on: of source 0, and of all others.

    By overlap-save: of each block, as many values as the response has taps, less one, are wrapped around and dropped.
    """
    (count, samples), (_, microphones, taps) = sources.shape, responses.shape
    block = min(coarse_length(_BLOCK_PER_RESPONSE * taps), 2 * coarse_length((samples + taps) // 2))
    step = block - taps + 1
    blocks = -(-samples // step)
    lead = taps - 1 - onset  # samples before the first that the first block hears; some are skipped if negative
    padded = np.zeros((count, (blocks - 1) * step + block), np.float32)
    heard = sources[:, max(0, -lead) :][:, : padded.shape[1] - max(0, lead)]
    padded[:, max(0, lead) : max(0, lead) + heard.shape[1]] = heard
    cut = sliding_window_view(padded, block, axis=1)[:, ::step]
    spectra = fft.r2c(cut, axes=(2,))
    filters = np.zeros((count, microphones, 1, block), np.float32)
    filters[:, :, 0, :taps] = responses
    responded = fft.r2c(filters, axes=(3,))
    products = np.zeros((2, microphones, blocks, block // 2 + 1), np.complex64)
    np.multiply(spectra[0], responded[0], out=products[0])
    for spectrum, response in zip(spectra[1:], responded[1:], strict=True):
        products[1] += spectrum * response
    images: Waveform = fft.c2r(products, axes=(3,), lastsize=block, forward=False, inorm=2)[..., taps - 1 :]
    return images.reshape(2, microphones, -1)[..., :samples]


def _power(waveform: Waveform) -> float:
    return float(np.square(waveform).mean())  # a pairwise sum: as good as one in double precision
