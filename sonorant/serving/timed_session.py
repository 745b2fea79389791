"""A session that voice activity timeouts end."""

import math
import sys

from sonorant.arrays import Waveform
from sonorant.decoding import Scorer
from sonorant.serving.model import ServedModel
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.speech_timeouts import NO_TIMEOUTS, SpeechTimeouts
from sonorant.serving.steps import Steps

__all__ = ["TimedSession", "open_session"]

_PIECE_S = 0.25  # no timeout, which is longer, begins and expires within one
_WAIT_S = 0.01  # until it is decided whether speech began before a timeout


class TimedSession(Session):
    """`Session` that ends where a timeout expires, to the sample, however its audio is cut; what follows is dropped.

    Speech is found some time after it began. So a timeout in the midst of what may be its beginning waits until that is
    decided.
    """

    def __init__(
        self, model: ServedModel, options: SessionOptions, scorer: Scorer | None, timeouts: SpeechTimeouts
    ) -> None:
        super().__init__(model, options, scorer)
        self._timeouts = timeouts
        self._expired = False

    @property
    def ended(self) -> bool:
        """See `Session`."""
        return self._expired

    def _hear(self, samples: Waveform) -> Steps[None]:
        most = round(_PIECE_S * self.model.sample_rate_hz)
        while len(samples) and not self._expired:
            piece = min(self._left(), most)
            yield from super()._hear(samples[:piece])
            samples = samples[piece:]
            self._expired = self._left() <= 0

    def _left(self) -> int:
        """Return the samples without speech after which a timeout expires, or is looked at again; 0: it has expired."""
        expires_s = self._ended_s + self._timeouts.end_s if self._speech else self._begin_s + self._timeouts.start_s
        if self._utterance is not None or expires_s == math.inf:
            return sys.maxsize
        expires = round(expires_s * self.model.sample_rate_hz)
        beyond, wait = self._begin + self._samples - expires, round(_WAIT_S * self.model.sample_rate_hz)
        if beyond < 0:
            return -beyond
        if beyond % wait:
            return wait - beyond % wait
        return 0 if self._endpointed + self._endpointer.decided >= expires else wait


def open_session(
    model: ServedModel, options: SessionOptions, scorer: Scorer | None, timeouts: SpeechTimeouts
) -> Session:
    """Return the session of a new stream."""
    if timeouts == NO_TIMEOUTS:
        return Session(model, options, scorer)
    return TimedSession(model, options, scorer, timeouts)
