"""The signature `transcribe`: waveforms to texts, for a process that has TensorFlow and nothing else."""

from collections.abc import Mapping
from typing import Any

from sonorant.decoding.ctc_beam import BLANK_ONLY, UNIT_FLOOR
from sonorant.export.transcribe.beam_search import TensorBeamSearch
from sonorant.export.transcribe.front_end import TensorFrontEnd
from sonorant.export.transcribe.posteriors import stream_posteriors, whole_posteriors
from sonorant.export.transcribe.spelling import TensorSpelling
from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe import Recipe
from sonorant.tensorflow import graph_function, tf
from sonorant.text.units import Units

__all__ = ["TRANSCRIBE", "obstacle", "transcribe_function"]

TRANSCRIBE = "transcribe"


def obstacle(search: str, recipe: Recipe, units: Units) -> str:
    """Return why an export cannot have the signature, by the name of what stands against it; "" if it can.

    search: name of the search that reads the model's outputs.
    """
    decoding = recipe.decoding
    if search != "ctc":
        return f"model.family: {recipe.model.family}: its search by label is not in the graph; CTC's is"
    for key in ("lm", "phrases", "jitter_ms"):
        if getattr(decoding, key):
            return f"decoding.{key}: not in the graph; export with it absent"
    odd = [symbol for symbol in units.symbols if any(letter.isspace() and letter != " " for letter in symbol)]
    return f"units.json: {odd[0]!r} has white space other than the space" if odd else ""


def transcribe_function(recipe: Recipe, rate_hz: int, units: Units, functions: Mapping[str, Any]) -> Any:
    """Return the function: `audio` Float32[recordings, samples] and `lengths` Int32[recordings] to texts.

    Recordings are at the model's rate; `lengths` of their samples count. Outputs: `text` String[recordings], and
    `confidence` Float32[recordings], its posterior among the hypotheses of the beam. A recording is one utterance, and
    all of it is searched, as with `decoding.endpointing: null`. Raises InvalidArgumentError, of which nothing
    """
    front_end = TensorFrontEnd(FeatureExtractor(recipe.features, rate_hz))
    decoding = recipe.decoding
    search = TensorBeamSearch(units.size, decoding.beam, decoding.unit_candidates, UNIT_FLOOR, BLANK_ONLY)
    spelling = TensorSpelling(units)
    framing = recipe.model.framing
    if "stream" in functions:
        posteriors = stream_posteriors(functions["start"], functions["stream"], framing)
    else:
        posteriors = whole_posteriors(functions["whole"], framing)
    rows = posteriors.rows

    def recognize(group: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        audio, lengths = group
        vectors, counts = front_end(audio[:, : tf.reduce_max(lengths)], lengths)
        return spelling.best(search(*posteriors.of(vectors, counts)))

    def transcribe(audio: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        recordings, samples = tf.unstack(tf.shape(audio))
        tf.debugging.assert_equal(tf.shape(lengths)[0], recordings, "lengths: expected one for each recording of audio")
        tf.debugging.assert_non_negative(lengths, "lengths: expected at least 0")
        tf.debugging.assert_less_equal(lengths, samples, "lengths: expected at most the samples of audio")
        counts = tf.range(samples) < lengths[:, None]
        audio = tf.where(counts, audio, 0)
        tf.debugging.assert_all_finite(audio, "audio: expected finite samples")
        groups = (recordings + rows - 1) // rows
        padded = groups * rows - recordings
        audio = tf.reshape(tf.pad(audio, [[0, padded], [0, 0]]), [groups, rows, samples])
        lengths = tf.reshape(tf.pad(lengths, [[0, padded]]), [groups, rows])
        found = tf.map_fn(
            recognize,
            (audio, lengths),
            parallel_iterations=1,
            fn_output_signature=(tf.TensorSpec([rows], tf.string), tf.TensorSpec([rows], tf.float32)),
        )
        text, confidence = (tf.reshape(tensor, [-1])[:recordings] for tensor in found)
        return {"text": text, "confidence": confidence}

    audio = tf.TensorSpec([None, None], tf.float32, "audio")
    return graph_function(transcribe, input_signature=[audio, tf.TensorSpec([None], tf.int32, "lengths")])
