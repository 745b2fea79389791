"""Recordings as one utterance each: by sonorant's own path, and as a batch of the signature `transcribe`."""

import numpy as np

from sonorant.audio.comfort_noise import after_speech, before_speech
from sonorant.decoding import open_search
from sonorant.serving.endpointing import open_endpointer
from sonorant.serving.posteriors import SingleModel, whole_posteriors
from sonorant.tensorflow import tf


def within_quiet(waveform, rate_hz):
    """Return a recording that begins and ends with speech as a model gets it."""
    return np.concatenate([before_speech(0, rate_hz), waveform, after_speech(0, rate_hz)])


def recognized(model, waveform):
    """Return the best hypothesis of an exported CTC model, without voice activity, of a recording with quiet around."""
    search = open_search("ctc", model.units, model.frame_seconds, model.recipe.decoding, None, model.scorer)
    search.push(whole_posteriors(SingleModel(model), within_quiet(waveform, model.sample_rate_hz)))
    search.finish()
    return search.hypotheses()[0]


def heard(model, samples):
    """Return what a model gets of a recording that is one utterance: its audio, and the quiet that it lacks."""
    endpointer = open_endpointer(model.recipe.decoding.endpointing, model.sample_rate_hz)
    cuts = [*endpointer.push(samples), *endpointer.finish()]
    begin, end = cuts[0], cuts[-1]
    before = before_speech(begin.speech - begin.start, model.sample_rate_hz)
    after = after_speech(end.end - end.speech, model.sample_rate_hz)
    return np.concatenate([before, samples[begin.start : end.end], after])


def padded(waveforms, samples=None):
    """Return the inputs of the signature; what does not count is no silence."""
    audio = np.full((len(waveforms), samples or max(map(len, waveforms))), 0.3, np.float32)
    for row, waveform in zip(audio, waveforms, strict=True):
        row[: len(waveform)] = waveform
    return {"audio": tf.constant(audio), "lengths": tf.constant([len(waveform) for waveform in waveforms], tf.int32)}
