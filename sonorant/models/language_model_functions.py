"""The functions of a language model, in memory or saved with an export, for searches (`tensor_language_model`)."""

from typing import Any

from sonorant.models.decoder_functions import common_shape, numbered
from sonorant.models.language_model import LanguageModel
from sonorant.tensorflow import graph_function, tf

__all__ = ["language_model_functions"]

_State = dict[str, Any]


def language_model_functions(model: LanguageModel) -> dict[str, Any]:
    """Return `lm_begin` and `lm_next`, of any number of sentences and hypotheses.

    `lm_begin` takes the number of sentences, `batch`, and returns the state of one hypothesis of each, as `state_0`,
    .... `lm_next` takes that, the labels `before` and, of each hypothesis, the one in the state that it extends
    (`parents`), Int32[B, K] both, and returns `log_probs` Float32[B, K, symbols] and the state after.
    """

    def begin(batch: tf.Tensor) -> _State:
        return numbered("state", model.begin(batch, 1))

    def advance(before: tf.Tensor, parents: tf.Tensor, *state: tf.Tensor) -> _State:
        extended = [tf.gather(tensor, parents, batch_dims=1) for tensor in state]
        log_probs, after = model.next_label(before, extended)
        return {"log_probs": log_probs} | numbered("state", after)

    pairs = enumerate(zip(_state_after(model, 1), _state_after(model, 2), strict=True))
    specs = [tf.TensorSpec(common_shape(one, other), one.dtype, f"state_{i}") for i, (one, other) in pairs]
    labels = [tf.TensorSpec([None, None], tf.int32, name) for name in ("before", "parents")]
    return {
        "lm_begin": graph_function(begin, input_signature=[tf.TensorSpec([], tf.int32, "batch")]),
        "lm_next": graph_function(advance, input_signature=[*labels, *specs]),
    }


def _state_after(model: LanguageModel, size: int) -> list[tf.Tensor]:
    """Return the state of `size` sentences with `size` hypotheses after as many labels."""
    state = model.begin(size, size)
    for _ in range(size):
        _, state = model.next_label(tf.fill((size, size), model.end), state)
    return state
