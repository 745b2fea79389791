"""Babble: utterances of the corpus spoken at once, as noise for another one."""

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.levels import unit_power
from sonorant.audio.noise import looped
from sonorant.augment.resources import Recording, Utterances
from sonorant.errors import BadAudio, BadShard, RejectedExample

__all__ = ["babble"]

_MOST_DRAWS = 16  # of utterances, for one voice


def babble(
    utterances: Utterances, voices: int, samples: int, sample_rate_hz: int, excluded: str, rng: np.random.Generator
) -> Waveform:
    """Return several utterances spoken at once, equally loud, each entered anywhere and looped: Float32[samples].

    excluded: the utterance that the noise is for; it is never one of the voices. Utterances whose bytes are damaged or
    that are silent are skipped. An utterance that cannot be read now is not skipped: one replica would draw other
    voices than the next. Raises Unavailable then, and RejectedExample if there is no other utterance to be found.
    """
    mixture = np.zeros(samples, dtype=np.float32)
    for _ in range(voices):
        voice = _draw_voice(utterances, excluded, rng)
        mixture += unit_power(looped(voice, samples, sample_rate_hz, rng))
    return mixture


def _draw_voice(utterances: Utterances, excluded: str, rng: np.random.Generator) -> Waveform:
    for _ in range(_MOST_DRAWS):
        ordinal = int(rng.integers(utterances.total))
        try:
            record: Recording = utterances.read(*utterances.locate(ordinal))
            waveform = record.waveform()
        except (BadAudio, BadShard):
            continue
        if record.utterance != excluded and waveform.any():
            return waveform
    raise RejectedExample(
        f"no voice for babble: none of {_MOST_DRAWS} utterances drawn from {utterances.total} is another one that "
        "can be read and is not silent"
    )
