"""Recorded requests for a version's warm-up: of dev, with what the exported model recognizes in them."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import soundfile

from sonorant.audio.pcm import to_int16
from sonorant.corpus.record import Record
from sonorant.corpus.shards import ShardSet
from sonorant.errors import BadShard, Unavailable
from sonorant.export.manifest import renew_checksums
from sonorant.serving.model import ServedModel
from sonorant.serving.warm_up import MANIFEST as RECORDED
from sonorant.serving.warm_up import WARM_UP, recognize_recorded, recorded_requests

__all__ = ["add_warm_up", "as_wav", "dev_recordings", "renew_warm_up"]

_READ = 64  # records of dev, evenly spaced
_RECOGNIZED = 8  # for the warm-up: of those, the shortest
_KEPT = 3  # of those, the surest
_SHORTEST_S, _LONGEST_S = 0.4, 10.0


def dev_recordings(shards: Path) -> list[Record]:
    """Return some recordings of dev, shortest first; none where dev is not here, or has none."""
    try:
        dev = ShardSet.open(shards, "dev")
        ordinals = np.unique(np.linspace(0, dev.total - 1, min(_READ, dev.total)).round().astype(int))
        records = [dev.read(*dev.locate(int(ordinal))) for ordinal in ordinals]
    except (BadShard, Unavailable):
        return []
    spoken = [one for one in records if one.encoding != "none" and _SHORTEST_S <= one.duration_s <= _LONGEST_S]
    return sorted(spoken, key=lambda record: (record.duration_s, record.utterance))


def add_warm_up(folder: Path, model: ServedModel, recordings: Sequence[Record]) -> None:
    """Add recordings, of the first few, to the export that `model` was loaded from, with its transcripts.

    They are those in which it is surest of some words: a last bit, on another processor, changes none of them. None
    are added if there is no such.
    """
    found = []
    for record in recordings[:_RECOGNIZED]:
        wav = as_wav(record)
        best = recognize_recorded(model, wav).alternatives[0]
        if best.text:
            found.append((best.text == record.text, best.confidence, wav, best.text))
    if not found:
        return
    (folder / WARM_UP).mkdir()
    texts = {}
    for number, (*_, wav, text) in enumerate(sorted(found, reverse=True)[:_KEPT]):
        texts[f"{number}.wav"] = text
        (folder / WARM_UP / f"{number}.wav").write_bytes(wav)
    _write_texts(folder, texts)


def renew_warm_up(folder: Path, model: ServedModel) -> None:
    """Replace the transcripts of the recorded requests of an export, if it has any, by those of `model`."""
    recordings = [path for path, _ in recorded_requests(folder)]
    if recordings:
        texts = {path.name: recognize_recorded(model, path.read_bytes()).alternatives[0].text for path in recordings}
        _write_texts(folder, texts)


def _write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the transcripts, by the recordings' names, and the manifest of the export anew."""
    lines = [json.dumps({"audio_filepath": name, "text": text}, ensure_ascii=False) for name, text in texts.items()]
    (folder / WARM_UP / RECORDED).write_text("\n".join(lines) + "\n", encoding="utf-8")
    renew_checksums(folder)


def as_wav(record: Record) -> bytes:
    """Return the recording, its first microphone, as a WAV file of 16-bit samples."""
    waveform, file = record.waveform(), io.BytesIO()
    samples = to_int16(waveform if waveform.ndim == 1 else waveform[0])
    soundfile.write(file, samples, record.sample_rate_hz, format="WAV", subtype="PCM_16")
    return file.getvalue()
