"""From a recording on disk to samples at the recipe's rate, or a plain reason why not."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from sonorant.arrays import Waveform
from sonorant.corpus.containers import VERIFIABLE, mp3_samples, shortfall
from sonorant.corpus.utterance import Scaled, Segment
from sonorant.errors import BadAudio, Unavailable
from sonorant.file_names import fault_of, path_fault, shown
from sonorant.recipe.corpus import CorpusRecipe

__all__ = ["BadSegment", "Reading", "read_segment"]

_ROUNDING_S = 0.05  # manifests round durations; a segment that ends this close to its recording's end ends there
_LOUDEST = 4.0  # far beyond 1, the samples are not in [-1, 1] at all
_FULL_SCALE = 1 + 2**-15  # a step of 16 bits beyond 1 is rounding
_OVERSHOOT = 1.25  # 2 dB; lossy codecs overshoot 1 a little, and decoders to 16 bits clip that
_UNBOUNDED = ("FLOAT", "DOUBLE")  # what is beyond 1 there is not the codec's doing
_RATES_HZ = range(1000, 768001)
_MP3_ROUNDING = 1152  # samples of a frame: libsndfile's estimate is that close if all frames have one bit rate
_MOST_SAMPLES_AT_ONCE = 1 << 31
_INSPECTED = 1 << 12  # files whose inspection is kept; their segments come shuffled
_SYSTEM_ERROR = 2  # libsndfile's code for: it is the machine that failed


class BadSegment(BadAudio):
    """A stretch that its recording does not have, or of a length that the recipe does not take."""


class Reading(NamedTuple):
    """Samples of a segment: Float32[samples].

    Shards hold 16 bits. If those would clip the recording, the waveform is divided by its peak in this segment, and
    `scaled` is set; not for the 2 dB by which lossy codecs and changes of the sample rate overshoot full scale, which
    are clipped as in any decoder.
    """

    waveform: Waveform
    scaled: Scaled | None = None


def read_segment(segment: Segment, recipe: CorpusRecipe) -> Reading:
    """Read at `recipe.sample_rate_hz`: the segment's channel, else the recipe's, or the mean of all.

    Formats: `containers.VERIFIABLE`. Raises BadAudio for what is no audio, is cut short or holds NaN; BadSegment for
    what is beyond the recording, or too short or long; Unavailable if the file system fails.
    """
    path = shown(segment.path)
    channel = recipe.channel if segment.channel is None else segment.channel
    with _opened(segment.path) as (file, total):
        if channel != "mean" and channel >= file.channels:
            raise BadAudio(path, f"has {file.channels} channel(s), so none with number {channel} (the first is 0)")
        start, frames = _bounds(segment, file.samplerate, total, recipe)
        if start:
            file.seek(start)
        samples = file.read(frames, dtype="float32", always_2d=True)
        rate_hz, subtype = file.samplerate, file.subtype
    if len(samples) < frames:
        raise BadAudio(path, f"is cut short: {len(samples)} of {frames} samples could be decoded")
    samples = samples.mean(axis=1) if channel == "mean" else samples[:, channel]
    loudest = _peak(path, samples)
    if rate_hz != recipe.sample_rate_hz:
        samples = soxr.resample(samples, rate_hz, recipe.sample_rate_hz)
    peak = max(loudest, float(np.abs(samples).max(initial=0.0)))
    beyond = subtype in _UNBOUNDED and loudest > _FULL_SCALE
    scaled = Scaled(path, peak) if beyond or peak > _OVERSHOOT else None
    if scaled:
        samples = samples / np.float32(peak)
    return Reading(np.ascontiguousarray(samples, np.float32), scaled)


class _Inspected(NamedTuple):
    """Why a file is not whole, or None; of MP3, `containers.mp3_samples`."""

    fault: str | None
    mp3_samples: int | None = None


@lru_cache(maxsize=_INSPECTED)
def _inspected(path: Path, size: int, mtime_ns: int) -> _Inspected:
    """Inspect a file of this size and time, once for all of its segments: all frames of MP3, all pages of Ogg."""
    del mtime_ns
    if size == 0:
        return _Inspected("is an empty file")
    descriptor = _open(path)
    try:
        fault = shortfall(descriptor)
        return _Inspected(fault, None if fault else mp3_samples(descriptor))
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[soundfile.SoundFile, int]]:
    """Open a recording that is whole, and give its frames, one sample of each channel.

    Errors of libsndfile within are BadAudio, or Unavailable if the machine fails.
    """
    name = shown(path)
    if fault := path_fault(path):
        raise BadAudio(name, fault)
    try:
        # By its descriptor: soundfile takes no name that is not UTF-8, and takes .raw for samples without a header.
        descriptor = _open(path)
        try:
            status = os.fstat(descriptor)
            inspected = _inspected(path, status.st_size, status.st_mtime_ns)
            if inspected.fault:
                raise BadAudio(name, inspected.fault)
            with soundfile.SoundFile(descriptor, closefd=False) as file:
                if file.format not in VERIFIABLE:
                    raise BadAudio(name, f"is in format {file.format}, whose end has no mark; convert it to FLAC")
                counted = inspected.mp3_samples if file.format == "MP3" else None
                if counted is not None and counted - file.frames > _MP3_ROUNDING:
                    found = f"has {counted} samples, of which libsndfile finds {file.frames}, as no frame counts them"
                    raise BadAudio(name, f"{found}; convert it to FLAC")
                yield file, file.frames if counted is None else min(counted, file.frames)
        finally:
            os.close(descriptor)
    except soundfile.LibsndfileError as error:
        if error.code == _SYSTEM_ERROR:
            raise Unavailable(f"{name}: cannot be read: {error.error_string}; look at its disk or mount") from error
        raise BadAudio(name, f"cannot be decoded: {error.error_string}") from error
    except OSError as error:
        raise BadAudio(name, fault_of(path, error)) from error


def _bounds(segment: Segment, rate_hz: int, total: int, recipe: CorpusRecipe) -> tuple[int, int]:
    """Return first frame and number of frames; raises BadAudio for what a recording of `total` frames cannot have."""
    path = shown(segment.path)
    if rate_hz not in _RATES_HZ or not 0 <= total < _MOST_SAMPLES_AT_ONCE:
        raise BadAudio(path, f"its header gives {rate_hz} Hz and {total} samples, which no recording has")
    if total == 0:
        raise BadAudio(path, "holds no samples")
    start = round(segment.offset_s * rate_hz)
    end = total if segment.duration_s is None else start + round(segment.duration_s * rate_hz)
    if abs(end - total) <= _ROUNDING_S * rate_hz or total < end < total + segment.overshoot_s * rate_hz:
        end = total
    if start >= total or end > total:
        raise BadSegment(
            path, f"ends after {total / rate_hz:.2f} s; {start / rate_hz:.2f} to {end / rate_hz:.2f} s wanted"
        )
    seconds = (end - start) / rate_hz
    if seconds < recipe.min_seconds:
        raise BadSegment(path, f"is {seconds:.3f} s long; min_seconds is {recipe.min_seconds:g}")
    if seconds > recipe.max_seconds:
        raise BadSegment(path, f"is {seconds:.1f} s long; max_seconds is {recipe.max_seconds:g}")
    return start, end - start


def _peak(path: str, samples: Waveform) -> float:
    """Return the largest magnitude; raises BadAudio if it, or any sample, is none of a recording."""
    peak = max(float(samples.max()), -float(samples.min()))
    if not np.isfinite(peak):
        first = int(np.flatnonzero(~np.isfinite(samples))[0])
        raise BadAudio(path, f"sample {first} is {samples[first]}; samples must be finite numbers")
    if peak > _LOUDEST:
        raise BadAudio(path, f"samples reach {peak:g}; floating-point recordings must be in [-1, 1]")
    return peak
