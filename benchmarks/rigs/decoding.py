"""One decoding task by our search and by its peers, and the score of the texts."""

import json
import math
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigs import decoder_peers
from benchmarks.rigs.spoken_text import Language, Utterance
from sonorant.decoding import CtcBeamSearch, NgramFusion, Scorer
from sonorant.errors import Unavailable
from sonorant.lm.model import NgramModel
from sonorant.lm.training import train

__all__ = ["Ours", "Outcome", "Peers", "Task"]

_FRAME_S = 0.04
_ENOUGH_S = 0.2  # least CPU time of a measurement


@dataclass(frozen=True, slots=True)
class Task:
    """beam, candidates, alpha, beta, unknown: as in the recipe's section `decoding`. lm: with the language model."""

    beam: int
    lm: bool
    candidates: int = 12
    alpha: float = 0.5
    beta: float = 1.5
    unknown: float = -20.0

    @property
    def case(self) -> str:
        """The row's name of it."""
        return f"1,000 units, beam {self.beam}{', 3-gram' if self.lm else ''}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Utterances decoded per second of CPU time, and the texts."""

    rate: float
    texts: list[str]


class Ours:
    """Our search; writes the peers' inputs to a folder: units, words, language model, log-probabilities."""

    def __init__(self, folder: Path, language: Language, utterances: Sequence[Utterance], learnt: int) -> None:
        self._language = language
        self._utterances = utterances
        (folder / "text.txt").write_text("\n".join(language.sentences(learnt)), encoding="utf-8")
        train([folder / "text.txt"], folder / "lm.arpa", order=3)
        (folder / "units.json").write_text(json.dumps(language.units.symbols), encoding="utf-8")
        np.savez(folder / "utterances.npz", **{f"{i:06}": u.log_probs for i, u in enumerate(utterances)})
        self._model = NgramModel.read(folder / "lm.arpa")
        known = [word for word in language.words if self._model.index(word)]
        (folder / "words.json").write_text(json.dumps(known), encoding="utf-8")
        self._scorers: dict[Task, Scorer] = {}

    def decode(self, task: Task) -> Outcome:
        """Decode all utterances, repeatedly for at least 0.2 s."""
        scorer = self._scorer(task)
        rounds, start = 0, time.process_time()
        while (seconds := time.process_time() - start) < _ENOUGH_S or not rounds:
            texts = [self._text(utterance, task, scorer) for utterance in self._utterances]
            rounds += 1
        return Outcome(rounds * len(self._utterances) / seconds, texts)

    def score(self, texts: Sequence[str], task: Task) -> float:
        """Return the mean of log P(c|x) + alpha log P_lm(c) + beta word_count(c) over the utterances."""
        scored = zip(self._utterances, texts, strict=True)
        return float(np.mean([self._acoustic(u, text) + self._fused(text, task) for u, text in scored]))

    def _scorer(self, task: Task) -> Scorer:
        if task not in self._scorers:
            fusion = NgramFusion(self._model, task.alpha, task.beta, task.unknown) if task.lm else None
            self._scorers[task] = Scorer(self._language.units, fusion)
        return self._scorers[task]

    def _text(self, utterance: Utterance, task: Task, scorer: Scorer) -> str:
        units = self._language.units
        search = CtcBeamSearch(units, _FRAME_S, task.beam, task.candidates, scorer=scorer)
        search.push(utterance.log_probs)
        search.finish()
        return search.text()

    def _acoustic(self, utterance: Utterance, text: str) -> float:
        spellings = self._language.spellings(text)
        return float(np.logaddexp.reduce([log_likelihood(utterance.log_probs, pieces) for pieces in spellings]))

    def _fused(self, text: str, task: Task) -> float:
        if not task.lm:
            return 0.0
        words, state, total = text.split(), self._model.begin(), 0.0
        for word in [*map(self._model.index, words), self._model.end_word]:
            log10, state = self._model.score(state, word)
            total += log10 * math.log(10) + (task.unknown if not word else 0.0)
        return task.alpha * total + task.beta * len(words)


class Peers:
    """The program of the peers, in a Python of their own."""

    def __init__(self, python: str, folder: Path) -> None:
        self._python = python
        command = [python, decoder_peers.__file__, str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._process.communicate()

    def decode(self, peer: str, task: Task) -> Outcome | None:
        """Return a peer's texts of the utterances, None if it is not installed there."""
        answer = self._ask({"peer": peer} | asdict(task))
        if "missing" in answer:
            return None
        return Outcome(len(answer["texts"]) / answer["seconds"], answer["texts"])

    def _ask(self, task: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise Unavailable(f"{self._python}: the peers' program ended by itself on {task}; its traceback is above")
        return json.loads(answer)


def log_likelihood(log_probs: NDArray[np.float32], units: Sequence[int]) -> float:
    """Return log P(units | x), the sum over all alignments (Graves et al. 2006, section 4.1)."""
    blank = log_probs.shape[1] - 1
    extended = np.array([blank, *(symbol for unit in units for symbol in (unit, blank))])
    skips = np.zeros(len(extended), bool)
    skips[2:] = (extended[2:] != blank) & (extended[2:] != extended[:-2])
    forward = np.full(len(extended), -np.inf)
    forward[0] = 0.0  # before the first frame, on the first blank
    for t, row in enumerate(log_probs.astype(np.float64)[:, extended]):
        once = np.concatenate(([-np.inf], forward[:-1]))
        twice = np.where(skips, np.concatenate(([-np.inf, -np.inf], forward))[: len(forward)], -np.inf)
        if t == 0:
            once[2:] = -np.inf
        forward = np.logaddexp(np.logaddexp(forward, once), twice) + row
    return float(np.logaddexp.reduce(forward[-2:]))
