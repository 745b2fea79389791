"""What the toolkits' users write for the same work; each function imports its toolkit when called."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.audio.decay import absorption_of
from sonorant.augment.vtlp import warp_frequency

__all__ = ["INSTALLED", "chain", "keep_to_one_thread", "mix", "power_mel", "responses", "warp"]

INSTALLED = find_spec("pyroomacoustics") is not None and find_spec("librosa") is not None

_Array = NDArray[np.floating[Any]]


def keep_to_one_thread() -> None:
    """Let BLAS start no threads: they go on spinning after a call, at the cost of the next measurement."""
    import librosa  # noqa: F401  what is not loaded yet is not limited
    import pyroomacoustics  # noqa: F401
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def responses(room: _Array, t60_s: float, sources: _Array, microphones: _Array, rate_hz: int) -> _Array:
    """Return responses [sources, microphones, samples] by pyroomacoustics, of the order of T60."""
    import pyroomacoustics as pra

    pra.constants.set("num_threads", 1)
    _, order = pra.inverse_sabine(t60_s, room)
    shoebox = pra.ShoeBox(room, rate_hz, materials=pra.Material(absorption_of(t60_s, room)), max_order=order)
    for source in sources:
        shoebox.add_source(source)
    shoebox.add_microphone_array(microphones.T)
    shoebox.compute_rir()
    taps = int(t60_s * rate_hz)
    return np.array([[h[:taps] for h in row] for row in shoebox.rir], np.float32).swapaxes(0, 1)


def mix(dry: _Array, impulses: _Array) -> _Array:
    """Return the sounds [sources, samples] through responses, the first 10 dB above the others, by overlap-add."""
    from scipy.signal import oaconvolve

    images = [[oaconvolve(s, h)[: dry.shape[1]] for h in hs] for s, hs in zip(dry, impulses, strict=True)]
    noise = np.sum(images[1:], axis=0)
    speech = np.array(images[0])
    mixed = speech + noise * np.sqrt(np.mean(speech[0] ** 2) / np.mean(noise[0] ** 2) / 10)
    scaled: _Array = mixed / max(1, np.abs(mixed).max())
    return scaled


def warp(waveform: _Array, alpha: float) -> _Array:
    """Return the waveform with its complex bins copied along VTLP's map: phases break, but it costs the same."""
    import librosa

    spectra = librosa.stft(waveform, n_fft=800, hop_length=200)
    bins = len(spectra)
    sources = np.rint(warp_frequency(np.linspace(0, np.pi, bins), 2 - alpha) * (bins - 1) / np.pi).astype(int)
    warped: _Array = librosa.istft(spectra[sources], hop_length=200, n_fft=800, length=waveform.size)
    return warped


def power_mel(waveform: _Array, rate_hz: int) -> _Array:
    """Return power-mel features [mels, frames]."""
    import librosa

    mel = librosa.feature.melspectrogram(
        y=waveform, sr=rate_hz, n_fft=512, win_length=400, hop_length=160, n_mels=40, fmin=20, htk=True, norm=None
    )
    features: _Array = mel ** np.float32(1 / 15)
    return features


def chain(waveform: _Array, rate_hz: int, rng: np.random.Generator) -> _Array:
    """Return features [mels, frames] of the waveform, warped, in a random room with one noise."""
    room = rng.uniform((4, 4, 2.5), (8, 8, 4))
    sources, microphones = rng.uniform(0.5, room - 0.5, (2, 3)), rng.uniform(1, 2, (1, 3))
    impulses = responses(room, rng.uniform(0.2, 0.4), sources, microphones, rate_hz)
    noise = rng.standard_normal(waveform.size, np.float32)
    return power_mel(mix(np.vstack([warp(waveform, rng.uniform(0.85, 1.15)), noise]), impulses)[0], rate_hz)
