"""Noise recordings in a folder; the one place of this room that reads files."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile
import soxr

from sonorant.arrays import Waveform
from sonorant.dsp.noise import looped
from sonorant.errors import BadCorpus, RejectedExample

__all__ = ["NoiseFolder"]


class NoiseFolder:
    """All recordings below a folder, at any depth, in the order of their names.

    An excerpt reads and resamples only what it needs, so memory does not grow with the recordings; headers are kept.
    Of a recording with several channels the first is used.
    """

    def __init__(self, folder: Path, sample_rate_hz: int) -> None:
        """List the folder; BadCorpus if it is not there or has no recording in a format that soundfile reads."""
        suffixes = {f".{name.lower()}" for name in soundfile.available_formats()} - {".raw"}  # has no header
        self.paths = tuple(sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes))
        if not self.paths:
            raise BadCorpus(f"{folder}: no noise recordings there; put some in, or take 'folder' out of noise.kinds")
        self.folder = folder
        self.sample_rate_hz = sample_rate_hz
        self._header = lru_cache(maxsize=4096)(soundfile.info)

    def excerpt(self, samples: int, rng: np.random.Generator) -> Waveform:
        """Return a random piece of a random recording: Float32[samples].

        Raises RejectedExample, with the recording's name, if it cannot be read or is not finite.
        """
        path = self.paths[int(rng.integers(len(self.paths)))]
        try:
            header = self._header(path)
            needed = -(-samples * header.samplerate // self.sample_rate_hz) + 1
            start = int(rng.integers(max(0, header.frames - needed) + 1))
            piece, rate_hz = soundfile.read(path, needed, start, dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, OSError) as error:
            raise RejectedExample(f"noise recording {path.relative_to(self.folder)}: {error}") from error
        if len(piece) == 0 or not np.isfinite(piece).all():
            what = "is empty" if len(piece) == 0 else "has samples that are not finite"
            raise RejectedExample(f"noise recording {path.relative_to(self.folder)} {what}")
        resampled: Waveform = soxr.resample(np.ascontiguousarray(piece[:, 0]), rate_hz, self.sample_rate_hz)
        return looped(resampled, samples, self.sample_rate_hz, rng)
