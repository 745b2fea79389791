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
from sonorant.serving.sensitivity import with_sensitivity
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
    words: whether alternatives have words, their times and confidences; else only text.
    written: language of final results' written form, whose results have words always; empty: verbatim.
    sensitivity: of endpointing, one of `SENSITIVITIES`.
    begin_s: where its audio begins; all times are from the beginning of the stream that it goes on from.
    skip_s: audio before that which comes first, and is dropped.
    """

    max_alternatives: int = 1
    interim_results: bool = True
    max_seconds: float = 300.0
    utterances: bool = True
    speech_events: bool = False
    words: bool = True
    written: str = ""
    sensitivity: str = "STANDARD"
    begin_s: float = 0.0
    skip_s: float = 0.0


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
        self._endpointing = with_sensitivity(model.recipe.decoding.endpointing, options.sensitivity)
        self._endpointer = open_endpointer(self._endpointing, model.sample_rate_hz)
        self._begin = round(options.begin_s * model.sample_rate_hz)
        self._skipped = round(options.skip_s * model.sample_rate_hz)
        self._endpointed = self._begin  # samples before those of the endpointer
        self._utterance: Utterance | None = None
        self._ended_s = self._begin_s = self._at_s(0)  # end of the last utterance, or of the last silence that was told
        self._spoken_s = self._begin_s  # end of the last word
        self._final: Result | None = None  # of the utterances so far, joined
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
    def heard_s(self) -> float:
        """End of the audio received, from the beginning of the stream that this one goes on from."""
        return (self._begin + self._samples) / self.model.sample_rate_hz

    @property
    def speech_s(self) -> float:
        """Seconds of audio that the model has had."""
        return self._speech / self.model.sample_rate_hz

    @property
    def ended(self) -> bool:
        """Whether the session hears no more audio, before its `finish`."""
        return False

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
        skipped = min(self._skipped, len(samples))
        self._skipped -= skipped
        samples = samples[skipped:]
        received = samples[: self._most_samples - self._samples]
        yield from self._hear(received)
        if beyond := len(samples) - len(received):
            raise self._too_long(self.audio_s + beyond / self.model.sample_rate_hz)
        if self._options.interim_results and self._utterance is not None:
            self._add_interim(self._utterance)
        return self._taken()

    def check(self, samples: int) -> None:
        """Raise, before anything is computed, what `push` would raise of so many samples."""
        if self._samples + samples > self._most_samples:
            raise self._too_long(self.audio_s + samples / self.model.sample_rate_hz)

    def finalize_steps(self) -> Steps[list[Answer]]:
        """End the utterance, if one is open, and return what is left of it, last a final result; the stream goes on.

        What may yet turn out to be speech is left to the next one. For sessions whose utterances have final results.
        """
        if self._utterance is None:
            self._end(self._silence())
            return self._taken()
        yield from self._end_utterance()
        self._endpointer = open_endpointer(self._endpointing, self.model.sample_rate_hz)
        self._endpointed = self._begin + self._samples
        return self._taken()

    def finish_steps(self) -> Steps[list[Answer]]:
        """As `finish`, likewise."""
        silent = self._utterance is None
        yield from self._end_utterance()
        if silent:
            self._end(self._silence())
        return self._all_taken()

    def suspend_steps(self, least_s: float = 0.0) -> Steps[list[Answer]]:
        """End the stream, but not its audio; return what is left, last a final result: another one goes on at its end.

        In the midst of speech the result has the words that are surely whole, and ends before the first that may not
        be; if less than `least_s` of audio were left behind, it is that of `finish_steps`.
        """
        if self._utterance is None or self._endpointer.paused:
            return (yield from self.finish_steps())
        start_s = max(self._ended_s, self._utterance.start_s)  # it may begin with the pause before it
        result = self._utterance.whole_words() or nothing(self._ended_s, start_s)
        if result.end_s < self._begin_s + least_s:
            return (yield from self.finish_steps())
        self._utterance = None
        self._end(result)
        return self._all_taken()

    def _hear(self, samples: Waveform) -> Steps[None]:
        self._samples += len(samples)
        for cut in self._endpointer.push(samples):
            yield from self._follow(cut)

    def _end_utterance(self) -> Steps[None]:
        for cut in self._endpointer.finish():
            yield from self._follow(cut)

    def _silence(self) -> Result:
        end_s = max(self._ended_s, self._at_s(self._endpointer.decided))
        if end_s <= self._begin_s and self._samples == self._most_samples:
            end_s = self.heard_s  # a stream that may be no longer than this must get on
        return nothing(self._ended_s, end_s)

    def _end(self, result: Result) -> None:
        """Return a final result, or keep it joined to those before."""
        result = self._after(result)
        self._ended_s = result.end_s
        self._spoken_s = max([self._spoken_s, *(one.words[-1].end_s for one in result.alternatives if one.words)])
        if self._options.utterances:
            self._answers.append(self._written(result))
        else:
            self._final = self._joined(result)

    def _after(self, result: Result) -> Result:
        """Return a result that does not begin before the last one ended, though its audio may, with that pause."""
        start_s = max(result.start_s, self._ended_s)
        return replace(result, start_s=start_s, end_s=max(result.end_s, start_s))

    def _joined(self, result: Result) -> Result:
        before = [] if self._final is None else [self._final]
        return join_results([*before, result], self._options.max_alternatives)

    def _decoded(self, audio: bytes) -> Waveform:
        if len(audio) % _SAMPLE_BYTES:
            raise BadRequest(f"{len(audio)} bytes of audio: expected whole 16-bit samples, an even number of bytes")
        return from_int16(np.frombuffer(audio, "<i2"))

    def _too_long(self, seconds: float) -> AudioTooLong:
        limit = self._options.max_seconds
        return AudioTooLong(f"{seconds:.1f} s of audio: a stream may have {limit:g} s; go on in a new one")

    def _follow(self, cut: Cut) -> Steps[None]:
        if isinstance(cut, Begin):
            start_s = self._at_s(cut.start)
            words = self._options.words or bool(self._options.written)
            most, spoken_s = self._options.max_alternatives, self._spoken_s
            before = cut.speech - cut.start
            self._utterance = Utterance(
                self.model, self._scorer, start_s, most, before=before, spoken_s=spoken_s, words=words
            )
            self._add_event(SpeechEvent("begin", self._at_s(cut.speech)))
            return
        assert self._utterance is not None, f"{type(cut).__name__} outside utterances"
        if isinstance(cut, End):
            result = yield from self._utterance.finish(self._at_s(cut.end), after=cut.end - cut.speech)
            self._add_event(SpeechEvent("end", self._at_s(cut.speech)))
            self._end(result)
            self._utterance = None
        else:
            self._speech += len(cut.samples)
            yield from self._utterance.push(cut.samples)

    def _at_s(self, sample: int) -> float:
        """Return the time, in the stream, of one of the endpointer's samples."""
        return (self._endpointed + sample) / self.model.sample_rate_hz

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
            self._answers.append(self._joined(self._after(result)))

    def _all_taken(self) -> list[Answer]:
        if self._final is not None:
            self._answers.append(self._written(self._final))
        return self._taken()

    def _taken(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers
