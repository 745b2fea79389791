"""Impulse responses beside pyroomacoustics': 30 random rooms, two sources and microphones each, and their medians.

Both sum the images of the same room; pyroomacoustics keeps them up to an order, we up to a delay, so both are cut at
T60. The T60 is measured by Schroeder's integral over 20 dB; the direct sound ends 2.5 ms after its peak.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigs import toolkits
from benchmarks.row import Progress, Row
from sonorant.audio.decay import absorption_of
from sonorant.audio.image_method import image_responses

__all__ = ["compare", "rows"]

_ROOMS = 30
_T60_S = (0.15, 0.6)
_DIRECT_S = 0.0025
_DECAY_DB = 20

_Array = NDArray[np.floating[Any]]


def rows(progress: Progress) -> Iterator[Row]:
    """Yield the medians over all responses; none without pyroomacoustics."""
    if not toolkits.INSTALLED:
        progress("nothing to compare with: install the extra `bench`")
        return
    found = []
    for seed in range(_ROOMS):
        progress(f"room {seed + 1} of {_ROOMS}")
        found.append(compare(seed))
    case = f"{_ROOMS} rooms, T60 {_T60_S[0]} to {_T60_S[1]} s, median"
    figures = (("correlation", "1"), ("relative error", "1"), ("T60 error", "1"), ("DRR error", "dB"))
    for (name, unit), values in zip(figures, np.hstack(found), strict=True):
        yield Row(name, case, float(np.median(values)), unit)


def compare(seed: int) -> _Array:
    """Return, of a random room's four responses: correlation, relative error, that of T60, that of the DRR in dB.

    Float64[4, responses].
    """
    rng = np.random.default_rng(seed)
    sample_rate_hz = (8000, 16000)[seed % 2]
    t60_s = rng.uniform(*_T60_S)
    room = rng.uniform([3, 3, 2.4], [8, 6, 4]) * min(1.0, t60_s / 0.17)  # a large room cannot fall silent so soon
    sources, microphones = rng.uniform(0.3, room - 0.3, (2, 2, 3))
    absorption = absorption_of(t60_s, room)
    cut = int(t60_s * sample_rate_hz)
    ours = image_responses(room, absorption, sources, microphones, sample_rate_hz, t60_s)[..., :cut]
    mine = ours.reshape(4, cut).astype(float)
    peer = _theirs(room, t60_s, sources, microphones, sample_rate_hz)[..., :cut].reshape(4, cut)
    norm = np.linalg.norm(peer, axis=1)
    return np.array(
        [
            (mine * peer).sum(axis=1) / np.linalg.norm(mine, axis=1) / norm,
            np.linalg.norm(mine - peer, axis=1) / norm,
            [abs(_t60(m, sample_rate_hz) / _t60(p, sample_rate_hz) - 1) for m, p in zip(mine, peer, strict=True)],
            np.abs(_drr_db(mine, peer, sample_rate_hz) - _drr_db(peer, peer, sample_rate_hz)),
        ]
    )


def _theirs(room: _Array, t60_s: float, sources: _Array, microphones: _Array, sample_rate_hz: int) -> _Array:
    """Return their responses without their high-pass, of enough reflections that only T60 cuts them."""
    import pyroomacoustics as pra

    pra.constants.set("rir_hpf_enable", False)
    absorption, (_, order) = absorption_of(t60_s, room), pra.inverse_sabine(t60_s, room)
    shoebox = pra.ShoeBox(room, sample_rate_hz, materials=pra.Material(absorption), max_order=order + 2)
    for source in sources:
        shoebox.add_source(source)
    shoebox.add_microphone_array(microphones.T)
    shoebox.compute_rir()
    shortest = min(h.size for row in shoebox.rir for h in row)
    responses: _Array = np.array([[h[:shortest] for h in row] for row in shoebox.rir]).swapaxes(0, 1)
    return responses / (4 * np.pi)  # which pyroomacoustics leaves out


def _t60(response: _Array, sample_rate_hz: int) -> float:
    from pyroomacoustics.experimental import measure_rt60

    return float(measure_rt60(response, sample_rate_hz, decay_db=_DECAY_DB))


def _drr_db(responses: _Array, peer: _Array, sample_rate_hz: int) -> _Array:
    """Return the energy up to the end of the peer's direct sound over that after it."""
    end = np.argmax(np.abs(peer), axis=1)[:, None] + round(_DIRECT_S * sample_rate_hz)
    direct = np.arange(responses.shape[1]) <= end
    ratio: _Array = 10 * np.log10((responses**2 * direct).sum(axis=1) / (responses**2 * ~direct).sum(axis=1))
    return ratio
