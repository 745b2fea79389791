"""Texts of units in TensorFlow's operations: what `Units.text` writes, and the most probable one of a beam."""

from sonorant.export.transcribe.beam_search import Beam
from sonorant.tensorflow import tf
from sonorant.text.hangul import LEADING, SYLLABLES, TRAILING, VOWELS
from sonorant.text.pieces import WORD_START
from sonorant.text.section import SUBWORDS
from sonorant.text.units import Units

__all__ = ["TensorSpelling"]

_SPACE = " "
_NO_CHARACTER = -1


class TensorSpelling:
    """Texts of a model's units."""

    def __init__(self, units: Units) -> None:
        """units: no symbol has white space but the space, see `obstacle`."""
        self._units = units
        symbols = units.symbols
        if units.kind in SUBWORDS:
            symbols = tuple(symbol.replace(WORD_START, _SPACE) for symbol in symbols)
        self._symbols = [symbol.encode() for symbol in symbols]

    def best(self, beam: Beam) -> tuple[tf.Tensor, tf.Tensor]:
        """Return String[R], the most probable text of each recording, and Float32[R], its probability.

        Prefixes that spell the same text are one: their probabilities add up. Of equals the older is the best.
        """
        texts = self._texts(beam.units)
        same = tf.cast(texts[:, :, None] == texts[:, None, :], beam.probability.dtype)
        probability = tf.reduce_sum(same * beam.probability[:, None, :], 2)
        best = tf.argmax(probability, 1)
        sure = tf.minimum(tf.gather(probability, best, batch_dims=1), 1)
        text = tf.gather(texts, best, batch_dims=1)
        return _composed(text) if self._units.jamo else text, tf.cast(sure, tf.float32)

    def _texts(self, units: tf.Tensor) -> tf.Tensor:
        """Return String[R, K] of units Int32[R, K, frames], -1: none; jamo stay apart."""
        shape = tf.shape(units)
        emitted = tf.where(units >= 0)
        symbols = tf.gather(tf.constant(self._symbols), tf.gather_nd(units, emitted))
        prefix = emitted[:, 0] * tf.cast(shape[1], tf.int64) + emitted[:, 1]
        separator = _SPACE if self._units.kind == "words" else ""
        joined = tf.strings.unsorted_segment_join(symbols, prefix, shape[0] * shape[1], separator)
        return tf.reshape(tf.strings.strip(tf.strings.regex_replace(joined, " +", _SPACE)), shape[:2])


def _composed(texts: tf.Tensor) -> tf.Tensor:
    """Return String[R] with each L V and L V T of the jamo as one syllable, as `hangul.compose` writes it."""
    points = tf.strings.unicode_decode(texts, "UTF-8").to_tensor(_NO_CHARACTER)
    second, third = _later(points, 1), _later(points, 2)
    syllable = _among(points, LEADING) & _among(second, VOWELS)
    closed = syllable & _among(third, TRAILING)
    leading, vowel = points - LEADING[0], second - VOWELS[0]
    trailing = tf.where(closed, third - TRAILING[0] + 1, 0)
    number = (leading * len(VOWELS) + vowel) * (len(TRAILING) + 1) + trailing
    taken = _earlier(syllable, 1) | _earlier(closed, 2)  # by the syllable before
    kept = tf.ragged.boolean_mask(tf.where(syllable, SYLLABLES[0] + number, points), ~taken & (points >= 0))
    return tf.strings.unicode_encode(kept, "UTF-8")


def _among(points: tf.Tensor, characters: range) -> tf.Tensor:
    return (points >= characters[0]) & (points <= characters[-1])


def _later(points: tf.Tensor, by: int) -> tf.Tensor:
    """Return the characters that stand so many places later."""
    return tf.pad(points, [[0, 0], [0, by]], constant_values=_NO_CHARACTER)[:, by:]


def _earlier(flags: tf.Tensor, by: int) -> tf.Tensor:
    return tf.pad(flags, [[0, 0], [by, 0]])[:, : tf.shape(flags)[1]]
