"""Recordings for a client to send."""

import os
from pathlib import Path

import numpy as np
import soundfile
import soxr

from services.recognizer_client.samples import LOUDEST
from sonorant.arrays import Waveform
from sonorant.corpus.containers import is_mp3, shortfall
from sonorant.errors import BadAudio
from sonorant.file_names import path_fault, shown
from sonorant.serving.audio_formats import AudioFormat, open_decoder

__all__ = ["read_recording"]

_WEBM = b"\x1a\x45\xdf\xa3"  # begins the files that browsers record, which soundfile does not read
_READ_TO_THEIR_END = {b"RIFF": "WAV", b"fLaC": "FLAC"}  # where the header counts no samples
_UNCOUNTED = (1 << 63) - 1  # samples, by soundfile, of a FLAC file that counts none, as one that was piped
_LONGEST_S = 86_400.0
_SAMPLE_BYTES = 4
_EXPECTED = "expected a recording that soundfile reads, or Opus in WebM"
_FOLDER = ", or a folder with some, known by their suffixes, such as .wav"


def read_recording(path: Path, rate_hz: int) -> Waveform:
    """Return a file's samples [samples] in [-1, 1], channels averaged, at `rate_hz`; raises BadAudio.

    A WAV or FLAC file without a length, as one of a recorder that was killed, is read to its end. Raises BadAudio if
    it, or another file that soundfile reads, holds no samples.
    """
    if fault := path_fault(path):  # also of a pipe, whose open would block
        folder = _FOLDER if os.path.isdir(path) else ""
        raise BadAudio(shown(path), f"{fault}; {_EXPECTED}{folder}")
    try:
        # By its descriptor, whose place a buffer would hide: soundfile refuses names that are not UTF-8.
        with path.open("rb", buffering=0) as file:
            magic = file.read(len(_WEBM))
            if magic == _WEBM:
                return _decoded(path, "WEBM_OPUS", magic + file.read(), rate_hz)
            file.seek(0)
            if fault := shortfall(file.fileno()):
                raise BadAudio(shown(path), fault)
            if is_mp3(file.fileno()):  # soundfile's decoder writes to stderr of it, and names no file
                return _held(path, _decoded(path, "MP3", file.read(), rate_hz))
            mono, found_hz = _averaged(path, file.fileno())
            if not len(mono):  # soundfile takes a data chunk of 0 bytes at its word
                file.seek(0)
                encoding = _READ_TO_THEIR_END.get(magic)
                return _held(path, _decoded(path, encoding, file.read(), rate_hz) if encoding else mono)
    except soundfile.LibsndfileError as error:  # which names the descriptor
        raise BadAudio(shown(path), f"{error.error_string.strip(' .')}; {_EXPECTED}") from error
    except OSError as error:
        raise BadAudio(shown(path), f"{error}; {_EXPECTED}") from error
    if found_hz != rate_hz:
        mono = soxr.resample(mono, found_hz, rate_hz).astype(np.float32)
    if not np.isfinite(mono).all():
        raise BadAudio(shown(path), "samples that are not finite, alone or averaged; expected numbers in [-1, 1]")
    if (peak := float(np.max(np.abs(mono), initial=0.0))) > LOUDEST:  # the scale of integers: noise, once clipped
        raise BadAudio(shown(path), f"samples reach {peak:g}; floating-point recordings must be in [-1, 1]")
    return mono


def _averaged(path: Path, descriptor: int) -> tuple[Waveform, int]:
    """Return what soundfile reads of a file, channels averaged, and its rate; raises BadAudio for more than a day.

    Of a file whose header counts no samples it is none.
    """
    with soundfile.SoundFile(descriptor, closefd=False) as sound:
        if sound.frames == _UNCOUNTED:
            return np.empty(0, np.float32), sound.samplerate
        if sound.frames > _LONGEST_S * sound.samplerate:
            raise _too_long(path)
        try:
            if sound.frames * sound.channels * _SAMPLE_BYTES > _memory_bytes():
                raise MemoryError  # in place of the system, which may promise more than it has
            samples = sound.read(dtype="float32", always_2d=True)
        except MemoryError:  # before any is read: a header may lie
            found = f"{sound.frames} samples of {sound.channels} channels by its header"
            raise BadAudio(shown(path), f"{found}: more than memory holds") from None
        with np.errstate(over="ignore", invalid="ignore"):
            mono: Waveform = samples[:, 0] if sound.channels == 1 else samples.mean(axis=1, dtype=np.float32)
        return mono, sound.samplerate


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _too_long(path: Path) -> BadAudio:
    return BadAudio(shown(path), f"more than {_LONGEST_S / 3600:g} h of audio; cut it")


def _held(path: Path, samples: Waveform) -> Waveform:
    """Return the samples; raises BadAudio if there are none."""
    if not len(samples):
        raise BadAudio(shown(path), "holds no samples, or its header counts none; expected a recording")
    return samples


def _decoded(path: Path, encoding: str, content: bytes, rate_hz: int) -> Waveform:
    """Return the samples of a file as the recognizer decodes it."""
    decoder = open_decoder(AudioFormat(encoding), rate_hz, _LONGEST_S)
    try:
        samples: Waveform = np.concatenate([np.empty(0, np.float32), *decoder.pieces(content), *decoder.last_pieces()])
    except BadAudio as error:
        raise BadAudio(shown(path), error.reason) from error
    if len(samples) > _LONGEST_S * rate_hz:
        raise _too_long(path)
    return samples
