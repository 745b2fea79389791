"""The functions of a monotonic model's decoder, which an export saves beside those of its encoder."""

from typing import Any

from sonorant.models.decoder_functions import frame_functions, numbered
from sonorant.models.label_synchronous import Monotonic
from sonorant.tensorflow import graph_function, tf

__all__ = ["monotonic_functions"]


def monotonic_functions(model: Monotonic) -> dict[str, Any]:
    """Return `monotonic_begin`, `monotonic_seek` and `monotonic_look`, of any number of hypotheses.

    Those of `frame_functions` are beside them.

    `monotonic_begin` returns `window`, and the state of the first hypothesis as `state_0`, .... `monotonic_seek` takes
    these and the labels `before`, Int32[N], and returns the states after. `monotonic_look` takes states and `frames`
    Float32[at most window, size], and returns `attends` Bool[N], `log_probs` Float32[N, symbols] and the states after.
    """

    def begin() -> dict[str, tf.Tensor]:
        return numbered("state", model.begin_seeking()) | {"window": tf.constant(model.window)}

    def seek(before: tf.Tensor, *states: tf.Tensor) -> dict[str, tf.Tensor]:
        return numbered("state", model.seek(before, list(states)))

    def look(frames: tf.Tensor, *states: tf.Tensor) -> dict[str, tf.Tensor]:
        attends, log_probs, after = model.look(frames, list(states))
        return {"attends": attends, "log_probs": log_probs} | numbered("state", after)

    specs = [
        tf.TensorSpec([None, *state.shape[1:]], state.dtype, f"state_{i}")
        for i, state in enumerate(model.begin_seeking())
    ]
    before = tf.TensorSpec([None], tf.int32, "before")
    frames = tf.TensorSpec([None, model.encoded_size], tf.float32, "frames")
    return {
        "monotonic_begin": graph_function(begin, input_signature=[]),
        "monotonic_seek": graph_function(seek, input_signature=[before, *specs]),
        "monotonic_look": graph_function(look, input_signature=[frames, *specs]),
        **frame_functions(model),
    }
