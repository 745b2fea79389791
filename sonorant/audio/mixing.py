"""Playing speech and noises in a room, at a given signal-to-noise ratio."""

from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import TypeAlias

import numpy as np
from ducc0 import fft
from numpy.typing import NDArray

from sonorant.arrays import Responses, Waveform
from sonorant.audio import kernels
from sonorant.audio.fft_rows import spaced_rows
from sonorant.audio.fft_sizes import coarse_length
from sonorant.errors import RejectedExample

__all__ = ["Mixture", "block_length", "mix"]

Spectra: TypeAlias = NDArray[np.complex64]  # [signals, bins]

_SIMD_WIDTH = 4  # transforms that are computed side by side; one left over costs as much as three
_LARGEST_BLOCK = 1 << 15  # samples; so many more side by side leave the cache


@dataclass(frozen=True, slots=True)
class Mixture:
    """Sound at the microphones: Float32[microphones, samples] each.

    waveform: speech + noise. speech: the reverberant speech in it. noise: the noises in it, zero if there are none.
    """

    waveform: Waveform
    speech: Waveform
    noise: Waveform


def mix(
    speech: Waveform, noises: Waveform, responses: Responses, snr_db: float, start: int, early_taps: int | None = None
) -> Mixture:
    """Play speech and noises in a room.

    speech: Float32[samples]. responses: Float32[1 + noises, microphones, taps], the speech's first.
    noises: Float32[noises, samples + taps - 1], equally loud at their positions. They begin taps - 1 samples before
    the output, so that their reverberation has built up by then.
    snr_db: power of the speech over power of all noises, whole utterance, at microphone 0.
    start: tap that the result starts with; with that of the speech's direct path at microphone 0, words stay where they
    were. The result has the length of the speech: the reverberation after its end is cut off.
    early_taps: the SNR counts what so many taps of the speech's response give, to its end; absent: all reverberant
    speech that the result has.

    Levels: the reverberant speech at microphone 0 keeps the power of the dry speech; the noises are scaled to the SNR;
    only if that exceeds [-1, 1] is everything attenuated, to a peak of 1. Silent noises leave speech alone.
    Raises RejectedExample if the speech is silent, at its source or at microphone 0.
    """
    wet_speech, noise, early = _images(speech, noises, responses, start, early_taps)
    dry, wet, noise_energy = (kernels.energy(part) for part in (speech, wet_speech[0], noise[0]))
    if not (dry > 0 and wet > 0):
        raise RejectedExample(f"the speech is silent: energy {dry:.3g} at its source, {wet:.3g} at the microphone")
    counted = wet if early is None else early
    speech_gain = np.sqrt(dry / wet)
    noise_gain = speech_gain * np.sqrt(counted / noise_energy) * 10 ** (-snr_db / 20) if noise_energy > 0 else 0
    waveform = np.empty_like(wet_speech)
    peak = kernels.add_scaled(wet_speech, noise, speech_gain, noise_gain, waveform)
    if peak > 1:
        for part in (waveform, wet_speech, noise):
            part /= np.float32(peak)
    return Mixture(waveform, wet_speech, noise)


def _images(
    speech: Waveform, noises: Waveform, responses: Responses, start: int, early_taps: int | None
) -> tuple[Waveform, Waveform, float | None]:
    """Return speech and noise at the microphones, from tap `start` on: Float32[microphones, samples] each.

    The third is the energy of the speech at microphone 0 that the first `early_taps` give, None if they are None.
    Speech by overlap-add: each block is lengthened by the response's taps, less one. Noises by
    overlap-save: each block begins so many samples earlier. Blocks and responses are transformed together.
    """
    samples, (sources, microphones, taps) = speech.size, responses.shape
    early = None if early_taps is None else responses[0, 0, :early_taps]
    rows = microphones * min(sources, 2)
    block = block_length(samples, taps, sources, sources * microphones + (early is not None), rows)
    step = block - taps + 1
    blocks = -(-samples // step)
    spectra = fft.r2c(_lines(speech, noises, responses, early, block), axes=(1,))
    played = spectra[: sources * blocks].reshape(sources, blocks, -1)
    responded = spectra[sources * blocks :][: sources * microphones].reshape(microphones, sources, -1)
    products = np.empty((_full(rows * blocks), block // 2 + 1), np.complex64)
    products[rows * blocks :] = 0
    row = products[: rows * blocks].reshape(rows, blocks, -1)
    energy = None
    if early is not None:
        np.multiply(played[0], spectra[sources * (blocks + microphones)], out=row[0])
        energy = _energy(row[0]) + _energy_across(speech, step, early)
    for microphone, response in enumerate(responded):
        np.multiply(played[0], response[0], out=row[microphone])
        if sources > 1:
            np.multiply(played[1], response[1], out=row[microphones + microphone])
        for other in range(2, sources):
            row[microphones + microphone] += played[other] * response[other]
    images = spaced_rows(len(products), block)
    fft.c2r(products, axes=(1,), lastsize=block, forward=False, inorm=2, out=images)
    image = images[: rows * blocks].reshape(rows, blocks, block)
    wet_speech, noise = np.zeros((2, microphones, samples), np.float32)  # without noises, the second stays so
    _add_overlapping(image[:microphones], step, start, wet_speech)
    _join_valid(image[microphones:], step, taps, noise[: rows - microphones])
    return wet_speech, noise, energy


def _add_overlapping(images: Waveform, step: int, start: int, wet: Waveform) -> None:
    """Add images [rows, blocks, block], each `step` after the one before, to `wet` [rows, samples], from `start` on."""
    for number, image in enumerate(images.swapaxes(0, 1)):
        begin = number * step - start
        there = wet[:, max(0, begin) : max(0, begin + image.shape[1])]
        there += image[:, max(0, -begin) :][:, : there.shape[1]]


def _join_valid(images: Waveform, step: int, taps: int, noise: Waveform) -> None:
    """Write what images [rows, blocks, block] have from the last tap on, in a row, to noise [rows, samples]."""
    for number, image in enumerate(images.swapaxes(0, 1)):
        there = noise[:, number * step :][:, :step]
        there[:] = image[:, taps - 1 :][:, : there.shape[1]]


def _lines(speech: Waveform, noises: Waveform, responses: Responses, early: Waveform | None, block: int) -> Waveform:
    """Return what is transformed: Float32[lines, block].

    First the blocks of all sources, those of noises with the taps - 1 samples before them; then the responses of each
    microphone, and the early part of the speech's first.
    """
    samples, (sources, microphones, taps) = speech.size, responses.shape
    step = block - taps + 1
    blocks = -(-samples // step)
    lines = spaced_rows(_full(sources * (blocks + microphones) + (early is not None)), block)
    lines[:] = 0
    cut = lines[: sources * blocks].reshape(sources, blocks, block)
    for number in range(blocks):
        spoken, played = speech[number * step :][:step], noises[:, number * step :][:, :block]
        cut[0, number, : spoken.size] = spoken
        cut[1:, number, : played.shape[1]] = played
    rest = lines[sources * blocks :]
    rest[: sources * microphones].reshape(microphones, sources, block)[..., :taps] = responses.swapaxes(0, 1)
    if early is not None:
        rest[sources * microphones, : early.size] = early
    return lines


def _energy(spectra: Spectra) -> float:
    """Return the energy of the real signals of even length whose spectra these are: Complex64[signals, bins]."""
    edges = spectra[:, [0, -1]]  # all other bins stand for two
    twice = 2 * kernels.energy(spectra.view(np.float32).ravel()) - float(np.vdot(edges, edges).real)
    return twice / (2 * spectra.shape[1] - 2)


def _energy_across(speech: Waveform, step: int, response: Waveform) -> float:
    """Return by how much the energy of speech * response exceeds that of all blocks * response, each alone.

    It is twice the sum of products of each block's image with the next one's, to which only the samples count that are
    nearer than the response is long.
    """
    reach, borders = response.size, range(step, speech.size, step)
    if not borders:
        return 0.0
    lines = spaced_rows(2 * len(borders) + 1, 2 * coarse_length(-(-3 * reach // 2)))
    lines[:] = 0
    for before, after, border in zip(lines[::2], lines[1::2], borders, strict=False):
        last, first = speech[max(border - reach, border - step) : border], speech[border : border + reach]
        before[reach - last.size : reach] = last
        after[reach : reach + first.size] = first
    lines[-1, :reach] = response
    spectra = fft.r2c(lines, axes=(1,))
    images = spectra[:-1] * spectra[-1]
    return _energy(images[::2] + images[1::2]) - _energy(images)


@lru_cache(maxsize=256)
def block_length(samples: int, taps: int, sources: int, responses: int, rows: int) -> int:
    """Return the block that makes the transforms cheapest: of all sources, of all responses, and back of all rows."""
    least, whole = coarse_length(-(-taps // 2)), coarse_length((samples + taps) // 2)
    lengths = [2 * least]
    while lengths[-1] < min(2 * whole, max(_LARGEST_BLOCK, 4 * least)):
        lengths.append(2 * coarse_length(lengths[-1] // 2 + 1))

    def cost(length: int) -> float:
        blocks = -(-samples // (length - taps + 1))
        return (_full(sources * blocks + responses) + _full(rows * blocks)) * length * log2(length)

    return min(lengths, key=cost)


def _full(lines: int) -> int:
    """Return the number of lines in the fewest full SIMD groups that hold so many."""
    return -(-lines // _SIMD_WIDTH) * _SIMD_WIDTH
