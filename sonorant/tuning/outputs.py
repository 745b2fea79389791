"""A model's outputs for a set of utterances, on disk: computed once, searched many times."""

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.atomic import atomic_folder
from sonorant.audio.comfort_noise import within_quiet
from sonorant.serving.model import ServedModel
from sonorant.serving.posteriors import no_posteriors, open_posteriors, whole_posteriors

__all__ = ["Outputs", "Spoken", "is_of", "read_outputs", "write_outputs"]

_FRAMES, _UTTERANCES = "frames.f32", "utterances.json"


@dataclass(frozen=True, slots=True)
class Spoken:
    """An utterance of the set. waveform: reads its samples, Float32[samples] at the model's rate."""

    text: str
    speaker: str
    waveform: Callable[[], Waveform]


@dataclass(frozen=True)
class Outputs:
    """Outputs of utterances in order, mapped from a file, so that processes share them.

    texts, speakers: of the references. ends: Int64[utterances], one after the last frame of each among all frames.
    """

    texts: tuple[str, ...]
    speakers: tuple[str, ...]
    ends: NDArray[np.int64]
    all_frames: NDArray[np.float32]

    def frames(self, utterance: int) -> NDArray[np.float32]:
        """Return the outputs of one utterance, Float32[frames, size]: log-probabilities, or encoded frames."""
        begin = int(self.ends[utterance - 1]) if utterance else 0
        return np.asarray(self.all_frames[begin : int(self.ends[utterance])])


def is_of(folder: Path, origin: str) -> bool:
    """Return whether the folder has outputs of that origin; damaged ones are of none."""
    try:
        found = json.loads((folder / _UTTERANCES).read_text(encoding="utf-8"))["origin"] == origin
        return bool(found and (folder / _FRAMES).stat().st_size == read_outputs(folder).all_frames.nbytes)
    except (OSError, EOFError, ValueError, TypeError, KeyError):
        return False


def write_outputs(
    folder: Path,
    origin: str,
    model: ServedModel,
    utterances: Iterable[Spoken],
    jitter_ms: float,
    threads: int,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Write the outputs of whole utterances to `folder`, atomically, in place of others.

    They are those of recognition with this jitter. origin: names model and set. done: called after each utterance.
    Raises Unavailable if the folder cannot be written.
    """
    references, lengths = list(utterances), []
    with atomic_folder(folder) as draft:
        with ThreadPoolExecutor(threads) as pool, (draft / _FRAMES).open("wb") as file:
            for frames in pool.map(partial(_outputs, model, jitter_ms), references):
                file.write(np.ascontiguousarray(frames, np.float32).data)
                lengths.append(len(frames))
                done()
        document = {
            "origin": origin,
            "texts": [one.text for one in references],
            "speakers": [one.speaker for one in references],
            "ends": np.cumsum(lengths, dtype=np.int64).tolist(),
            "size": no_posteriors(model).shape[1],
        }
        (draft / _UTTERANCES).write_text(json.dumps(document), encoding="utf-8")


def read_outputs(folder: Path) -> Outputs:
    """Return the outputs that `write_outputs` wrote."""
    document = json.loads((folder / _UTTERANCES).read_text(encoding="utf-8"))
    ends = np.array(document["ends"], np.int64)
    shape = (int(ends[-1:].sum()), int(document["size"]))
    frames = np.memmap(folder / _FRAMES, np.float32, "r", shape=shape) if all(shape) else np.zeros(shape, np.float32)
    return Outputs(tuple(document["texts"]), tuple(document["speakers"]), ends, frames)


def _outputs(model: ServedModel, jitter_ms: float, utterance: Spoken) -> NDArray[np.float32]:
    line = within_quiet(utterance.waveform(), model.sample_rate_hz)
    return whole_posteriors(open_posteriors(model, jitter_ms), line)
