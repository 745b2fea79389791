"""The searches' inner loops, compiled from `kernels.cpp` and the headers beside it.

Units are numbers in the order of `Scorer`'s; the blank comes after the last.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sonorant.lm.ngrams import NgramModel

class Scorer:
    """Scores beside the acoustic model's; immutable, so threads and searches may share it."""

    @overload
    def __init__(
        self,
        units: Sequence[tuple[str, bool]],
        model: NgramModel | None,
        alpha: float,
        beta: float,
        unknown: float,
        words: Sequence[int],
    ) -> None:
        """units: text without the space before it, and whether a word starts with it.

        model: None: no language model. alpha, beta, unknown: as of `sonorant.decoding.NgramFusion`. words: the
        language model's word for each unit; empty: a word consists of several units.
        """

    @overload
    def __init__(self, units: Sequence[tuple[str, bool]], alpha: float, beta: float) -> None:
        """Score with a neural language model outside; weights: as of `sonorant.decoding.NeuralFusion`."""

    @overload
    def __init__(self, base: Scorer, phrases: Sequence[tuple[str, float]]) -> None:
        """Units and language model of `base`. phrases: words, one space apart, and boost."""

class LabelState:
    """Language model and phrases after each open hypothesis of a batch; never changed."""

class LabelScorer:
    """A `sonorant.decoding.SequenceModel`, whose scores are weighted: those of language model and phrases together.

    Log-probabilities of a neural language model are not among them; the scores of its words are.
    """

    def __init__(self, scorer: Scorer) -> None:
        """Raise ValueError for a scorer with neither."""

    def begin(self, batch: int) -> LabelState: ...
    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: LabelState
    ) -> tuple[NDArray[np.float64], LabelState]:
        """Return natural logarithms [B, K, units + 1], the end last, and the state; raises ValueError, IndexError."""

    def first_state(self) -> LabelState: ...
    def extend(
        self, before: Sequence[int], states: Sequence[LabelState]
    ) -> tuple[NDArray[np.float64], list[LabelState]]:
        """Return the same of sequences, [N, units + 1], and the state of each; raises ValueError, IndexError."""

    @property
    def most_gain(self) -> float:
        """Upper bound of what each further label adds, and `most_ahead` once beside."""

    @property
    def most_ahead(self) -> float: ...

class CtcPrefixState:
    """CTC prefix probabilities of each open hypothesis of a batch; never changed."""

def begin_prefixes(log_probs: Sequence[NDArray[np.float32]]) -> CtcPrefixState:
    """Return the state before the first label of utterances [frames, units + 1], contiguous, blank last.

    Raises ValueError for NaN, and for different numbers of units.
    """

def next_prefixes(
    before: NDArray[np.int32], parents: NDArray[np.int32], state: CtcPrefixState
) -> tuple[NDArray[np.float64], CtcPrefixState]:
    """Return log psi(h, y) - log psi(h), [B, K, units + 1], the end last, and the state after.

    psi: probability of all alignments whose spelling begins with the labels, with the end of those that spell exactly
    them. Raises ValueError, IndexError.
    """

def force_align(log_probs: NDArray[np.floating[Any]], labels: Sequence[int], blank: int) -> NDArray[np.int64]:
    """See `sonorant.objectives.forced_alignment`; computed in Float64, without the GIL."""

class LabelScoring:
    """What adds to a decoder's log-probabilities in a search by label; immutable."""

    def __init__(
        self,
        gains: Sequence[float],
        model_weight: float,
        most_gain: float,
        most_ahead: float,
        coverage_weight: float,
        coverage_threshold: float,
        end_threshold: float | None,
    ) -> None:
        """gains: of each symbol wherever it stands, the end last. model_weight: of the scores beside the decoder's.

        most_gain, most_ahead: as those of `Fusion`. The others: as those of `sonorant.decoding.Scoring`.
        """

class LabelHypotheses:
    """Hypotheses of the search by label of a batch, open and ended: of B utterances, K open ones each. For one thread.

    frames: of each utterance, at least 1; beam: at least 1.
    """

    def __init__(self, frames: Sequence[int], beam: int, scoring: LabelScoring) -> None: ...
    @property
    def before(self) -> NDArray[np.int32]:
        """The last label of each, [B, K], the end before the first; arbitrary where an utterance has fewer."""

    @property
    def parents(self) -> NDArray[np.int32]:
        """The hypothesis of the step before that each one extends, [B, K]."""

    def advance(
        self, log_probs: NDArray[np.float64], attention: NDArray[np.float32], beside: NDArray[np.float64] | None
    ) -> bool:
        """End hypotheses, and extend them by a label; return whether any is open.

        log_probs: of the decoder, [B, K, symbols]; beside: scores of another model; attention: [B, K, frames]. Without
        the GIL. Raises ValueError for other shapes, and for NaN where a hypothesis is open, and has changed nothing.
        """

    def finish(self) -> list[list[tuple[tuple[int, ...], tuple[int, ...], float]]]:
        """Return labels, frame of each label's highest attention, and score of those of each utterance, best first."""

class MonotonicHypotheses:
    """Hypotheses of the search by monotonic attention of one utterance, waiting and ended.

    At first one waits, without labels. A listed one: labels, their frames, and score. symbols: at least 1, the end
    last; beam: at least 1; end_threshold, ctc_weight: as those of `sonorant.decoding.Scoring`.
    """

    def __init__(self, symbols: int, beam: int, end_threshold: float | None, ctc_weight: float = 0.0) -> None: ...
    def hear(self, log_probs: NDArray[np.float32]) -> None:
        """Let CTC hear the next frame, before it is offered, by log-probabilities [units + 1], blank last.

        Without a weight of CTC nothing is heard. Raises ValueError for another shape and for NaN, and has changed
        nothing.
        """

    def offer(self) -> int:
        """Offer the next frame to all that wait; return how many."""

    def attend(
        self, attends: NDArray[np.bool_], log_probs: NDArray[np.floating[Any]], gains: NDArray[np.float64], frame: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """End and extend those that attend to the frame, [offered], by rows [offered, symbols]; the others wait.

        gains: what is added to log_probs. Returns rows of those that wait, among those that have waited and after them
        those that were offered the frame; rows of those that are extended among the latter, and by which labels: these
        are offered the frame next. Raises ValueError for other shapes, and for NaN where one attends, and has changed
        nothing.
        """

    def end(self, log_probs: NDArray[np.floating[Any]], gains: NDArray[np.float64], frame: int) -> None:
        """End all that are offered the frame; raises ValueError as `attend` does."""

    def rest(self) -> None:
        """Let those that are still offered the frame wait for the next one."""

    def finish(self) -> None:
        """End the utterance: the one that came nearest to its end has ended if none has, and none waits if one has.

        What CTC cannot spell is none, unless it can spell nothing that has ended.
        """

    @property
    def labels(self) -> int:
        """Labels in memory."""

    @property
    def frames(self) -> int:
        """Frames in memory, by which CTC extends hypotheses."""

    def waiting(self) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]: ...
    def ended(self) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
        """Return them best first."""

class CtcSearch:
    """CTC prefix beam search of one utterance; `sonorant.decoding.CtcBeamSearch` documents its parameters."""

    def __init__(self, scorer: Scorer, beam: int, candidates: int, unit_floor: float, blank_only: float) -> None: ...
    def push(self, log_probs: NDArray[np.float32] | NDArray[np.float64], first: int = 0) -> int:
        """Search the next contiguous [frames, units + 1] from row `first` on, without the GIL.

        Returns the row at which it stops until `supply`, or their number. Raises ValueError for invalid ones.
        """

    def due(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return what the stopped search waits for: released slots; then slots, parents' slots and last labels.

        A parent of -1: the prefix is empty, and has no last label. To be called once a stop.
        """

    def supply(self, log_probs: NDArray[np.float32]) -> None:
        """Take the neural language model's rows of what is due, contiguous [due, units + 1], the end last.

        Raises ValueError for invalid ones.
        """

    @property
    def frames(self) -> int:
        """Frames searched so far."""

    @property
    def prefixes(self) -> int:
        """Prefixes in memory."""

    def finish(self) -> bool:
        """End the utterance; False: it stops until `supply`, and is called again then. More calls change nothing."""

    def units(self) -> list[int]:
        """Return the units of the most probable text."""

    @property
    def text_hash(self) -> int:
        """Another number where the most probable text is another one; at a cost that does not grow with the text."""

    def best(
        self, n: int, frame_s: float
    ) -> list[tuple[tuple[int, ...], list[tuple[int, int, float, float, float]], float]]:
        """Return units, words and probability of at most `n` texts, most probable first.

        A word: first unit, end of its units, start and end in seconds, confidence.
        """

    def texts(self, n: int) -> list[tuple[tuple[int, ...], float]]:
        """Return the same without the words, which cost most of it."""
