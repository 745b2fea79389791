"""Recordings that are tones, the recipe for them, and records: a corpus small enough for any test."""

from pathlib import Path

import numpy as np
import soundfile

from sonorant.corpus.record import Record, encode_audio
from sonorant.delivery.example import WordSpan
from sonorant.recipe import Recipe

RATE_HZ = 8000


def tone(seconds: float = 0.3, rate_hz: int = RATE_HZ, hz: float = 440.0) -> np.ndarray:
    return (0.3 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)


def write_digits(data: Path) -> Path:
    """Write a corpus `digits` of three speakers with eight takes of each digit below `data`, and return `data`."""
    folder = data / "digits"
    folder.mkdir(parents=True)
    for s, speaker in enumerate(("ann", "bob", "uma")):
        for digit in range(10):
            for take in range(8):
                samples = tone(0.11 + 0.002 * take + 0.003 * digit, hz=300 + 100 * digit + 30 * s)
                soundfile.write(folder / f"{digit}_{speaker}_{take}.wav", samples, RATE_HZ, subtype="PCM_16")
    return data


def digits_recipe(**corpus: object) -> Recipe:
    values = {
        "reader": "fsdd",
        "path": "digits",
        "sample_rate_hz": RATE_HZ,
        "shard_utterances": 8,
        "splits": {"unseen_speakers": ("uma",)},
        "strings": {"train": 20, "dev": 4, "test": 6, "unseen_speaker": 5},
    }
    return Recipe.model_validate({"version": 1, "name": "tiny", "corpus": values | corpus, "text": {"units": "words"}})


def record(number: int, encoding: str = "pcm16") -> Record:
    waveform = tone(0.1 + 0.01 * number, hz=200 + 50 * number)
    return Record(
        utterance=f"u{number}",
        speaker="ann",
        text="one two",
        sample_rate_hz=8000,
        duration_s=len(waveform) / 8000,
        encoding=encoding,
        audio=encode_audio(waveform, 8000, encoding),
        words=(WordSpan("one", 0.01, 0.05), WordSpan("two", 421 / 8000, 0.1)),
    )
