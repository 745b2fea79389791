"""Searches: from a model's outputs to transcripts.

`search.py` has the contract: a `Search` is pushed the outputs of one utterance and gives `Hypothesis` objects, best
first, each with its `Word`s, their times and confidences. `open_search` makes a model's. Each search is a file
(`ctc_beam.py`, `greedy.py`, `label_beam.py`, `monotonic_search.py`). What all searches of a model share, language
model and phrases, is its `Scorer`; the states of a neural one are in `prefix_states.py` for CTC. Hypotheses are
compiled: `kernels.cpp` and the headers beside it.
"""

from sonorant.decoding.ctc_beam import BadLogProbs, CtcBeamSearch
from sonorant.decoding.ctc_prefix_model import CtcPrefixModel
from sonorant.decoding.greedy import best_path
from sonorant.decoding.hypothesis import Hypothesis, Word
from sonorant.decoding.label_beam import LabelBeam, Scoring
from sonorant.decoding.label_decoder import Fusion, LabelDecoder, LabelModel, SequenceModel
from sonorant.decoding.mean_decoder import MeanDecoder, log_mean
from sonorant.decoding.mean_monotonic_decoder import MeanMonotonicDecoder
from sonorant.decoding.monotonic_decoder import Heard, MonotonicDecoder
from sonorant.decoding.monotonic_search import MonotonicSearch
from sonorant.decoding.neural_fusion import NeuralFusion, NeuralModel
from sonorant.decoding.scorer import NgramFusion, Prior, Scorer, WrongVocabulary, load_scorer
from sonorant.decoding.search import Search, open_search, search_all

__all__ = [
    "BadLogProbs",
    "CtcBeamSearch",
    "CtcPrefixModel",
    "Fusion",
    "Heard",
    "Hypothesis",
    "LabelBeam",
    "LabelDecoder",
    "LabelModel",
    "MeanDecoder",
    "MeanMonotonicDecoder",
    "MonotonicDecoder",
    "MonotonicSearch",
    "NeuralFusion",
    "NeuralModel",
    "NgramFusion",
    "Prior",
    "Scorer",
    "Scoring",
    "Search",
    "SequenceModel",
    "Word",
    "WrongVocabulary",
    "best_path",
    "load_scorer",
    "log_mean",
    "open_search",
    "search_all",
]
