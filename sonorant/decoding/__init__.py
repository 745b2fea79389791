"""Searches that turn a model's log-probabilities into transcripts."""

from sonorant.decoding.ctc_beam import BadLogProbs, CtcBeamSearch
from sonorant.decoding.greedy import best_path
from sonorant.decoding.hypothesis import Hypothesis, Word

__all__ = ["BadLogProbs", "CtcBeamSearch", "Hypothesis", "Word", "best_path"]
