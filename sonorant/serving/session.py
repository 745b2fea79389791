"""One stream of speech: audio bytes in, results out."""

from dataclasses import dataclass, replace

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.pcm import from_int16
from sonorant.decoding import Scorer
from sonorant.serving.endpointing import Begin, Cut, End, open_endpointer
from sonorant.serving.errors import AudioTooLong, BadRequest
from sonorant.serving.model import ServedModel
from sonorant.serving.results import Answer, Result, SpeechEvent, join_results, nothing
from sonorant.serving.steps import Steps, alone
from sonorant.serving.utterance import Utterance
from sonorant.serving.written import written

__all__ = ["Answer", "Result", "Session", "SessionOptions", "SpeechEvent"]

_SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """A client's choices, and the limit of its audio.

    max_alternatives: length of the N-best list.
    interim_results: whether `push` returns results that may still change.
    max_seconds: longest audio.
    utterances: whether each utterance has a final result; else the stream has one, and interim results begin with it.
    speech_events: whether `push` returns SpeechEvents.
    written: language of final results' written form; empty: verbatim.
    """

    max_alternatives: int = 1
    interim_results: bool = True
    max_seconds: float = 300.0
    utterances: bool = True
    speech_events: bool = False
    written: str = ""


class Session:
    """Recognizes one stream, utterance by utterance; chunks of any size give the transcripts of the whole recording.

    An interim result is returned when the best text is new and has stood for the recipe's
    `decoding.stability_ms` of audio.
    """

    def __init__(self, model: ServedModel, options: SessionOptions, scorer: Scorer | None = None) -> None:
        """scorer: of its searches; None: the model's."""
        self.model = model
        self._options = options
        self._scorer = scorer or model.scorer
        self._endpointer = open_endpointer(model.recipe.decoding.endpointing, model.sample_rate_hz)
        self._utterance: Utterance | None = None
        self._ended_s = 0.0  # end of the last utterance
        self._finals: list[Result] = []  # to be joined
        self._answers: list[Answer] = []  # to be returned
        self._samples = self._speech = 0
        self._most_samples = round(options.max_seconds * model.sample_rate_hz)

    @property
    def max_s(self) -> float:
        """Longest audio, in seconds."""
        return self._options.max_seconds

    @property
    def audio_s(self) -> float:
        """Seconds of audio received."""
        return self._samples / self.model.sample_rate_hz

    @property
    def speech_s(self) -> float:
        """Seconds of audio that the model has had."""
        return self._speech / self.model.sample_rate_hz

    @property
    def speaking(self) -> bool:
        """Whether an utterance is open."""
        return self._utterance is not None

    def silence(self) -> Result:
        """Return the final result of the time since the last utterance, in which there was none."""
        return nothing(self._ended_s, self.audio_s)

    def push(self, audio: bytes) -> list[Answer]:
        """Recognize the next `audio`, 16-bit little-endian samples; return what is new.

        Final results of utterances, in order, and then an interim one, if its text is new.

        Raises BadRequest for an odd number of bytes, which ends the session; AudioTooLong beyond the limit, up to which
        the audio is recognized first: `finish` returns its results.
        """
        return alone(self.push_steps(self._decoded(audio)))

    def finish(self) -> list[Answer]:
        """End the audio; return what is left, last a final result, whose text is empty if there was no more speech."""
        return alone(self.finish_steps())

    def push_steps(self, samples: Waveform) -> Steps[list[Answer]]:
        """As `push`, of decoded samples, by a model that other streams' steps may share a call with."""
        received = samples[: self._most_samples - self._samples]
        self._samples += len(received)
        for cut in self._endpointer.push(received):
            yield from self._follow(cut)
        if beyond := len(samples) - len(received):
            raise self._too_long(self.audio_s + beyond / self.model.sample_rate_hz)
        if self._options.interim_results and self._utterance is not None:
            self._add_interim(self._utterance)
        return self._taken()

    def next(self) -> "Session":
        """Return a session of what follows, within what is left of the limit."""
        left_s = self._options.max_seconds - self.audio_s
        return Session(self.model, replace(self._options, max_seconds=left_s), self._scorer)

    def check(self, samples: int) -> None:
        """Raise, before anything is computed, what `push` would raise of so many samples."""
        if self._samples + samples > self._most_samples:
            raise self._too_long(self.audio_s + samples / self.model.sample_rate_hz)

    def finish_steps(self) -> Steps[list[Answer]]:
        """As `finish`, likewise."""
        silent = self._utterance is None
        for cut in self._endpointer.finish():
            yield from self._follow(cut)
        if silent:
            self._finals.append(self.silence())
        if not self._options.utterances:
            self._finals = [join_results(self._finals, self._options.max_alternatives)]
        self._answers += map(self._written, self._finals)
        return self._taken()

    def _decoded(self, audio: bytes) -> Waveform:
        if len(audio) % _SAMPLE_BYTES:
            raise BadRequest(f"{len(audio)} bytes of audio: expected whole 16-bit samples, an even number of bytes")
        return from_int16(np.frombuffer(audio, "<i2"))

    def _too_long(self, seconds: float) -> AudioTooLong:
        limit = self._options.max_seconds
        return AudioTooLong(f"{seconds:.1f} s of audio: a stream may have {limit:g} s; go on in a new one")

    def _follow(self, cut: Cut) -> Steps[None]:
        rate_hz = self.model.sample_rate_hz
        if isinstance(cut, Begin):
            self._utterance = Utterance(self.model, self._scorer, cut.start / rate_hz, self._options.max_alternatives)
            self._add_event(SpeechEvent("begin", cut.speech / rate_hz))
            return
        assert self._utterance is not None, f"{type(cut).__name__} outside utterances"
        if isinstance(cut, End):
            result = yield from self._utterance.finish(cut.end / rate_hz)
            self._add_event(SpeechEvent("end", cut.speech / rate_hz))
            if self._options.utterances:
                self._answers.append(self._written(result))
            else:
                self._finals.append(result)
            self._utterance, self._ended_s = None, result.end_s
        else:
            self._speech += len(cut.samples)
            yield from self._utterance.push(cut.samples)

    def _written(self, result: Result) -> Result:
        language = self._options.written
        if not language:
            return result
        return replace(result, alternatives=tuple(written(one, language) for one in result.alternatives))

    def _add_event(self, event: SpeechEvent) -> None:
        if self._options.speech_events:
            self._answers.append(event)

    def _add_interim(self, utterance: Utterance) -> None:
        if result := utterance.interim(self.audio_s):
            self._answers.append(join_results([*self._finals, result], self._options.max_alternatives))

    def _taken(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers
