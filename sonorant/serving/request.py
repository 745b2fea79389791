"""A client's request for a stream, independent of the protocol, and its check against a model."""

from dataclasses import dataclass, field

from sonorant.serving.audio_formats import AudioFormat, check_format
from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.resume_token import ResumeToken
from sonorant.serving.sensitivity import check_sensitivity
from sonorant.serving.speech_timeouts import NO_TIMEOUTS, SpeechTimeouts, check_timeouts
from sonorant.text.formatting import LANGUAGES

__all__ = ["AudioFormat", "StreamRequest", "check_request"]

_MOST_ALTERNATIVES = 30


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The request that opens a stream.

    model: without a name, the only one. alternatives: length of the N-best list; 0: 1. interim_results: whether to
    return results that may still change. words: whether alternatives have words, with times and confidences. phrases:
    see `scorer_with_phrases`. language_model: whether that of the model counts. language: BCP 47; empty: the model's.
    written: language of final results' written form; empty: verbatim. utterances: whether each utterance has a final
    result; else the stream has one, of all of them. speech_events: whether to return where speech begins and ends.
    sensitivity: one of `SENSITIVITIES`. timeouts: see `SpeechTimeouts`. resume: of the stream that it goes on from.
    """

    model: ModelChoice = field(default_factory=ModelChoice)
    audio: AudioFormat = field(default_factory=AudioFormat)
    alternatives: int = 0
    interim_results: bool = False
    words: bool = True
    phrases: tuple[tuple[str, float], ...] = ()
    language_model: bool = True
    language: str = ""
    written: str = ""
    utterances: bool = True
    speech_events: bool = False
    sensitivity: str = "STANDARD"
    timeouts: SpeechTimeouts = NO_TIMEOUTS
    resume: ResumeToken | None = None


def check_request(request: StreamRequest, model: ServedModel) -> None:
    """Raise BadRequest if `model` cannot serve the request."""
    check_format(request.audio)
    check_sensitivity(request.sensitivity, model)
    check_timeouts(request.timeouts, model, apart=request.audio.apart)
    if request.written and request.written not in LANGUAGES:
        raise BadRequest(f"written={request.written!r}: expected one of {', '.join(LANGUAGES)}; absent: verbatim")
    if not 0 <= request.alternatives <= _MOST_ALTERNATIVES:
        raise BadRequest(
            f"max_alternatives={request.alternatives}: expected 1 to {_MOST_ALTERNATIVES}, or 0, which means 1"
        )
