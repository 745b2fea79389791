"""What clients say: recordings of a folder, or noise with the rhythm of speech."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import SonorantError
from sonorant.file_names import shown

__all__ = ["BadRecordings", "Recording", "murmurs", "read_recordings"]

_MOST = 64
_ONSET = 0.1  # of the loudest frame's amplitude
_FRAME_S = 0.01
_SAMPLE_BYTES = 2


class BadRecordings(SonorantError):
    """Recordings that cannot be used: the message names the file."""

    exit_code = 65


class Recording(NamedTuple):
    """16-bit samples, their rate, where the first sound is, and how much of them a client sends at once."""

    audio: bytes
    rate_hz: int
    onset_s: float
    chunk_s: float = 0.1

    @property
    def duration_s(self) -> float:
        """Its length in seconds."""
        return len(self.audio) / _SAMPLE_BYTES / self.rate_hz


def read_recordings(folder: Path) -> list[Recording]:
    """Return recordings below `folder`, evenly chosen, 64 at most; raises BadRecordings."""
    import soundfile

    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".wav", ".flac"))
    if not paths:
        raise BadRecordings(f"{shown(folder)}: no recordings; expected .wav or .flac files")
    found = []
    for path in paths[:: -(-len(paths) // _MOST)]:
        try:
            samples, rate_hz = soundfile.read(path, dtype="int16", always_2d=True)
        except (OSError, soundfile.SoundFileError) as error:
            raise BadRecordings(f"{shown(path)}: {error}") from error
        if len(samples):
            found.append(_recording(samples[:, 0], rate_hz))
    return found


def murmurs(rate_hz: int, count: int = 8) -> list[Recording]:
    """Return made-up recordings of 2 to 4 s: bursts of bands, and pauses."""
    return [_murmur(seconds, rate_hz, seed) for seed, seconds in enumerate(np.linspace(2.0, 4.0, count))]


def _murmur(seconds: float, rate_hz: int, seed: int) -> Recording:
    noise = np.random.default_rng(seed).standard_normal(round(seconds * rate_hz)) * 0.1
    t = np.arange(len(noise)) / rate_hz
    noise *= (np.sin(2 * np.pi * 3 * t) > -0.3) * (1 + np.sin(2 * np.pi * (200 + 90 * np.floor(t * 3)) * t))
    return _recording(np.clip(np.rint(noise * 32767), -32768, 32767).astype(np.int16), rate_hz)


def _recording(samples: NDArray[np.int16], rate_hz: int) -> Recording:
    frame = max(1, round(_FRAME_S * rate_hz))
    levels = np.abs(np.pad(samples.astype(np.int32), (0, -len(samples) % frame)).reshape(-1, frame)).max(axis=1)
    onset = int(np.argmax(levels >= _ONSET * levels.max()))
    return Recording(samples.astype("<i2").tobytes(), rate_hz, onset * _FRAME_S)
