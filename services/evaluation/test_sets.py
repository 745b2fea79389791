"""A test set as recordings: 16-bit WAV files and a JSON-lines manifest of references."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.atomic import atomic_folder
from sonorant.audio.levels import amplify
from sonorant.audio.pcm import to_int16
from sonorant.augment.resources import StageResources
from sonorant.augment.room import room_stage
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import BadRun
from sonorant.randomness import generator
from sonorant.recipe.training import TestSetRecipe
from sonorant.run_folder import RunFolder

__all__ = ["Reference", "read_references", "shards_of", "write_test_set"]

_MANIFEST = "manifest.jsonl"
_LONGEST_NAME_BYTES = 250  # without suffix; Linux takes 255
_ORIGIN = "origin"  # and content of the recordings; others are written anew


@dataclass(frozen=True, slots=True)
class Reference:
    """One recording of a test set with its transcript; `words` and `speaker` are empty where the corpus has none."""

    utterance: str
    recording: Path
    text: str
    duration_s: float
    words: tuple[WordSpan, ...]
    speaker: str = ""


def write_test_set(run: RunFolder, data_folder: Path, test_set: TestSetRecipe) -> Path:
    """Write the recordings of a test set below the run, unless they are there; return their folder.

    A set with a room draws it from a generator that no stage of training uses, and takes its babble
    from the set's own split: training has neither its rooms nor its noise. Raises BadShard,
    BadRun, RejectedExample, Unavailable.
    """
    folder = run.recordings / test_set.name
    shards = shards_of(run, test_set)
    origin = f"{test_set.model_dump_json()}\n{(shards / 'card.json').read_text()}"
    if (folder / _ORIGIN).is_file() and (folder / _ORIGIN).read_bytes() == f"{origin}\n{_content(folder)}".encode():
        return folder
    with atomic_folder(folder) as building:
        with open(building / _MANIFEST, "w") as manifest:
            for example in _examples(shards, data_folder, test_set):
                if example.waveform is None:
                    raise BadRun(f"evaluation.sets: {test_set.name}: run: {shards} has text alone; expected recordings")
                name = _file_name(example.utterance)
                samples = _pcm16(amplify(example.waveform, test_set.gain_db))
                soundfile.write(building / name, samples, example.sample_rate_hz, subtype="PCM_16")
                manifest.write(json.dumps(_manifest_line(example, name)) + "\n")
        (building / _ORIGIN).write_text(f"{origin}\n{_content(building)}")
    return folder


def shards_of(run: RunFolder, test_set: TestSetRecipe) -> Path:
    """Return the folder of the shards that the set is made of: the run's own, or those of another prepared run.

    Raises BadRun if that one is not prepared.
    """
    shards = (RunFolder(Path(test_set.run)) if test_set.run is not None else run).shards
    if not (shards / "card.json").exists():
        where = f"evaluation.sets: {test_set.name}: run" if test_set.run is not None else "the run"
        raise BadRun(f"{where}: {shards} has no corpus; expected the folder of a run that `sonorant prepare` filled")
    return shards


def read_references(folder: Path) -> list[Reference]:
    """Return the references of a folder that `write_test_set` wrote, in the order of the split."""
    references = []
    for line in (folder / _MANIFEST).read_text().splitlines():
        entry = json.loads(line)
        words = tuple(WordSpan(*word) for word in entry["words"])
        recording = folder / entry["audio_filepath"]
        references.append(
            Reference(entry["id"], recording, entry["text"], entry["duration"], words, entry.get("speaker", ""))
        )
    return references


def _examples(folder: Path, data_folder: Path, test_set: TestSetRecipe) -> Iterator[Example]:
    shards = ShardSet.open(folder, test_set.split)
    positions = [shards.locate(ordinal) for ordinal in range(shards.total)]
    examples = (shards.read(shard, index).example(Lineage(0, shard, index)) for shard, index in positions)
    if test_set.room is None or not positions:
        yield from examples
        return
    rate_hz = shards.read(*positions[0]).sample_rate_hz
    room = room_stage(test_set.room, StageResources(shards, data_folder), rate_hz)
    for example in examples:
        yield room(example, generator(test_set.seed, 0, example.utterance, f"test set {test_set.name}"))


def _content(folder: Path) -> str:
    """Return a checksum of the manifest, and of the names and sizes of the recordings; of what is there."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.wav")):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
    manifest = folder / _MANIFEST
    digest.update(manifest.read_bytes() if manifest.is_file() else b"")
    return digest.hexdigest()


def _pcm16(waveform: Waveform) -> NDArray[np.int16]:
    """Return the first microphone, [samples], in 16 bits."""
    return to_int16(waveform if waveform.ndim == 1 else waveform[0])


def _file_name(utterance: str) -> str:
    """Return a name for the file of an utterance, whose id may be a path, such as up/ann_1, and of any length."""
    name = utterance.replace("%", "%25").replace("/", "%2F").replace("\0", "%00")
    if len(name.encode()) > _LONGEST_NAME_BYTES:
        name = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
    return f"{name}.wav"


def _manifest_line(example: Example, name: str) -> dict[str, object]:
    """NeMo's keys, so that the set can itself be a corpus, and the word spans."""
    return {
        "audio_filepath": name,
        "duration": example.duration_s,
        "text": example.text,
        "speaker": example.speaker,
        "id": example.utterance,
        "words": list(example.words),
    }
