"""Where to cut a long recording: in its quiet places."""

import numpy as np

from sonorant.arrays import Waveform

__all__ = ["quiet_cuts"]

_PAUSE_S = 0.3  # longer than the closure of a stop consonant, shorter than a pause between phrases


def quiet_cuts(waveform: Waveform, rate_hz: int, longest_s: float) -> list[int]:
    """Return where to cut Float32[samples] so that no piece is longer than `longest_s`; nowhere, if it is not.

    Each cut is in the middle of the 0.3 s of least power within the last third of the longest piece possible there.
    """
    longest = max(2, int(longest_s * rate_hz))
    pause = min(max(1, round(_PAUSE_S * rate_hz)), -(-longest // 3))
    cuts: list[int] = []
    begin = 0
    while len(waveform) - begin > longest:
        first = begin + longest - longest // 3 - pause // 2
        around = waveform[max(begin, first) : begin + longest + pause // 2]
        energy = np.concatenate([[0.0], np.cumsum(np.square(around, dtype=np.float64))])
        powers = energy[pause:] - energy[:-pause]
        equal = np.flatnonzero(powers == powers.min()) if len(powers) else [0]  # in digital silence
        quietest = int(equal[len(equal) // 2])
        begin = min(begin + longest, max(begin, first) + quietest + pause // 2)
        cuts.append(begin)
    return cuts
