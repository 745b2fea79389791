"""Voice activity timeouts: the stream ends if no speech begins, or none follows, for so long."""

import math
from typing import NamedTuple

from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel

__all__ = ["NO_TIMEOUTS", "SpeechTimeouts", "check_timeouts"]

_BOUNDS_S = (0.5, 60.0)  # of Google's protocol, neither of them allowed


class SpeechTimeouts(NamedTuple):
    """Seconds of audio after which the stream ends; infinite: never.

    start_s: from the stream's start without the beginning of speech; the first one cancels it. end_s: from the end of
    an utterance, which is found a pause after its speech, without the beginning of another.
    """

    start_s: float = math.inf
    end_s: float = math.inf


NO_TIMEOUTS = SpeechTimeouts()


def check_timeouts(timeouts: SpeechTimeouts, model: ServedModel, *, apart: bool) -> None:
    """Raise BadRequest for what is out of bounds, or has no meaning: nobody's silence ends the other channels."""
    shortest_s, longest_s = _BOUNDS_S
    for name, value_s in zip(("speech_start_timeout", "speech_end_timeout"), timeouts, strict=True):
        if value_s == math.inf:
            continue
        if not shortest_s < value_s < longest_s:
            raise BadRequest(f"{name}={value_s:g} s: expected more than {shortest_s:g} s and less than {longest_s:g} s")
        if model.recipe.decoding.endpointing is None:
            raise BadRequest(f"{name}: model {model.name!r} has no endpointing, so no speech ever ends; leave it out")
        if apart:
            raise BadRequest(f"{name}: channels are recognized apart; leave it out, or open a stream for each channel")
