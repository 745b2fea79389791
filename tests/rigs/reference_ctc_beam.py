"""CTC prefix beam search in Python: the reference of the compiled one, without language model and phrases.

The recursion is that of Hannun et al. 2014, "First-Pass Large Vocabulary Continuous Speech Recognition using
Bi-Directional Recurrent DNNs", algorithm 1, without a language model: the probability of a prefix is the sum over all
its alignments, kept apart by whether they end in blank or in the prefix's last unit. Beside the sums, each prefix
keeps its single most probable alignment, which gives the times of its units.

Probabilities are linear and scaled to sum to one after every frame, which avoids a log-add for each transition; the
scores of single alignments are logarithms, because their share of the sum shrinks with the length of the audio.
"""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding import BadLogProbs
from sonorant.decoding.hypothesis import Hypothesis, UnitPath, n_best
from sonorant.text.units import Units

__all__ = ["CtcBeamSearch"]

# Units less probable than this do not extend any prefix; a true word may hide behind 1e-4 in noise, never behind 1e-6.
_UNIT_FLOOR = 1e-6
# Above this probability of blank no prefix is extended: a unit that is below 0.001 here peaks in another frame.
_BLANK_ONLY = 0.999
# Frames between prunings of the prefix tree.
_SWEEP_FRAMES = 512

# Emissions of an alignment, last first: (emissions before, first frame, last frame); None before the first unit.
_Spans: TypeAlias = "tuple[_Spans, int, int] | None"


class _Prefix:
    """A node of the tree of unit sequences, so that equal sequences are the same object."""

    __slots__ = ("children", "parent", "unit")

    def __init__(self, parent: "_Prefix | None", unit: int) -> None:
        self.parent = parent
        self.unit = unit
        self.children: dict[int, _Prefix] = {}


class _Entry:
    """A prefix in the beam.

    blank, unit: probability of all alignments that end in blank, or in the prefix's last unit.
    blank_score, unit_score: log-probability of the best single one of them; blank_spans, unit_spans: its emissions.
    """

    __slots__ = ("blank", "blank_score", "blank_spans", "prefix", "unit", "unit_score", "unit_spans")

    def __init__(self, prefix: _Prefix) -> None:
        self.prefix = prefix
        self.blank = self.unit = 0.0
        self.blank_score = self.unit_score = -math.inf
        self.blank_spans: _Spans = None
        self.unit_spans: _Spans = None

    def best_alignment(self) -> tuple[float, _Spans]:
        if self.blank_score >= self.unit_score:
            return self.blank_score, self.blank_spans
        return self.unit_score, self.unit_spans

    def after(self, blank: float, log_blank: float, unit: float, log_unit: float, frame: int) -> "_Entry":
        """Return the same prefix one frame later; `unit` is the probability of its last unit in that frame."""
        entry = _Entry(self.prefix)
        entry.blank = (self.blank + self.unit) * blank
        score, entry.blank_spans = self.best_alignment()
        entry.blank_score = score + log_blank
        entry.unit = self.unit * unit
        if self.unit_spans is not None:
            entry.unit_score = self.unit_score + log_unit
            entry.unit_spans = (self.unit_spans[0], self.unit_spans[1], frame)
        return entry

    def extended(self, unit: int, log_unit: float, frame: int) -> tuple[float, _Spans]:
        """Score and emissions of the best alignment that emits `unit` after this prefix, at `frame`."""
        if unit == self.prefix.unit:  # without a blank between them, two equal units are one
            return self.blank_score + log_unit, (self.blank_spans, frame, frame)
        score, spans = self.best_alignment()
        return score + log_unit, (spans, frame, frame)


class CtcBeamSearch:
    """Streaming search of one utterance; results do not depend on how the frames are cut into pushes.

    units: the model's; blank is `units.blank`, the last column.
    vector_seconds: time from frame to frame.
    beam: prefixes kept after each frame.
    unit_candidates: units per frame that may extend a prefix, most probable first.
    unit_floor, blank_only: see the constants of this module; 0.0 and 1.0 make the search exact but for the beam.
    """

    def __init__(
        self,
        units: Units,
        vector_seconds: float,
        beam: int = 8,
        unit_candidates: int = 12,
        *,
        unit_floor: float = _UNIT_FLOOR,
        blank_only: float = _BLANK_ONLY,
    ) -> None:
        self._units = units
        self._vector_seconds = vector_seconds
        self._beam = beam
        self._unit_candidates = unit_candidates
        self._unit_floor = unit_floor
        self._blank_only = blank_only
        self._frames = 0
        self._finished = False
        root = _Entry(_Prefix(None, -1))
        root.blank, root.blank_score = 1.0, 0.0
        self._entries = [root]

    @property
    def frames(self) -> int:
        """Frames searched so far."""
        return self._frames

    def push(self, log_probs: NDArray[np.floating[Any]]) -> None:
        """Search the next `log_probs` [frames, units + 1]; raises BadLogProbs."""
        if self._finished:
            raise BadLogProbs("frames after finish(): a search is for one utterance; make a new one")
        if log_probs.ndim != 2 or log_probs.shape[1] != self._units.size + 1:
            raise BadLogProbs(
                f"log_probs of shape {log_probs.shape}: expected [frames, {self._units.size + 1}], blank last"
            )
        if np.isnan(log_probs).any():
            raise BadLogProbs(
                f"log_probs of frames {self._frames}..{self._frames + len(log_probs) - 1} have NaN values"
            )
        for row in np.ascontiguousarray(log_probs, dtype=np.float64):
            self._advance(row)

    def finish(self) -> None:
        """End the utterance. CTC needs no closing step: `hypotheses` are final."""
        self._finished = True

    def hypotheses(self, n: int = 1) -> list[Hypothesis]:
        """Return the `n` most probable transcripts so far, best first; never empty."""
        return n_best([_path(entry) for entry in self._entries], self._units, self._vector_seconds, n)

    def text(self) -> str:
        """Return the most probable text so far."""
        return self.hypotheses(1)[0].text

    def _advance(self, row: NDArray[np.float64]) -> None:
        # One row at a time also because the last bit of a vectorised exp may depend on the array's length.
        probabilities = np.exp(row)
        if float(probabilities[-1]) > self._blank_only:
            self._entries = self._stayed(probabilities.tolist(), row.tolist())
        else:
            self._entries = self._contest(probabilities, row.tolist())
        self._rescale()
        self._frames += 1
        if self._frames % _SWEEP_FRAMES == 0:
            self._sweep()

    def _stayed(self, probabilities: list[float], row: list[float]) -> list[_Entry]:
        blank, log_blank = probabilities[-1], row[-1]
        # The empty prefix has no last unit, its -1 reads the blank; harmless, as no alignment of it ends in a unit.
        return [
            entry.after(blank, log_blank, probabilities[entry.prefix.unit], row[entry.prefix.unit], self._frames)
            for entry in self._entries
        ]

    def _contest(self, probabilities: NDArray[np.float64], row: list[float]) -> list[_Entry]:
        """Prefixes as they are and with one more unit; the most probable `beam` of both, ties to the older."""
        stayed = self._stayed(probabilities.tolist(), row)
        beside = {entry.prefix: entry for entry in stayed}
        # What stays only gains below, so an extension that is no better than the last of a full beam cannot get in.
        full = len(stayed) >= self._beam
        floor = min(entry.blank + entry.unit for entry in stayed) if full else 0.0
        candidates = self._candidates(probabilities)
        extensions: list[tuple[float, _Entry, int]] = []
        for entry in self._entries:
            prefix, whole = entry.prefix, entry.blank + entry.unit
            for unit, probability in candidates:
                mass = (entry.blank if unit == prefix.unit else whole) * probability
                child = prefix.children.get(unit)
                if child is not None and child in beside:
                    _merge(beside[child], mass, entry.extended(unit, row[unit], self._frames))
                elif mass > floor:
                    extensions.append((mass, entry, unit))
        contenders = [(entry.blank + entry.unit, entry, -1) for entry in stayed] + extensions
        contenders.sort(key=lambda contender: -contender[0])
        return [
            entry if unit < 0 else self._extended(mass, entry, unit, row[unit])
            for mass, entry, unit in contenders[: self._beam]
            if mass > 0
        ]

    def _candidates(self, probabilities: NDArray[np.float64]) -> list[tuple[int, float]]:
        units = probabilities[:-1]
        if len(units) <= self._unit_candidates:
            return [(unit, p) for unit, p in enumerate(units.tolist()) if p > self._unit_floor]
        chosen = np.argpartition(units, -self._unit_candidates)[-self._unit_candidates :]
        return [
            (unit, p) for unit, p in zip(chosen.tolist(), units[chosen].tolist(), strict=True) if p > self._unit_floor
        ]

    def _extended(self, mass: float, entry: _Entry, unit: int, log_unit: float) -> _Entry:
        child = entry.prefix.children.get(unit)
        if child is None:
            child = entry.prefix.children[unit] = _Prefix(entry.prefix, unit)
        longer = _Entry(child)
        longer.unit = mass
        longer.unit_score, longer.unit_spans = entry.extended(unit, log_unit, self._frames)
        return longer

    def _rescale(self) -> None:
        total = math.fsum(entry.blank + entry.unit for entry in self._entries)
        if not 0 < total < math.inf:
            raise BadLogProbs(
                f"frame {self._frames}: its probabilities leave a total of {total} to the beam; expected (0, 1]"
            )
        for entry in self._entries:
            entry.blank /= total
            entry.unit /= total

    def _sweep(self) -> None:
        """Prune prefixes that no entry of the beam begins with; else memory would grow with the audio."""
        alive: set[_Prefix] = set()
        for entry in self._entries:
            prefix: _Prefix | None = entry.prefix
            while prefix is not None and prefix not in alive:
                alive.add(prefix)
                prefix = prefix.parent
        for prefix in alive:
            prefix.children = {unit: child for unit, child in prefix.children.items() if child in alive}


def _merge(entry: _Entry, mass: float, alignment: tuple[float, _Spans]) -> None:
    entry.unit += mass
    if alignment[0] > entry.unit_score:
        entry.unit_score, entry.unit_spans = alignment


def _units(prefix: _Prefix) -> tuple[int, ...]:
    units: list[int] = []
    while prefix.parent is not None:
        units.append(prefix.unit)
        prefix = prefix.parent
    return tuple(reversed(units))


def _path(entry: _Entry) -> UnitPath:
    spans: list[tuple[int, int]] = []
    _, emissions = entry.best_alignment()
    while emissions is not None:
        emissions, first, last = emissions
        spans.append((first, last))
    return UnitPath(_units(entry.prefix), tuple(reversed(spans)), entry.blank + entry.unit)
