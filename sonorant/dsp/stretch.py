"""Another duration at the same pitch, by overlap-add of pieces that fit each other (WSOLA).

Verhelst and Roelands, "An overlap-add technique based on waveform similarity (WSOLA) for high quality time-scale
modification of speech", ICASSP 1993: each piece is taken near the place that the new time asks for, exactly where it is
most like what followed the piece before.
"""

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform

__all__ = ["stretch"]

_HOP_S = 0.01  # half a piece; pieces of 20 ms hold a period of any voice
_SEARCH_S = 0.01  # to either side: a period of 100 Hz


def stretch(waveform: Waveform, factor: float, sample_rate_hz: int) -> Waveform:
    """Return Float32[..., samples * factor, rounded]: slower if factor is above 1, with the pitch that it had.

    All microphones are cut at the same places, found on their sum, so that times between them stay.
    """
    samples = waveform.shape[-1]
    wanted = max(1, round(samples * factor))
    if wanted == samples:
        return waveform
    hop, reach = max(1, round(_HOP_S * sample_rate_hz)), round(_SEARCH_S * sample_rate_hz)
    pieces = -(-wanted // hop) + 1
    ends = [(0, 0)] * (waveform.ndim - 1) + [(hop + reach, 3 * hop + 2 * reach)]
    padded = np.pad(waveform, ends)
    guide = np.atleast_2d(padded).sum(axis=0)
    window = (0.5 - 0.5 * np.cos(np.pi / hop * np.arange(2 * hop))).astype(np.float32)  # Hann; halves add up to 1
    stretched = np.zeros((*waveform.shape[:-1], (pieces + 1) * hop), np.float32)
    place = reach
    for number in range(pieces):
        asked = reach + round(number * hop * samples / wanted)
        if number:
            place = asked - reach + _best_fit(guide[place + hop : place + 3 * hop], guide[asked - reach :], reach)
        stretched[..., number * hop : (number + 2) * hop] += padded[..., place : place + 2 * hop] * window
    return stretched[..., hop : hop + wanted]


def _best_fit(wanted: Waveform, near: NDArray[np.float32], reach: int) -> int:
    """Return the offset, 0 to 2 * reach, at which `near` has the largest normalised correlation with `wanted`."""
    near = near[: len(wanted) + 2 * reach].astype(np.float64)
    energy = np.cumsum(np.concatenate([[0.0], np.square(near)]))
    norm = np.sqrt(np.maximum(energy[len(wanted) :] - energy[: -len(wanted)], 1e-12))
    return int(np.argmax(np.correlate(near, wanted.astype(np.float64), "valid") / norm))
