"""One utterance of a stream: samples in, results out, by a search of its own."""

import math
from collections.abc import Iterable

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.comfort_noise import after_speech, before_speech
from sonorant.decoding import Hypothesis, Scorer, open_search
from sonorant.serving.model import ServedModel
from sonorant.serving.posteriors import open_posteriors
from sonorant.serving.results import Result, clamped, later
from sonorant.serving.steps import Steps
from sonorant.serving.whole_words import keep_whole
from sonorant.serving.word_places import WordPlaces

__all__ = ["Utterance"]

_EVERY = 100  # hypotheses of a beam


class Utterance:
    """Recognizes one utterance, which begins with the model's initial state and in quiet, as those of the training do.

    scorer: of its search; start_s: where it begins in the stream; before: samples that it has before its speech;
    spoken_s: where the words before it have ended, which may be in the pause that it begins with; alternatives: length
    of its N-best list, and of its beam at least; words: whether they have words.
    """

    def __init__(
        self,
        model: ServedModel,
        scorer: Scorer,
        start_s: float,
        alternatives: int,
        *,
        before: int = 0,
        spoken_s: float = 0.0,
        words: bool = True,
    ) -> None:
        decoding = model.recipe.decoding
        if alternatives > decoding.beam:
            decoding = decoding.model_copy(update={"beam": alternatives})
        self.start_s = start_s
        self._spoken_s = max(start_s, spoken_s)
        self._quiet = before_speech(before, model.sample_rate_hz)
        self._origin_s = start_s - len(self._quiet) / model.sample_rate_hz
        self._model = model
        self._alternatives = alternatives
        self._words = words
        self._posteriors = open_posteriors(model, decoding.jitter_ms)
        self._search = open_search(model.search, model.units, model.frame_seconds, decoding, model.decoder, scorer)
        self._places = WordPlaces(model.sample_rate_hz, model.frame_lag_s)
        self._stability_s = decoding.stability_ms / 1000
        self._seen = ""
        self._seen_s = 0.0
        self._sent = ""

    def push(self, samples: Waveform) -> Steps[None]:
        """Recognize the next Float32[samples]."""
        if len(self._quiet):
            samples, self._quiet = np.concatenate([self._quiet, samples]), self._quiet[:0]
        self._places.push(samples)
        log_probs = yield from self._posteriors.push(samples)
        if len(log_probs):
            self._search.push(log_probs)

    def interim(self, audio_s: float) -> Result | None:
        """Return a result, `audio_s` into the stream, if the text is new and has stood for `decoding.stability_ms`."""
        text = self._search.text()
        if text != self._seen:
            self._seen, self._seen_s = text, audio_s
        if text == self._sent or audio_s - self._seen_s < self._stability_s:
            return None
        self._sent = text
        heard_s = self._origin_s + self._search.frames * self._model.frame_seconds + max(0.0, self._model.frame_lag_s)
        return self._result(is_final=False, end_s=max(self.start_s, heard_s))

    def finish(self, end_s: float, after: int = 0) -> Steps[Result]:
        """End the utterance, at `end_s` of the stream, `after` samples behind its speech; return its final result."""
        yield from self.push(after_speech(after, self._model.sample_rate_hz))
        log_probs = yield from self._posteriors.finish()
        if len(log_probs):
            self._search.push(log_probs)
        self._search.finish()
        return self._result(is_final=True, end_s=end_s)

    def whole_words(self) -> Result | None:
        """Return the final result of the words so far that are surely whole; None: there are none."""
        found = self._places.corrected(self._search.hypotheses(_EVERY))
        kept = keep_whole(found, self._alternatives, self._model.units)
        if kept is None:
            return None
        alternatives = tuple(self._placed(kept.alternatives))
        end_s = max(self.start_s, round(self._origin_s + kept.end_s, 6))
        return Result(alternatives, True, 1.0, end_s, self.start_s)

    def _result(self, *, is_final: bool, end_s: float) -> Result:
        found = self._search.hypotheses(self._alternatives, words=self._words)
        if self._words:
            found = self._placed(self._places.corrected(found), end_s)
        stability = 1.0 if is_final else self._model.stability.of(found[0].confidence)
        return Result(tuple(found), is_final, stability, end_s, self.start_s)

    def _placed(self, found: Iterable[Hypothesis], end_s: float = math.inf) -> list[Hypothesis]:
        """Return hypotheses with the times of their words in the stream, where they end at `end_s` at the latest."""
        return [clamped(later(hypothesis, self._origin_s), self._spoken_s, end_s) for hypothesis in found]
