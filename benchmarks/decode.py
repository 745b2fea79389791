"""CTC prefix beam search with and without a language model, beside pyctcdecode and flashlight-text.

Peers need an environment of their own: `SONORANT_PEERS` names a Python with pyctcdecode, kenlm and flashlight-text;
rows stand alone without those that are missing. All decode the same log-probabilities of a made-up language of 1,000
sub-words, on one core; CPU time counts. The score of a text is the common objective, log P(c|x) + alpha log P_lm(c) +
beta word_count(c), natural logarithms, with the sum over all alignments; higher is better. The neural model is
untrained, so only its cost is measured; the peers have none. So are the decoders of the searches by label.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.rigs.decoding import Ours, Outcome, Peers, Task
from benchmarks.rigs.label_decoding import label_rows, monotonic_rows
from benchmarks.rigs.neural_decoding import neural_rows
from benchmarks.rigs.spoken_text import Language, Utterance
from benchmarks.row import Progress, Row
from sonorant.text.scoring import score as word_errors

__all__ = ["rows"]

_PEERS = ("pyctcdecode", "flashlight-text")
_LEARNT, _UTTERANCES, _TURNS = 20_000, 40, 5


def rows(progress: Progress) -> Iterator[Row]:
    """Yield rate, score and word error rate of each case, beside each peer."""
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="sonorant-bench-")))
        progress(f"an n-gram model of {_LEARNT:,} sentences")
        language = Language()
        utterances = language.utterances(_UTTERANCES)
        ours = Ours(folder, language, utterances, _LEARNT)
        python = os.environ.get("SONORANT_PEERS", "")
        peers = exits.enter_context(Peers(python, folder)) if python else None
        for task in (Task(beam, lm) for lm in (False, True) for beam in (8, 64)):
            progress(task.case)
            found = [name for name in _PEERS if peers is not None and peers.decode(name, task) is not None]
            if peers is None or not found:
                outcome = max((ours.decode(task) for _ in range(_TURNS)), key=lambda outcome: outcome.rate)
                yield Row("ctc search", task.case, outcome.rate, "utterances/core-s")
                yield Row("score", task.case, ours.score(outcome.texts, task), "nats/utterance")
                yield Row("word error rate", task.case, _word_error_rate(utterances, outcome), "1")
                continue
            for name in found:
                yield from _beside(name, task, ours, peers, utterances)
    for beam in (8, 64):
        progress(f"a neural language model, beam {beam}")
        yield from neural_rows(language.units, utterances, beam)
    for beam in (8, 64):
        progress(f"search by label, beam {beam}")
        yield from label_rows(beam, _UTTERANCES)
        yield from monotonic_rows(beam, _UTTERANCES)


def _beside(name: str, task: Task, ours: Ours, peers: Peers, utterances: Sequence[Utterance]) -> Iterator[Row]:
    pairs = []
    for _ in range(_TURNS):
        mine, theirs = ours.decode(task), peers.decode(name, task)
        assert theirs is not None
        pairs.append((mine, theirs))
    best, peer = max(mine.rate for mine, _ in pairs), max(theirs.rate for _, theirs in pairs)
    ratio = median(mine.rate / theirs.rate for mine, theirs in pairs)
    yield Row("ctc search", task.case, best, "utterances/core-s", name, peer, ratio)
    mine, theirs = pairs[0]
    yield Row("score", task.case, ours.score(mine.texts, task), "nats/utterance", name, ours.score(theirs.texts, task))
    rates = [_word_error_rate(utterances, outcome) for outcome in (mine, theirs)]
    yield Row("word error rate", task.case, rates[0], "1", name, rates[1])


def _word_error_rate(utterances: Sequence[Utterance], outcome: Outcome) -> float:
    return word_errors(zip((utterance.text for utterance in utterances), outcome.texts, strict=True)).rate
