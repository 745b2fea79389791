"""Shards of noise that compresses about as speech does."""

from pathlib import Path

import numpy as np

from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import shard_name, write_shard

__all__ = ["write_corpus"]

_VOICES = 8  # different waveforms; encoding more of them would take longer than the measurement


def write_corpus(folder: Path, examples: int, seconds: float, rate_hz: int) -> None:
    """Write FLAC shards of low-passed noise, which compresses about as speech does."""
    rng, records = np.random.default_rng(1), []
    folder.mkdir(parents=True, exist_ok=True)
    voices = []
    for _ in range(_VOICES):
        noise = np.convolve(rng.standard_normal(round(seconds * rate_hz)), np.hanning(9), "same")
        syllables = np.abs(np.sin(2 * np.pi * 2 * np.arange(noise.size) / rate_hz))
        voices.append(encode_audio((0.03 * noise * syllables).astype(np.float32), rate_hz, "flac"))
    for number in range(examples):
        audio = voices[number % _VOICES]
        records.append(Record(f"u{number}", "someone", "one two", rate_hz, seconds, "flac", audio))
    write_shard(folder / shard_name("train", 0, 1), records)
