"""From a recording on disk to samples at the recipe's rate, or a plain reason why not."""

import struct
from pathlib import Path

import numpy as np
import soundfile
import soxr

from sonorant.arrays import Waveform
from sonorant.corpus.utterance import Segment
from sonorant.errors import BadAudio
from sonorant.recipe.corpus import CorpusRecipe

__all__ = ["read_segment"]

_ROUNDING_S = 0.05  # manifests round durations; a segment that ends this close to its recording's end ends there
_LOUDEST = 4.0  # lossy codecs overshoot 1 a little; far beyond it, the samples are not in [-1, 1] at all
_RATES_HZ = range(1000, 768001)
_UNKNOWN_SIZES = (0, 0x7FFFFFFF, 0xFFFFFFFF)  # RIFF sizes of files that were written as a stream
_MOST_SAMPLES_AT_ONCE = 1 << 31


def read_segment(segment: Segment, recipe: CorpusRecipe) -> Waveform:
    """Return Float32[samples] at `recipe.sample_rate_hz`, one channel or the mean of all.

    Any format of libsndfile. Raises BadAudio for what is no audio, is cut short, holds NaN, or is too short or long.
    """
    path = segment.path
    if not path.is_file():
        raise BadAudio(str(path), "no such file")
    if fault := _wav_fault(path):
        raise BadAudio(str(path), fault)
    try:
        with soundfile.SoundFile(path) as file:
            start, frames = _bounds(segment, file.samplerate, file.frames, file.channels, recipe)
            file.seek(start)
            samples = file.read(frames, dtype="float32", always_2d=True)
            rate_hz = file.samplerate
    except soundfile.LibsndfileError as error:
        raise BadAudio(str(path), f"cannot be decoded: {error.error_string}") from error
    if len(samples) < frames:
        raise BadAudio(str(path), f"is cut short: {len(samples)} of {frames} samples could be decoded")
    samples = samples.mean(axis=1) if recipe.channel == "mean" else samples[:, recipe.channel]
    _check_samples(path, samples)
    if rate_hz != recipe.sample_rate_hz:
        samples = soxr.resample(samples, rate_hz, recipe.sample_rate_hz)
    return np.ascontiguousarray(samples, np.float32)


def _bounds(segment: Segment, rate_hz: int, total: int, channels: int, recipe: CorpusRecipe) -> tuple[int, int]:
    """Return first frame and number of frames; all checks that need no decoding are made here."""
    path = str(segment.path)
    if rate_hz not in _RATES_HZ or not 0 <= total < _MOST_SAMPLES_AT_ONCE:
        raise BadAudio(path, f"its header gives {rate_hz} Hz and {total} samples, which no recording has")
    if total == 0:
        raise BadAudio(path, "holds no samples")
    if recipe.channel != "mean" and recipe.channel >= channels:
        raise BadAudio(path, f"has {channels} channel(s), so none with number {recipe.channel} (the first is 0)")
    start = round(segment.offset_s * rate_hz)
    end = total if segment.duration_s is None else start + round(segment.duration_s * rate_hz)
    if abs(end - total) <= _ROUNDING_S * rate_hz:
        end = total
    if start >= total or end > total:
        raise BadAudio(
            path, f"ends after {total / rate_hz:.2f} s; {start / rate_hz:.2f} to {end / rate_hz:.2f} s wanted"
        )
    seconds = (end - start) / rate_hz
    if seconds < recipe.min_seconds:
        raise BadAudio(path, f"is {seconds:.3f} s long; min_seconds is {recipe.min_seconds:g}")
    if seconds > recipe.max_seconds:
        raise BadAudio(path, f"is {seconds:.1f} s long; max_seconds is {recipe.max_seconds:g}")
    return start, end - start


def _check_samples(path: Path, samples: Waveform) -> None:
    if not np.isfinite(samples).all():
        first = int(np.flatnonzero(~np.isfinite(samples))[0])
        raise BadAudio(str(path), f"sample {first} is {samples[first]}; samples must be finite numbers")
    if (peak := float(np.abs(samples).max())) > _LOUDEST:
        raise BadAudio(str(path), f"samples reach {peak:g}; floating-point recordings must be in [-1, 1]")


def _wav_fault(path: Path) -> str | None:
    """Find what libsndfile forgives in silence: a RIFF file that is shorter than its own header says."""
    try:
        with open(path, "rb") as file:
            head = file.read(12)
            size = file.seek(0, 2)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if size == 0:
        return "is an empty file"
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
        return None
    promised: int = struct.unpack("<I", head[4:8])[0]
    if promised not in _UNKNOWN_SIZES and promised + 8 > size + 1:  # some writers count a pad byte that is not there
        return f"is cut short or has a wrong header: it promises {promised + 8} bytes and has {size}"
    return None
