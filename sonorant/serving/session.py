"""One stream of speech: audio bytes in, results out."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.audio.pcm import from_int16
from sonorant.decoding import Hypothesis, Scorer, Word, open_search
from sonorant.serving.errors import AudioTooLong, BadRequest
from sonorant.serving.model import ServedModel
from sonorant.serving.posteriors import open_posteriors
from sonorant.serving.steps import Steps, alone
from sonorant.serving.written import written

__all__ = ["Result", "Session", "SessionOptions", "shifted"]

_SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """A client's choices, and the limit of its audio.

    max_alternatives: length of the N-best list.
    interim_results: whether `push` returns results that may still change.
    max_seconds: longest audio.
    written: language of final results' written form; empty: verbatim.
    """

    max_alternatives: int = 1
    interim_results: bool = True
    max_seconds: float = 300.0
    written: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The recognition from the start of the audio up to `end_s`, best first; at least one alternative.

    Silence is an alternative with an empty text. stability: posterior of the best alternative.
    """

    alternatives: tuple[Hypothesis, ...]
    is_final: bool
    stability: float
    end_s: float


class Session:
    """Recognizes one stream; chunks of any size give the transcript of the whole recording.

    An interim result is returned when the best text is new and has stood for the recipe's
    `decoding.stability_ms` of audio.
    """

    def __init__(self, model: ServedModel, options: SessionOptions, scorer: Scorer | None = None) -> None:
        """scorer: of the search; None: the model's."""
        decoding = model.recipe.decoding
        self.model = model
        self._options = options
        self._posteriors = open_posteriors(model, decoding.jitter_ms)
        self._search = open_search(
            model.search, model.units, model.frame_seconds, decoding, model.decoder, scorer or model.scorer
        )
        self._stability_s = decoding.stability_ms / 1000
        self._samples = 0
        self._most_samples = round(options.max_seconds * model.sample_rate_hz)
        self._seen = ""
        self._seen_s = 0.0
        self._sent = ""

    @property
    def max_s(self) -> float:
        """Longest audio, in seconds."""
        return self._options.max_seconds

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""
        return self._samples / self.model.sample_rate_hz

    def push(self, audio: bytes) -> Result | None:
        """Recognize the next `audio`, 16-bit little-endian samples; return an interim result if the text is new.

        Raises BadRequest for an odd number of bytes, which ends the session; AudioTooLong beyond the limit, up to which
        the audio is recognized first: `finish` returns its result.
        """
        return alone(self.push_steps(self._decoded(audio)))

    def finish(self) -> Result:
        """End the audio; return the final result."""
        return alone(self.finish_steps())

    def push_steps(self, samples: Waveform) -> Steps[Result | None]:
        """As `push`, of decoded samples, by a model that other streams' steps may share a call with."""
        received = samples[: self._most_samples - self._samples]
        if len(received):
            self._samples += len(received)
            self._search_through((yield from self._posteriors.push(received)))
        if beyond := len(samples) - len(received):
            raise self._too_long(self.audio_s + beyond / self.model.sample_rate_hz)
        return self._interim() if self._options.interim_results and len(samples) else None

    def next(self) -> "Session":
        """Return a session of what follows, within what is left of the limit."""
        left_s = self._options.max_seconds - self.audio_s
        return Session(self.model, replace(self._options, max_seconds=left_s))

    def check(self, samples: int) -> None:
        """Raise, before anything is computed, what `push` would raise of so many samples."""
        if self._samples + samples > self._most_samples:
            raise self._too_long(self.audio_s + samples / self.model.sample_rate_hz)

    def finish_steps(self) -> Steps[Result]:
        """As `finish`, likewise."""
        if self._samples:
            self._search_through((yield from self._posteriors.finish()))
        self._search.finish()
        return self._result(is_final=True, end_s=self.audio_s)

    def _decoded(self, audio: bytes) -> Waveform:
        if len(audio) % _SAMPLE_BYTES:
            raise BadRequest(f"{len(audio)} bytes of audio: expected whole 16-bit samples, an even number of bytes")
        return from_int16(np.frombuffer(audio, "<i2"))

    def _too_long(self, seconds: float) -> AudioTooLong:
        limit = self._options.max_seconds
        return AudioTooLong(f"{seconds:.1f} s of audio: a stream may have {limit:g} s; go on in a new one")

    def _search_through(self, log_probs: NDArray[np.float32]) -> None:
        if len(log_probs):
            self._search.push(log_probs)

    def _interim(self) -> Result | None:
        text = self._search.text()
        if text != self._seen:
            self._seen, self._seen_s = text, self.audio_s
        if text == self._sent or self.audio_s - self._seen_s < self._stability_s:
            return None
        self._sent = text
        return self._result(is_final=False, end_s=self._search.frames * self.model.frame_seconds)

    def _result(self, *, is_final: bool, end_s: float) -> Result:
        alternatives = tuple(self._search.hypotheses(self._options.max_alternatives))
        if is_final and self._options.written:
            alternatives = tuple(written(hypothesis, self._options.written) for hypothesis in alternatives)
        return Result(alternatives, is_final, 1.0 if is_final else alternatives[0].confidence, end_s)


def shifted(result: Result, seconds: float) -> Result:
    """Return a result whose times are later by `seconds`."""

    def later(word: Word) -> Word:
        return replace(word, start_s=word.start_s + seconds, end_s=word.end_s + seconds)

    alternatives = tuple(replace(one, words=tuple(map(later, one.words))) for one in result.alternatives)
    return replace(result, alternatives=alternatives, end_s=result.end_s + seconds)
