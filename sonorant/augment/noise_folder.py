"""Noise recordings in a folder; the only module of `augment` that reads files."""

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.audio.noise import looped
from sonorant.errors import BadCorpus, RejectedExample, Unavailable
from sonorant.file_names import files_below, path_fault, shown

__all__ = ["NoiseFolder", "check_noise_folders"]

_SHORTEST_S = 0.1  # two cross-fades of a loop; what is shorter would be a buzz
_SYSTEM_ERROR = 2  # libsndfile's code for errors of the machine
_CHUNK_BYTES = 1 << 20
_READERS = 16  # a network's file system answers slowly, but several at once
_ADVICE = "recipes name it below the data folder, which --data or SONORANT_DATA gives"


def check_noise_folders(folders: Iterable[str], data_folder: Path) -> None:
    """Raise BadCorpus, naming it, for one of the folders that is not below the data folder."""
    for folder in folders:
        if not (path := data_folder / folder).is_dir():
            raise BadCorpus(f"noise folder {shown(path)}: no such folder; {_ADVICE}")


class _Header(NamedTuple):
    samples: int
    rate_hz: int


class NoiseFolder:
    """All recordings below a folder that can be used, at any depth, in the order of their names.

    listing: a checksum of their names, lengths and rates, on which every draw depends. left_out: those that cannot, by
    their headers, each with the reason; what only decoding finds rejects an example. Only what is in the folder
    decides, never whether the machine could read it: all replicas must list the same. So a link to nothing and a pipe
    are left out, and what may not be read is Unavailable.
    An excerpt reads and resamples only what it needs, so memory does not grow with the recordings; headers are kept.
    Of a recording with several channels the first is used.
    """

    def __init__(self, folder: Path, sample_rate_hz: int) -> None:
        """List the folder and read all headers.

        Raises BadCorpus if it is not there or has no recording that can be used, Unavailable if a recording, or a
        folder, cannot be read.
        """
        suffixes = {f".{name.lower()}" for name in soundfile.available_formats()} - {".raw"}  # has no header
        found, unlisted = files_below(folder, lambda name: Path(name).suffix.lower() in suffixes)
        for path, fault in unlisted:
            if path == folder and fault.startswith("no such file"):
                raise BadCorpus(f"noise folder {shown(path)}: {fault}; {_ADVICE}")
            raise Unavailable(f"noise folder {shown(path)}: {fault}")
        if not found:
            raise BadCorpus(
                f"{shown(folder)}: no noise recordings there; put some in, or take 'folder' out of noise.kinds"
            )
        with ThreadPoolExecutor(_READERS) as readers:
            headers = dict(zip(found, readers.map(_read_header, found), strict=True))
        self._headers = {path: header for path, header in headers.items() if isinstance(header, _Header)}
        self.left_out = tuple(f"{shown(path)}: {fault}" for path, fault in headers.items() if isinstance(fault, str))
        self.paths = tuple(self._headers)
        if not self.paths:
            raise BadCorpus(
                f"{shown(folder)}: none of {len(found)} noise recordings can be used; the first, {self.left_out[0]}"
            )
        names = {path.relative_to(folder).as_posix(): header for path, header in self._headers.items()}
        self.listing = hashlib.blake2b(repr(names).encode(errors="surrogateescape"), digest_size=8).hexdigest()
        self.folder = folder
        self.sample_rate_hz = sample_rate_hz

    def excerpt(self, samples: int, rng: np.random.Generator) -> Waveform:
        """Return a random piece of a random recording: Float32[samples].

        Raises RejectedExample, naming the recording, if it is damaged or not finite; Unavailable if it cannot be read.
        """
        path = self.paths[int(rng.integers(len(self.paths)))]
        header = self._headers[path]
        needed = -(-samples * header.rate_hz // self.sample_rate_hz) + 1
        start = int(rng.integers(max(0, header.samples - needed) + 1))
        try:
            piece, rate_hz = _read(path, start, needed)
            if len(piece) < min(needed, header.samples - start) and len(_read(path, start, needed)[0]) != len(piece):
                raise Unavailable(f"noise recording {shown(path)}: two reads end at different samples")
        except soundfile.LibsndfileError as error:
            _raise_if_unreadable(path, error)
            raise RejectedExample(f"noise recording {shown(path.relative_to(self.folder))}: {error}") from error
        if len(piece) == 0 or not np.isfinite(piece).all():
            _raise_if_unreadable(path)
            what = "is empty" if len(piece) == 0 else "has samples that are not finite"
            raise RejectedExample(f"noise recording {shown(path.relative_to(self.folder))} {what}")
        resampled: Waveform = soxr.resample(np.ascontiguousarray(piece[:, 0]), rate_hz, self.sample_rate_hz)
        return looped(resampled, samples, self.sample_rate_hz, rng)


def _read(path: Path, start: int, samples: int) -> tuple[NDArray[np.float32], int]:
    """Return Float32[samples, channels], fewer at the end, and the rate."""
    piece, rate_hz = soundfile.read(os.fsencode(path), samples, start, dtype="float32", always_2d=True)
    return piece, rate_hz


def _read_header(path: Path) -> _Header | str:
    """Return a recording's length and rate, or why it cannot be used; Unavailable if it is not there."""
    error: soundfile.LibsndfileError | None = None
    if fault := path_fault(path):
        if fault.startswith("cannot be read"):
            raise Unavailable(f"noise recording {shown(path)} {fault}")
        return f"is no recording: {fault}"
    try:
        info = soundfile.info(os.fsencode(path))
        if info.samplerate > 0 and info.frames >= _SHORTEST_S * info.samplerate:
            return _Header(info.frames, info.samplerate)
    except soundfile.LibsndfileError as found:
        error = found
    _raise_if_unreadable(path, error)
    if error is not None:
        return f"is no recording: {error.error_string}"
    return f"is too short: {info.frames} samples at {info.samplerate} Hz; at least {_SHORTEST_S:g} s are needed"


def _raise_if_unreadable(path: Path, error: soundfile.LibsndfileError | None = None) -> None:
    """Raise Unavailable if the machine failed: libsndfile also reports unreadable files as no recordings."""
    fault: object = error.error_string if error is not None and error.code == _SYSTEM_ERROR else None
    try:
        with path.open("rb") as file:
            while file.read(_CHUNK_BYTES):
                pass
    except OSError as why:
        fault = why
    if fault is not None:
        raise Unavailable(f"noise recording {shown(path)} cannot be read: {fault}")
