"""Playing speech and noises in a room, at a given signal-to-noise ratio."""

from dataclasses import dataclass

import numpy as np
from scipy import fft

from sonorant.arrays import Responses, Waveform
from sonorant.dsp.fft_sizes import coarse_length
from sonorant.errors import RejectedExample

__all__ = ["Mixture", "mix"]


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
    samples = speech.shape[-1]
    length = 2 * coarse_length((samples + responses.shape[-1]) // 2)
    sources = fft.rfft(np.vstack([speech[None], noises]), length)
    heard = sources[:, None] * fft.rfft(responses, length)
    speech_image, noise_image = (
        fft.irfft(spectrum, length)[:, onset : onset + samples] for spectrum in (heard[0], heard[1:].sum(axis=0))
    )
    dry, wet, noise_power = (_power(waveform) for waveform in (speech, speech_image[0], noise_image[0]))
    if not (dry > 0 and wet > 0):
        raise RejectedExample(f"the speech is silent: mean power {dry:.3g} at its source, {wet:.3g} at the microphone")
    speech_image *= np.float32(np.sqrt(dry / wet))
    noise_image *= np.float32(np.sqrt(dry / noise_power) * 10 ** (-snr_db / 20)) if noise_power > 0 else np.float32(0)
    waveform = speech_image + noise_image
    if (peak := float(np.abs(waveform).max())) > 1:
        waveform, speech_image, noise_image = (
            part / np.float32(peak) for part in (waveform, speech_image, noise_image)
        )
    return Mixture(waveform, speech_image, noise_image)


def _power(waveform: Waveform) -> float:
    return float(np.mean(np.square(waveform, dtype=np.float64)))
