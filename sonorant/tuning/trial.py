"""A trial: all utterances of a set searched with certain weights, and the errors counted."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from sonorant.corpus.workers import Workers
from sonorant.decoding import load_scorer, search_all
from sonorant.export.language_model import language_models_sha256
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport, read_manifest
from sonorant.export.neural_language_model import load_language_model
from sonorant.recipe import Recipe
from sonorant.text.alignment import Unit
from sonorant.text.scoring import ErrorRate, score
from sonorant.text.units import read_units
from sonorant.tuning.outputs import read_outputs
from sonorant.tuning.weights import Weights, tunable, with_weights, without_weights

__all__ = ["Subject", "TrialRunner", "outputs_origin"]

_OF_SEARCH = ("lm/", "prior/", "warm_up/", "stability.json")  # files of an export


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tuned: an exported model, its outputs for a set, its search's recipe, as JSON, and the unit of errors.

    The recipe may be another than the export's; paths of its language models are absolute, or below the working folder.
    """

    export: Path
    outputs: Path
    recipe: str
    unit: Unit = "word"

    @property
    def fingerprint(self) -> str:
        """A checksum of all that a trial's errors depend on but its weights: wherever they lie, whatever their names.

        Raises BadExport for a language model that cannot be read.
        """
        recipe = Recipe.model_validate_json(self.recipe)
        digest = hashlib.sha256(language_models_sha256(recipe))
        digest.update(self.unit.encode())
        decoding = without_weights(recipe).decoding
        digest.update(decoding.model_dump_json(exclude={"lm": {"path"}, "prior": {"path"}}).encode())
        digest.update(f"{recipe.text}{recipe.features}{recipe.model}".encode())
        digest.update((self.outputs / "utterances.json").read_bytes())
        return digest.hexdigest()


def outputs_origin(export: Path, recipe: Recipe, recordings: Path) -> str:
    """Return a checksum of what an export's outputs for a folder of recordings follow from.

    Of the export the recipe, and what follows from its search, do not count; nor does a recording, which the folder's
    own manifest names.
    """
    files = {n: digest for n, digest in read_manifest(export).files.items() if not n.startswith(_OF_SEARCH)}
    saved = sorted((name, digest) for name, digest in files.items() if "/" in name or name.endswith((".pb", ".json")))
    digest = hashlib.sha256(f"{saved}{recipe.features}{recipe.decoding.jitter_ms}".encode())
    for path in sorted(path for path in recordings.iterdir() if path.suffix != ".wav"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class TrialRunner:
    """Runs trials on worker processes, each of which keeps outputs and language models for all its trials."""

    def __init__(self, subject: Subject, workers: Workers) -> None:
        self._subject = subject
        self._workers = workers

    @property
    def unit(self) -> Unit:
        """What is wrong in an error."""
        return self._subject.unit

    def errors(self, trials: Sequence[Weights]) -> Iterator[tuple[Weights, int]]:
        """Yield each trial with the number of its errors, as they complete, in any order."""
        tasks = [tuple(weights.items()) for weights in trials]
        for weights, errors in self._workers(partial(_errors, self._subject), tasks):
            yield dict(weights), errors

    def rate(self, weights: Weights) -> ErrorRate:
        """Return the error rate of a trial, with all that an interval needs."""
        return _opened(self._subject).rate(weights)


class _Recognition:
    """The set's outputs, and all that a search of them needs but the weights."""

    def __init__(self, subject: Subject) -> None:
        manifest = read_manifest(subject.export)
        self._unit = subject.unit
        self.recipe = Recipe.model_validate_json(subject.recipe)
        self._units = read_units(subject.export / "units.json")
        self._search = manifest.search
        self._frame_seconds = manifest.vector_seconds * self.recipe.model.framing.block
        self._outputs = read_outputs(subject.outputs)
        self._scorer = load_scorer(self._units, self.recipe.decoding, self.recipe.text, Path(), load_language_model)
        self._decoder = _decoder(subject.export) if self.recipe.model.label_synchronous else None

    def rate(self, weights: Weights) -> ErrorRate:
        """Return the error rate with certain weights."""
        recipe, outputs = with_weights(self.recipe, weights), self._outputs
        scorer = self._scorer.with_weights(recipe.decoding)
        utterances = [outputs.frames(utterance) for utterance in range(len(outputs.texts))]
        search = (self._search, self._units, self._frame_seconds, recipe.decoding, self._decoder, scorer)
        texts = [found.text for found in search_all(*search, utterances)]
        return score(zip(outputs.texts, texts, strict=True), self._unit, outputs.speakers)


@lru_cache(1)
def _opened(subject: Subject) -> _Recognition:
    return _Recognition(subject)


def _errors(subject: Subject, weights: tuple[tuple[str, float], ...]) -> tuple[tuple[tuple[str, float], ...], int]:
    return weights, _opened(subject).rate(dict(weights)).errors


def _decoder(export: Path) -> Any:
    model = load_exported(export)
    if "ctc_weight" in tunable(model.recipe) and not getattr(model.decoder, "joint_ctc", False):
        raise BadExport(f"{export}: of an earlier version, without log-probabilities by frame; export the run again")
    return model.decoder
