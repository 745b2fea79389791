"""CTC prefix beam search in TensorFlow's operations: the beam of `sonorant.decoding.ctc_beam`, without language model.

The recursion and its rules (what extends a prefix, ties, pruning) are those of `sonorant/decoding/prefix_search.hpp`,
whose names these are, for recordings side by side. A prefix is known by a hash of its units, so that one which left the
beam and comes back is the same. `tf.nn.ctc_beam_search_decoder` extends by all units in all frames, so that its beams,
and where they are close its transcripts, are others.
"""

from typing import NamedTuple

import numpy as np

from sonorant.tensorflow import tf

__all__ = ["Beam", "TensorBeamSearch"]

_NONE = -1  # in place of a unit
_ROOT = 0x6A09E667F3BCC908  # hash of the empty prefix, far from any unit's number; 0: of an empty place in the beam
_MIX = 0x9E3779B97F4A7C15


class Beam(NamedTuple):
    """Prefixes of R recordings after their last frame, K places each.

    units: Int32[R, K, frames], the unit that each frame adds to the prefix, -1: none.
    probability: Float64[R, K], of the prefix among those of the beam; 0: an empty place.
    """

    units: tf.Tensor
    probability: tf.Tensor


class _Entries(NamedTuple):
    """A beam, [R, K] each: masses of alignments that end in blank or in the last unit; that unit; and hashes."""

    blank: tf.Tensor
    unit: tf.Tensor
    last: tf.Tensor
    node: tf.Tensor
    parent: tf.Tensor


class _Frame(NamedTuple):
    """A frame: Float64[R, units + 1] log-probabilities; Int32[R, C] candidates; Bool[R] whether it counts."""

    log_probs: tf.Tensor
    candidates: tf.Tensor
    counts: tf.Tensor


class TensorBeamSearch:
    """Searches batches of recordings; no recording's result depends on the others'.

    Arguments are those of `sonorant.decoding.CtcBeamSearch`; units: how many there are, without the blank.
    """

    def __init__(self, units: int, beam: int, unit_candidates: int, unit_floor: float, blank_only: float) -> None:
        self._units = units
        self._beam = beam
        self._candidates = min(unit_candidates, units)
        self._floor = unit_floor
        self._blank_only = blank_only

    def __call__(self, log_probs: tf.Tensor, frames: tf.Tensor) -> Beam:
        """Search Float32[R, most frames, units + 1], blank last, of which `frames` Int32[R] count; R is static.

        Raises InvalidArgumentError for NaN, and where no prefix is possible.
        """
        most = tf.shape(log_probs)[1]
        nan = tf.math.is_nan(log_probs) & (tf.range(most) < frames[:, None])[:, :, None]
        tf.debugging.Assert(~tf.reduce_any(nan), ["NaN; expected log-probabilities"])
        by_frame = tf.transpose(log_probs, [1, 0, 2])
        candidates = tf.math.top_k(by_frame[:, :, :-1], self._candidates).indices  # of equals the lower number
        shape = [log_probs.shape[0], self._beam]
        steps = tf.TensorArray(tf.int32, most, element_shape=[2, *shape])

        def advance(
            t: tf.Tensor, steps: tf.TensorArray, entries: _Entries
        ) -> tuple[tf.Tensor, tf.TensorArray, _Entries]:
            frame = _Frame(tf.cast(by_frame[t], tf.float64), candidates[t], t < frames)
            entries, origin, added = self._advance(entries, frame)
            return t + 1, steps.write(t, tf.stack([origin, added])), entries

        _, steps, last = tf.while_loop(lambda t, *_: t < most, advance, (0, steps, _start(shape)))
        total = last.blank + last.unit
        tf.debugging.Assert(tf.reduce_all(tf.reduce_sum(total, 1) > 0), ["a frame without a possible symbol"])
        return Beam(_traced(steps.stack()), total)

    def _advance(self, entries: _Entries, frame: _Frame) -> tuple[_Entries, tf.Tensor, tf.Tensor]:
        """Return the beam after a frame, and for each of its places the place before and the unit that is added."""
        blank = tf.where(frame.counts, tf.exp(frame.log_probs[:, -1]), 1)  # a frame that does not count changes nothing
        contested = frame.counts & ~(blank > self._blank_only)
        total = entries.blank + entries.unit
        again = _at(frame.log_probs, tf.maximum(entries.last, 0))
        stayed_blank = total * blank[:, None]
        stayed_unit = tf.where(frame.counts[:, None] & (entries.last >= 0), entries.unit * tf.exp(again), 0)
        masses, merged = self._extended(entries, frame, contested)
        stayed_unit += merged
        contenders = tf.concat([stayed_blank + stayed_unit, tf.reshape(masses, [masses.shape[0], -1])], 1)
        chosen = tf.sort(tf.math.top_k(contenders, self._beam).indices)  # of equals the older; in the order of old
        mass = _at(contenders, chosen)
        scale = tf.where(frame.counts, tf.reduce_sum(mass, 1), 1)[:, None]
        stays = chosen < self._beam
        extension = tf.maximum(chosen - self._beam, 0)
        origin = tf.where(stays, chosen, extension // self._candidates)
        unit = _at(frame.candidates, extension % self._candidates)
        node, some = _at(entries.node, origin), mass > 0
        after = _Entries(
            blank=tf.where(stays, _at(stayed_blank, origin), 0) / scale,
            unit=tf.where(stays, _at(stayed_unit, origin), mass) / scale,
            last=tf.where(some, tf.where(stays, _at(entries.last, origin), unit), _NONE),
            node=tf.where(some, tf.where(stays, node, _longer(node, unit)), 0),
            parent=tf.where(some, tf.where(stays, _at(entries.parent, origin), node), 0),
        )
        return after, origin, tf.where(stays, _NONE, unit)

    def _extended(self, entries: _Entries, frame: _Frame, contested: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return masses [R, K, C] of prefixes with one more unit, and [R, K] what is added to those of the beam."""
        probability = tf.exp(_at(frame.log_probs, frame.candidates))
        probability = tf.where(contested[:, None] & (probability > self._floor), probability, 0)
        repeats = entries.last[:, :, None] == frame.candidates[:, None, :]
        total = entries.blank + entries.unit
        # Without a blank between them, two equal units are one.
        masses = tf.where(repeats, entries.blank[:, :, None], total[:, :, None]) * probability[:, None, :]
        child_of = (entries.parent[:, :, None] == entries.node[:, None, :]) & (entries.last >= 0)[:, :, None]
        child_of, by_unit = tf.cast(child_of, tf.float64), tf.cast(repeats, tf.float64)  # [R, K, K], [R, K, C]
        merged = tf.reduce_sum(by_unit * tf.matmul(child_of, masses), 2)  # one term at most is not 0
        known = tf.matmul(child_of, by_unit, transpose_a=True) > 0
        return tf.where(known, tf.zeros_like(masses), masses), merged


def _start(shape: list[int]) -> _Entries:
    """Return beams with the empty prefix alone, in their first places."""
    first = np.zeros(shape, np.uint64)
    first[:, 0] = 1
    return _Entries(
        blank=tf.constant(first, tf.float64),
        unit=tf.zeros(shape, tf.float64),
        last=tf.fill(shape, _NONE),
        node=tf.constant(first * np.uint64(_ROOT)),
        parent=tf.zeros(shape, tf.uint64),
    )


def _longer(node: tf.Tensor, unit: tf.Tensor) -> tf.Tensor:
    """Return the hash of prefixes with one more unit."""
    mixed = tf.bitwise.bitwise_xor(node, tf.cast(unit + 1, tf.uint64)) * tf.constant(_MIX, tf.uint64)
    return tf.bitwise.bitwise_xor(mixed, tf.bitwise.right_shift(mixed, tf.constant(31, tf.uint64)))


def _at(values: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Return values [R, n] at places [R, m] of the same recording."""
    return tf.gather(values, places, batch_dims=1)


def _traced(steps: tf.Tensor) -> tf.Tensor:
    """Return units [R, K, frames] of the last beam; steps: Int32[frames, 2, R, K], place before and unit added."""
    frames, shape = tf.shape(steps)[0], steps.shape[2:]
    written = tf.TensorArray(tf.int32, frames, element_shape=shape)

    def go_back(
        t: tf.Tensor, places: tf.Tensor, written: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
        origin, added = tf.unstack(steps[t])
        return t - 1, _at(origin, places), written.write(t, _at(added, places))

    places = tf.tile(tf.range(shape[1])[None], [shape[0], 1])
    _, _, written = tf.while_loop(lambda t, *_: t >= 0, go_back, (frames - 1, places, written))
    return tf.transpose(written.stack(), [1, 2, 0])
