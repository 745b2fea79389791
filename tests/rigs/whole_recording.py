"""Recordings as one utterance each: by sonorant's own path, and as a batch of the signature `transcribe`."""

import numpy as np

from sonorant.audio.comfort_noise import after_speech, before_speech
from sonorant.decoding import open_search
from sonorant.serving.posteriors import SingleModel, whole_posteriors
from sonorant.tensorflow import tf


def recognized(model, waveform):
    """Return the best hypothesis of an exported CTC model, without voice activity, of a recording with quiet around."""
    rate_hz = model.sample_rate_hz
    line = np.concatenate([before_speech(0, rate_hz), waveform, after_speech(0, rate_hz)])
    search = open_search("ctc", model.units, model.frame_seconds, model.recipe.decoding, None, model.scorer)
    search.push(whole_posteriors(SingleModel(model), line))
    search.finish()
    return search.hypotheses()[0]


def padded(waveforms, samples=None):
    """Return the inputs of the signature; what does not count is no silence."""
    audio = np.full((len(waveforms), samples or max(map(len, waveforms))), 0.3, np.float32)
    for row, waveform in zip(audio, waveforms, strict=True):
        row[: len(waveform)] = waveform
    return {"audio": tf.constant(audio), "lengths": tf.constant([len(waveform) for waveform in waveforms], tf.int32)}
