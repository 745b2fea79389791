"""One utterance as training gets it: a recording after each stage, the features, and a plot."""

import difflib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from sonorant.arrays import Features, Waveform
from sonorant.atomic import atomic_folder
from sonorant.augment.chain import StageResources, build_chain
from sonorant.corpus.audio import read_segment
from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import ShardSet
from sonorant.corpus.utterance import Scaled, Segment
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import BadCorpus, Unavailable
from sonorant.links.payload import as_carried
from sonorant.recipe.schema import Recipe
from sonorant.report.plots import features_plot, stages_plot
from sonorant.report.stage_view import changed_features, changed_views, pass_through

__all__ = ["Heard", "recorded_example", "stored_example", "write_augmented"]

_ACCOUNT = "augmented.json"
_FEATURES = "features.npy"
_PLOTS = ("stages.svg", "features.svg")


@dataclass(frozen=True, slots=True)
class Heard:
    """A stage's output: the file's name, its figures in words, and whether the stage changed anything."""

    stage: str
    file: str
    figures: str
    changed: bool


def recorded_example(path: Path, utterance: str, epoch: int, recipe: Recipe) -> tuple[Example, Scaled | None]:
    """Return a recording as `sonorant prepare` would have stored it, and its peak if that exceeded 16 bits.

    Raises BadAudio if it cannot be used.
    """
    rate_hz = recipe.corpus.sample_rate_hz
    waveform, scaled = read_segment(Segment(path), recipe.corpus)
    audio = encode_audio(waveform, rate_hz, recipe.corpus.payload)
    record = Record(utterance, "", "", rate_hz, len(waveform) / rate_hz, recipe.corpus.payload, audio)
    return record.example(Lineage(epoch, 0, 0)), scaled


def stored_example(shards: ShardSet, utterance: str, epoch: int) -> Example:
    """Return an utterance of a prepared run; BadCorpus, naming the nearest ones, if no utterance has that name."""
    known = []
    for ordinal, record in enumerate(shards):
        if record.utterance == utterance:
            return record.example(Lineage(epoch, *shards.locate(ordinal)))
        known.append(record.utterance)
    near = difflib.get_close_matches(utterance, known, n=3, cutoff=0) or known[:3]
    known_ones = f"{len(known)} in {shards.paths[0].parent}"
    raise BadCorpus(f"no utterance {utterance!r} among {known_ones}, such as {', '.join(near)}")


def write_augmented(
    recipe: Recipe, resources: StageResources, example: Example, seed: int, folder: Path
) -> list[Heard]:
    """Pass an example through the recipe's stages and write each stage's output; the bits are those of the services.

    `folder` gets each stage's output, a float WAV file with all microphones or Float32[vectors, bins]; features.npy,
    as the trainer gets them; plots; and augmented.json, which describes the files. It is written atomically; a folder
    with anything but earlier results is refused.
    Raises RejectedExample, BadRecipe, BadCorpus, Unavailable.
    """
    folder = folder.resolve()
    if folder.exists() and not (folder / _ACCOUNT).exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise Unavailable(f"{folder}: is there and holds no results of this command; give a new or an empty folder")
    passed = dict(pass_through(build_chain(recipe, resources), example, seed))
    with atomic_folder(folder) as building:
        heard = _write_stages(passed, building)
        features = as_carried(list(passed.values())[-1], recipe.pipeline.payload).features
        assert features is not None
        np.save(building / _FEATURES, features)
        plots = (stages_plot(changed_views(passed)), features_plot(changed_features(passed)))
        for name, plot in zip(_PLOTS, plots, strict=True):
            (building / name).write_text(plot)
        (building / _ACCOUNT).write_text(json.dumps(_account(recipe, example, seed, heard), indent=1) + "\n")
    return heard


def _write_stages(passed: dict[str, Example], folder: Path) -> list[Heard]:
    heard: list[Heard] = []
    before: Waveform | Features | None = None
    for number, (name, example) in enumerate(passed.items()):
        left = example.waveform if example.features is None else example.features
        assert left is not None
        file = f"{number}-{name}.{'wav' if example.features is None else 'npy'}"
        if example.features is None:
            _write_wav(folder / file, left, example.sample_rate_hz)
            figures = _level(left, example.sample_rate_hz)
        else:
            np.save(folder / file, left)
            figures = f"{len(left)} vectors of {left.shape[1]} bins"
        heard.append(Heard(name, file, figures, left is not before))
        before = left
    return heard


def _write_wav(path: Path, waveform: Waveform, rate_hz: int) -> None:
    try:  # as bytes: soundfile refuses names that are not UTF-8
        soundfile.write(os.fsencode(path), waveform.T, rate_hz, subtype="FLOAT", format="WAV")
    except soundfile.LibsndfileError as error:
        raise OSError(error.error_string) from error


def _level(waveform: Waveform, rate_hz: int) -> str:
    rms_db = 10 * np.log10(max(float(np.mean(np.square(waveform, dtype=np.float64))), 1e-20))
    return f"{waveform.shape[-1] / rate_hz:7.3f} s   peak {float(np.abs(waveform).max()):5.3f}   {rms_db:6.1f} dB"


def _account(recipe: Recipe, example: Example, seed: int, heard: list[Heard]) -> dict[str, Any]:
    return {
        "recipe": recipe.name,
        "seed": seed,
        "epoch": example.lineage.epoch,
        "utterance": example.utterance,
        "text": example.text,
        "stages": [{"stage": one.stage, "file": one.file, "changed": one.changed} for one in heard],
        "features": _FEATURES,
        "plots": _PLOTS,
    }
