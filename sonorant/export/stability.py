"""Measure, on recordings of dev, which interim results of an exported model stand."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sonorant.corpus.record import Record
from sonorant.export.manifest import renew_checksums
from sonorant.export.warm_up import as_wav
from sonorant.serving.model import ServedModel
from sonorant.serving.results import Result
from sonorant.serving.session import SessionOptions
from sonorant.serving.stability import Stability, logit
from sonorant.serving.warm_up import recognize_stream

__all__ = ["add_stability", "fitted", "interim_posteriors", "read_stability"]

_FILE = "stability.json"
_ITERATIONS = 50
_CONVERGED = 1e-9
_RIDGE = 1e-6  # of the Hessian, which is singular where all posteriors are the same


def add_stability(folder: Path, model: ServedModel, recordings: Iterable[Record]) -> None:
    """Add to the export that `model` was loaded from, and to its manifest, how stable its interim results are.

    Nothing is added if there are none, as those of whole utterances.
    """
    found = [pair for record in recordings for pair in interim_posteriors(model, record)]
    if not found:
        return
    posteriors, stood = zip(*found, strict=True)
    (folder / _FILE).write_text(fitted(posteriors, stood).to_json(), encoding="utf-8")
    renew_checksums(folder)


def read_stability(folder: Path) -> Stability:
    """Return that of the export in `folder`: the posterior, if none was measured. Raises ValueError for damage."""
    try:
        return Stability.from_json((folder / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Stability()
    except ValueError as error:
        raise ValueError(f"{folder / _FILE}: {error}") from error


def interim_posteriors(model: ServedModel, record: Record) -> Iterator[tuple[float, bool]]:
    """Yield the posterior of each interim text of a stream, and whether the utterance's final text begins with it."""
    interim: list[Result] = []
    for answer in recognize_stream(model, as_wav(record), SessionOptions(words=False)):
        if not isinstance(answer, Result):
            continue
        if not answer.is_final:
            interim.append(answer)
            continue
        final = answer.alternatives[0].text
        for best in (result.alternatives[0] for result in interim):
            if best.text:
                yield best.confidence, final.startswith(best.text)
        interim = []


def fitted(posteriors: Sequence[float], stood: Sequence[bool]) -> Stability:
    """Return the curve of the greatest likelihood, which does not fall (Platt 1999, section 2.2, with his targets)."""
    outcomes = np.array(stood, bool)
    yes, no = np.count_nonzero(outcomes), np.count_nonzero(~outcomes)
    targets = np.where(outcomes, (yes + 1) / (yes + 2), 1 / (no + 2))
    level = logit(float(targets.mean()))
    inputs = np.stack([[logit(one) for one in posteriors], np.ones(len(outcomes))])
    curve = np.array([0.0, level])
    for _ in range(_ITERATIONS):
        expected = 1 / (1 + np.exp(-curve @ inputs))
        hessian = (inputs * (expected * (1 - expected))) @ inputs.T + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, inputs @ (targets - expected))
        curve += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _CONVERGED:
            break
    slope, offset = map(float, curve)
    return Stability(slope, offset) if slope > 0 else Stability(0.0, level)
