"""The signature `transcribe`: waveforms to texts, for a process that has TensorFlow and nothing else."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sonorant.audio.comfort_noise import after_speech, before_speech
from sonorant.decoding.ctc_beam import BLANK_ONLY, UNIT_FLOOR
from sonorant.export.transcribe.beam_search import TensorBeamSearch
from sonorant.export.transcribe.front_end import TensorFrontEnd
from sonorant.export.transcribe.posteriors import stream_posteriors, whole_posteriors
from sonorant.export.transcribe.spelling import TensorSpelling
from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe import Recipe
from sonorant.tensorflow import graph_function, tf
from sonorant.text.units import Units

__all__ = ["TRANSCRIBE", "transcribe_function"]

TRANSCRIBE = "transcribe"

_Recordings: TypeAlias = tuple[tf.Tensor, tf.Tensor]  # audio Float32[R, samples], of which lengths Int32[R] count


def transcribe_function(recipe: Recipe, rate_hz: int, units: Units, functions: Mapping[str, Any]) -> Any:
    """Return the function: `audio` Float32[recordings, samples] and `lengths` Int32[recordings] to texts.

    Of each recording, at the model's rate, `lengths` samples count. Outputs: `text` String[recordings], and
    `confidence` Float32[recordings], its posterior among the hypotheses of the beam; "" and 1 for a recording that is
    without samples. A recording is one utterance, and all of it is searched, as with `endpointing: null`: no voice
    activity, no ends of utterances. Raises InvalidArgumentError for lengths out of range, and
    samples that are not finite. No recording's result depends on the others', to the last bit.

    functions: those of the export that recognize, by the names of signatures (`sonorant.export.signatures`).
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

    def recognize(group: _Recordings) -> tuple[tf.Tensor, tf.Tensor]:
        audio, lengths = group
        vectors, counts = front_end(audio[:, : tf.reduce_max(lengths)], lengths)
        return spelling.best(search(*posteriors.of(vectors, counts)))

    def transcribe(audio: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        text, confidence = _by_group(recognize, posteriors.rows, _within_quiet(*_checked(audio, lengths), rate_hz))
        return {"text": text, "confidence": confidence}

    audio = tf.TensorSpec([None, None], tf.float32, "audio")
    return graph_function(transcribe, input_signature=[audio, tf.TensorSpec([None], tf.int32, "lengths")])


def _checked(audio: tf.Tensor, lengths: tf.Tensor) -> _Recordings:
    """Return the recordings with zeros for samples that do not count."""
    recordings, samples = tf.unstack(tf.shape(audio))
    tf.debugging.assert_equal(tf.shape(lengths)[0], recordings, "lengths: expected one for each recording of audio")
    tf.debugging.assert_non_negative(lengths, "lengths: expected at least 0")
    tf.debugging.assert_less_equal(lengths, samples, "lengths: expected at most the samples of audio")
    audio = tf.where(tf.range(samples) < lengths[:, None], audio, 0)
    tf.debugging.Assert(tf.reduce_all(tf.math.is_finite(audio)), ["audio: expected finite samples"])
    return audio, lengths


def _within_quiet(audio: tf.Tensor, lengths: tf.Tensor, rate_hz: int) -> _Recordings:
    """Return the recordings with comfort noise before and after them; those without samples stay so."""
    before, after = (quiet(0, rate_hz) for quiet in (before_speech, after_speech))
    place = tf.range(tf.shape(audio)[1] + len(after)) - lengths[:, None]  # counted from a recording's end
    noise = tf.gather(after, tf.clip_by_value(place, 0, len(after) - 1))
    audio = tf.where(place < 0, tf.pad(audio, [[0, 0], [0, len(after)]]), noise)
    audio = tf.concat([tf.tile(before[None], [tf.shape(audio)[0], 1]), audio], axis=1)
    return audio, tf.where(lengths > 0, lengths + len(before) + len(after), 0)


def _by_group(
    recognize: Callable[[_Recordings], tuple[tf.Tensor, tf.Tensor]], rows: int, recordings: _Recordings
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return texts and confidences of recordings, computed for groups of so many rows; the last one is filled up."""
    audio, lengths = recordings
    count = tf.shape(lengths)[0]
    groups = (count + rows - 1) // rows
    empty = groups * rows - count
    audio = tf.reshape(tf.pad(audio, [[0, empty], [0, 0]]), [groups, rows, tf.shape(audio)[1]])
    lengths = tf.reshape(tf.pad(lengths, [[0, empty]]), [groups, rows])
    found = tf.map_fn(
        recognize,
        (audio, lengths),
        parallel_iterations=1,
        fn_output_signature=(tf.TensorSpec([rows], tf.string), tf.TensorSpec([rows], tf.float32)),
    )
    text, confidence = (tf.reshape(tensor, [-1])[:count] for tensor in found)
    return text, confidence
