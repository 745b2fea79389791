"""Searches: from a model's outputs to transcripts.

`search.py` has the contract: a `Search` is pushed the outputs of one utterance and gives `Hypothesis` objects, best
first, each with its `Word`s, their times and confidences. `open_search` makes a model's. Each
search is a file (`ctc_beam.py`, `greedy.py`).
"""

from sonorant.decoding.ctc_beam import BadLogProbs, CtcBeamSearch
from sonorant.decoding.greedy import best_path
from sonorant.decoding.hypothesis import Hypothesis, Word
from sonorant.decoding.search import GREEDY, Search, open_search

__all__ = ["GREEDY", "BadLogProbs", "CtcBeamSearch", "Hypothesis", "Search", "Word", "best_path", "open_search"]
