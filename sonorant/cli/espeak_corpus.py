"""A corpus that espeak-ng speaks: sentences of a grammar, or lines of a text file, in the layout of reader=manifest.

What is said and how follows from the seed, the source and the version of espeak-ng: the manner of an utterance (voice,
speed, pitch, loudness) is drawn by its id, so a longer corpus begins with the utterances of a shorter one. espeak-ng
begins with the first sound and ends with the last one; recordings have the quiet of a room around them.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

from sonorant.atomic import atomic_folder
from sonorant.audio.comfort_noise import quiet_room
from sonorant.audio.pcm import Samples, from_int16, to_int16
from sonorant.cli.espeak import Espeak, Manner
from sonorant.corpus.grammar import read_grammar
from sonorant.corpus.readers.text_lines import whole_text
from sonorant.corpus.source import SOURCE
from sonorant.errors import BadCorpus
from sonorant.file_names import shown
from sonorant.randomness import generator

__all__ = ["Script", "manner_of", "read_script", "speak_corpus"]

_GRAMMARS = (".yaml", ".yml")
_PITCH, _PITCH_RANGE = (30, 70), 8  # of 0 to 99: speakers' means, and how far utterances are from them
_SPEED, _SPEED_RANGE = (125, 190), 0.15  # words a minute, and the same as a share
_AMPLITUDE = (60, 140)  # 100 is espeak's default
_BEFORE_S, _AFTER_S = (0.1, 0.3), (0.2, 0.4)  # quiet around speech; no less than `comfort_noise` gives an utterance
_WRITTEN_AT_ONCE = 500


class Script(NamedTuple):
    """What is to be said, and in which language."""

    language: str
    texts: tuple[str, ...]


def read_script(source: Path, count: int, seed: int, language: str | None) -> Script:
    """Return `count` texts: distinct sentences of a grammar, or the lines of a text file in shuffled passes.

    language: of the texts; without it a grammar's own, English for a text file. Raises BadCorpus.
    """
    rng = generator(seed, 0, "texts", "espeak")
    if source.suffix in _GRAMMARS:
        grammar = read_grammar(source)
        return Script(language or grammar.language, tuple(grammar.distinct(count, rng)))
    texts = [text.strip() for text in whole_text(source) if text.strip()]
    if not texts:
        raise BadCorpus(f"{shown(source)}: is empty; expected a word or a sentence a line")
    return Script(language or "en", tuple(islice(_passes(texts, rng), count)))


def speak_corpus(
    espeak: Espeak,
    script: Script,
    folder: Path,
    *,
    speakers: int,
    seed: int,
    jobs: int,
    progress: Callable[[int], None],
) -> float | None:
    """Write `manifest.jsonl`, `SOURCE` and a FLAC file per text into `folder`; return the hours of speech.

    A folder with this very corpus is left alone: None. Raises BadCorpus if something else is there, espeak-ng does
    not speak the language, has fewer voices than `speakers`, or has no sound for a text.
    """
    voices = espeak.voices(script.language)
    if speakers > len(voices):
        raise BadCorpus(f"speakers={speakers}: espeak-ng has {len(voices)} voices for language {script.language!r}")
    source = _source(espeak, script, speakers, seed)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        path = folder / SOURCE
        there = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else f"no {SOURCE}\n"
        if there == source:
            return None
        raise BadCorpus(
            f"{shown(folder)}: holds something else: found {there[:-1]!r}, expected {source[:-1]!r}; remove it, or "
            "give another folder"
        )
    order = generator(seed, 0, "voices", "espeak").permutation(len(voices))
    cast = _passes([voices[i] for i in order[:speakers]], generator(seed, 0, "speakers", "espeak"))
    lines = [(f"{i:06d}-{voice}", voice, text) for i, (voice, text) in enumerate(zip(cast, script.texts, strict=False))]
    total_s = 0.0
    with atomic_folder(folder) as made, (made / "manifest.jsonl").open("w", encoding="utf-8") as manifest:
        for i in range(0, len(lines), _WRITTEN_AT_ONCE):
            (made / "speech" / f"{i // _WRITTEN_AT_ONCE:03d}").mkdir(parents=True)
        with ThreadPoolExecutor(jobs) as pool:
            work = pool.map(partial(_utter, espeak, made, seed), range(len(lines)), lines)
            for done, (entry, seconds) in enumerate(work, 1):
                manifest.write(json.dumps(entry, ensure_ascii=False) + "\n")
                total_s += seconds
                progress(done)
        (made / SOURCE).write_text(source, encoding="utf-8")
    return total_s / 3600


def _source(espeak: Espeak, script: Script, speakers: int, seed: int) -> str:
    """Return the line that identifies a corpus: all that it follows from."""
    texts = hashlib.blake2b("\n".join(script.texts).encode(), digest_size=8).hexdigest()
    return (
        f"{espeak.version()}: synthetic speech, {len(script.texts)} utterances (texts {texts}) by {speakers} voices "
        f"of language {script.language}, within quiet, seed {seed}\n"
    )


def _passes(items: list[str], rng: np.random.Generator) -> Iterator[str]:
    """Yield all items in a random order, then all in another one, for ever."""
    while True:
        yield from (items[i] for i in rng.permutation(len(items)))


def manner_of(key: str, voice: str, seed: int) -> Manner:
    """Draw how an utterance is spoken: around its speaker's mean, which every utterance of that speaker has."""
    speaker, utterance = generator(seed, 0, voice, "espeak"), generator(seed, 0, key, "espeak")
    pitch = speaker.uniform(*_PITCH) + utterance.uniform(-_PITCH_RANGE, _PITCH_RANGE)
    speed = speaker.uniform(*_SPEED) * (1 + utterance.uniform(-_SPEED_RANGE, _SPEED_RANGE))
    return Manner(voice, round(speed), round(pitch), round(utterance.uniform(*_AMPLITUDE)))


def _utter(
    espeak: Espeak, folder: Path, seed: int, number: int, line: tuple[str, str, str]
) -> tuple[dict[str, object], float]:
    """Write one recording; return its line of the manifest, and its length in seconds."""
    key, voice, text = line
    if "[[" in text:
        raise BadCorpus(f"{text[:60]!r}: espeak-ng takes what stands behind [[ for phonemes; write words")
    samples, rate_hz = espeak.speak(text, manner_of(key, voice, seed))
    if not samples.any():
        raise BadCorpus(f"{text[:60]!r}: espeak-ng has no sound for it")
    samples = _within_quiet(samples, rate_hz, generator(seed, 0, key, "espeak quiet"))
    path = Path("speech", f"{number // _WRITTEN_AT_ONCE:03d}", f"{key}.flac")
    soundfile.write(folder / path, samples, rate_hz, subtype="PCM_16")
    seconds = len(samples) / rate_hz
    return {"audio_filepath": str(path), "duration": seconds, "text": text, "speaker": voice, "id": key}, seconds


def _within_quiet(samples: Samples, rate_hz: int, rng: np.random.Generator) -> Samples:
    before, after = (round(rng.uniform(*seconds) * rate_hz) for seconds in (_BEFORE_S, _AFTER_S))
    room = quiet_room(before + len(samples) + after, rng)
    room[before : before + len(samples)] += from_int16(samples)
    return to_int16(room)
