"""The figures of a run, the content of `report.json`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sonorant.errors import BadRun
from sonorant.export.manifest import ENSEMBLE, MANIFEST, member_folder, read_manifest
from sonorant.json_file import read_object
from sonorant.recipe.loading import load_recipe
from sonorant.report.journal import Line, read_journal
from sonorant.report.outcomes import outcomes_rate, read_evaluation
from sonorant.run_folder import RunFolder
from sonorant.text.scoring import ErrorRate

__all__ = ["Summary", "summarise"]

Summary: TypeAlias = dict[str, Any]

# Of the training's totals; a run from before there was one of them has None.
_TOTALS = ("steps", "epochs", "audio_hours", "audio_hours_per_second", "parameters", "best_wer")


def summarise(run: RunFolder, source: str, sets: Mapping[str, object] | None = None) -> Summary:
    """Return every figure of a finished run.

    source: of the recordings, in words. sets: the test sets by name, as their sections of the recipe; None: all that
    were measured. Error rates are fractions, None of a set without a word in its references; times are in the unit of
    their name. Raises BadRun, naming what is missing or damaged, if the run has not been trained and evaluated, or a
    set was measured with another section.
    """
    end = _end(run)
    card = run.shards / "card.json"
    for path, command in ((run.evaluation, "evaluate"), (card, f"prepare --recipe {run.recipe}")):
        if not path.exists():
            raise BadRun(f"{path}: not there; run `sonorant {command} --run {run.path}` first")
    evaluation = read_evaluation(run)
    evaluation["sets"] = _chosen(run, evaluation, sets or {})
    return {
        "wer": {name: _rate(outcomes_rate(outcomes)) for name, outcomes in evaluation["sets"].items()},
        "errors": {name: _errors(outcomes) for name, outcomes in evaluation["sets"].items()},
        "train_seconds": end["train_seconds"],
        "t_session": end["t_session"],
        "stopped_because": end.get("reason", ""),
        **{key: end.get(key) for key in _TOTALS},
        "padding_ratio": _padding_ratio(run),
        "system": _system(run, evaluation["model"]),
        "ledger": end["ledger"],
        "streaming": _streaming(evaluation),
        "model": evaluation["model"],
        "corpus": {
            "source": source,
            **read_object(card, f"run `sonorant prepare --recipe {run.recipe} --run {run.path}`"),
        },
    }


def _chosen(run: RunFolder, evaluation: dict[str, Any], sets: Mapping[str, object]) -> dict[str, Any]:
    measured, definitions = evaluation["sets"], evaluation.get("definitions", {})
    if missing := [name for name in sets if name not in measured]:
        raise BadRun(
            f"{run.evaluation}: has no test set {missing[0]}; there are {', '.join(measured) or 'none'}: "
            f"run `sonorant evaluate --run {run.path}` with the same --set first"
        )
    if other := [name for name, section in sets.items() if definitions.get(name, section) != section]:
        raise BadRun(
            f"{run.evaluation}: test set {other[0]} was measured as {definitions[other[0]]}; found {sets[other[0]]}: "
            f"run `sonorant evaluate --run {run.path}` with the same --set first"
        )
    return {name: outcomes for name, outcomes in measured.items() if name in sets or not sets}


def _end(run: RunFolder) -> Line:
    """Return the training's totals."""
    journal = read_journal(run.metrics)
    if journal["end"]:
        return journal["end"][-1]
    epochs = load_recipe(run.recipe).training.epochs
    reached = f"epoch {journal['step'][-1]['epoch'] + 1} of {epochs}" if journal["step"] else "no step is made"
    raise BadRun(
        f"{run.metrics}: training is not complete ({reached}); "
        f"`sonorant train --recipe {run.recipe} --run {run.path}` goes on"
    )


def _padding_ratio(run: RunFolder) -> float | None:
    """Return the mean over batches (Google 2017, Table 1); None if a run is so old that it has none."""
    found = [line["padding_ratio"] for line in read_journal(run.metrics)["step"] if "padding_ratio" in line]
    return float(np.mean(found)) if found else None


def _system(run: RunFolder, model: str) -> dict[str, Any]:
    """Return what was trained; streaming: whether it has results while audio arrives, None if its export is gone."""
    recipe = load_recipe(run.recipe)
    export = run.exports / model
    there = (export / MANIFEST).exists()
    signature = _signature(export) if there else None
    decoding = load_recipe(export / "recipe.yaml").decoding if there else recipe.decoding
    return {
        "name": recipe.name,
        "family": recipe.model.family,
        "objective": recipe.training.objective,
        "seed": recipe.seed,
        "streaming": signature == "stream" if there else None,
        "stages": [stage.stage for stage in recipe.stages],
        "lm": decoding.lm is not None,
        "mwer": recipe.training.mwer_hypotheses > 0,
    }


def _signature(export: Path) -> str:
    """Return that of an exported model; of an ensemble, its first member's."""
    signature = read_manifest(export).signature
    return read_manifest(member_folder(export, 0)).signature if signature == ENSEMBLE else signature


def _rate(rate: ErrorRate) -> float | None:
    return rate.rate if rate.reference_words else None


def _errors(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rate, characters = outcomes_rate(outcomes), outcomes_rate(outcomes, "character")
    return {
        "utterances": len(outcomes),
        "words": rate.reference_words,
        "substitutions": rate.substitutions,
        "insertions": rate.insertions,
        "deletions": rate.deletions,
        "interval_95": list(rate.interval_95) if rate.reference_words else None,
        "interval_resamples": f"{rate.resampled}s",
        "cer": _rate(characters),
        "cer_interval_95": list(characters.interval_95) if rate.reference_words else None,
        "sentence_rate": rate.sentence_rate,
    }


def _streaming(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Return the latencies of the sets that were streamed in real time."""
    paced = {name: o for name, o in evaluation["sets"].items() if any(one["final_ms"] is not None for one in o)}
    outcomes = [outcome for outcomes in paced.values() for outcome in outcomes]
    interim = [o["first_interim_ms"] for o in outcomes if o["first_interim_ms"] is not None]
    final = [o["final_ms"] for o in outcomes]
    return {
        "streams": max((evaluation["streams"][name] for name in paced), default=0),
        "first_interim_p95_ms": float(np.percentile(interim, 95)) if interim else None,
        "first_interim_p50_ms": float(np.percentile(interim, 50)) if interim else None,
        "final_p95_ms": float(np.percentile(final, 95)) if final else None,
        "final_p50_ms": float(np.percentile(final, 50)) if final else None,
    }
