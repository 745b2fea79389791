"""Another duration at the same pitch, by overlap-add of pieces that fit each other (WSOLA).

Verhelst and Roelands, "An overlap-add technique based on waveform similarity (WSOLA) for high quality time-scale
modification of speech", ICASSP 1993: each piece is taken near the position of its new time, exactly where it
is most like what followed the piece before.
"""

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.windows import hann

__all__ = ["stretch"]

_HOP_S = 0.01  # half a piece; pieces of 20 ms hold a period of any voice
_SEARCH_S = 0.01  # to either side: a period of 100 Hz


def stretch(waveform: Waveform, factor: float, sample_rate_hz: int) -> Waveform:
    """Return Float32[..., samples * factor, rounded]: slower if factor is above 1, with the pitch that it had.

    All microphones are cut at the same positions, found on their sum, so that times between them stay.
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
    window = hann(2 * hop)  # halves add up to 1
    norm = _norms(guide, 2 * hop)
    stretched = np.zeros((*waveform.shape[:-1], (pieces + 1) * hop), np.float32)
    position = reach
    for number in range(pieces):
        near = round(number * hop * samples / wanted)  # the first position to look at
        if number:
            following, searched = guide[position + hop : position + 3 * hop], guide[near : near + 2 * (reach + hop)]
            fit = np.correlate(searched, following, "valid") / norm[near : near + 2 * reach + 1]
            position = near + int(np.argmax(fit))
        stretched[..., number * hop : (number + 2) * hop] += padded[..., position : position + 2 * hop] * window
    return stretched[..., hop : hop + wanted]


def _norms(waveform: Waveform, samples: int) -> Waveform:
    """Return the norm of each piece of so many samples: Float32[positions], at least 1e-6, so that silence fits ill."""
    energy = np.cumsum(np.concatenate([[0.0], np.square(waveform, dtype=np.float64)]))
    norms: Waveform = np.sqrt(np.maximum(energy[samples:] - energy[:-samples], 1e-12)).astype(np.float32)
    return norms
