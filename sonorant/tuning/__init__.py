"""Tuning of a search's weights on a set that the model was not trained on.

A model's outputs for the set are computed once, and kept on disk (`Outputs`). A *trial* is a search through all of them
with certain *weights*, keys of the recipe's `decoding`; its value is the number of its errors, of words or of
characters (`TrialRunner`). `minimise` proposes trials: a Latin hypercube over the ranges, then direct search. A
`TrialLog` keeps each trial in a file, so that the same tuning goes on where it was interrupted; `tune` joins them.
Trials depend on nothing but weights and outputs, and proposals on nothing but results and a seed: neither on the number
of processes nor on the order of completion.
"""

from sonorant.tuning.direct_search import minimise
from sonorant.tuning.outputs import Outputs, Spoken, read_outputs, write_outputs
from sonorant.tuning.trial import Subject, TrialRunner, outputs_origin
from sonorant.tuning.trial_log import TrialLog
from sonorant.tuning.tuning import Tuned, tune
from sonorant.tuning.weights import BadTuning, Range, ranges_of, read_range, tunable, with_weights

__all__ = [
    "BadTuning",
    "Outputs",
    "Range",
    "Spoken",
    "Subject",
    "TrialLog",
    "TrialRunner",
    "Tuned",
    "minimise",
    "outputs_origin",
    "ranges_of",
    "read_outputs",
    "read_range",
    "tunable",
    "tune",
    "with_weights",
    "write_outputs",
]
