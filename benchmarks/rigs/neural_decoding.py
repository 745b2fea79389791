"""The decoding task with an LSTM language model: its cost alone, as its weights are the first, untrained ones."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rigs.spoken_text import Utterance
from benchmarks.row import Row
from sonorant.decoding import NeuralFusion, Scorer, search_all
from sonorant.decoding.section import DecodingRecipe
from sonorant.models.language_model_functions import language_model_functions
from sonorant.models.lstm_lm import LstmLm
from sonorant.models.section import LstmLmRecipe
from sonorant.models.tensor_language_model import TensorLanguageModel
from sonorant.tensorflow import of_arrays, tf
from sonorant.text.units import Units

__all__ = ["neural_rows"]

_MODEL = LstmLmRecipe(family="lstm_lm", layers=1, cells=256, embedding=64)  # that of recipes/grammar-lm.yaml
_FRAME_S = 0.04


class _Untrained(TensorLanguageModel):
    """Counts the prefixes that it is asked about."""

    def __init__(self, units: Units) -> None:
        functions = language_model_functions(LstmLm(_MODEL, 0, units.size))
        following = functions["lm_next"].get_concrete_function()

        def advance(before: Any, parents: Any, **state: Any) -> Any:
            given = map(tf.convert_to_tensor, (before, parents, *state.values()))
            return following(*given)  # by name it is slow, unlike that of an export

        super().__init__({"lm_begin": of_arrays(functions["lm_begin"]), "lm_next": advance})
        self.units = units
        self.asked = 0

    def extend(self, before: Sequence[int], states: Sequence[Any]) -> tuple[NDArray[np.float32], list[Any]]:
        """See `SequenceModel`."""
        self.asked += len(before)
        return super().extend(before, states)


def neural_rows(units: Units, utterances: Sequence[Utterance], beam: int) -> Iterator[Row]:
    """Yield rates of utterances one by one and side by side, and how many prefixes of each the model is asked about."""
    model = _Untrained(units)
    scorer = Scorer(units, neural=NeuralFusion(model, units, 0.5, 1.5))
    search = ("ctc", units, _FRAME_S, DecodingRecipe(beam=beam), None, scorer)
    every = [utterance.log_probs for utterance in utterances]
    search_all(*search, every[:1])  # the first call is slow
    for name, batches in (("one by one", [[one] for one in every]), ("side by side", [every])):
        model.asked, start = 0, time.process_time()
        for batch in batches:
            search_all(*search, batch)
        seconds = time.process_time() - start
        case = f"1,000 units, beam {beam}, LSTM"
        yield Row("ctc search", f"{case}, {name}", len(every) / seconds, "utterances/core-s")
    yield Row("language model", case, model.asked / len(every), "prefixes/utterance")
