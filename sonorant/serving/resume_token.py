"""Resume tokens: what a stream that the recognizer has ended tells the one that goes on, here or on another replica.

A token is the base64url form (RFC 4648) of a JSON list: model, version, and where each channel goes on, in
microseconds from the beginning of the first stream. To clients it is opaque; it holds no secret, and whoever makes one
up moves the times of nobody's results but his own.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass

from sonorant.serving.errors import BadRequest
from sonorant.serving.model_choice import NEWEST_VERSION, ModelChoice
from sonorant.serving.results import Answer, Result

__all__ = ["ResumeToken", "parse_token", "resume_token"]

_LONGEST = 1024  # characters of a token
_LATEST_US = 10**15  # 31 years
_MOST_CHANNELS = 8


@dataclass(frozen=True, slots=True)
class ResumeToken:
    """The version that a stream began with, and where each channel goes on, from the beginning of the first stream."""

    model: str
    version: int
    places_us: tuple[int, ...]

    @property
    def begin_s(self) -> float:
        """Where the audio goes on: the least of the channels' places, in seconds."""
        return min(self.places_us) / 1e6

    def place_s(self, channel: int) -> float:
        """Return where a channel, from 0, goes on, in seconds."""
        return self.places_us[channel] / 1e6

    def check_channels(self, channels: int) -> None:
        """Raise BadRequest unless so many are recognized."""
        if channels != len(self.places_us):
            raise BadRequest(
                f"resume_token: of a stream with channels recognized: {len(self.places_us)}; this one has {channels}"
            )

    def check_spread(self, most_s: float) -> None:
        """Raise BadRequest if channels are further apart than a stream may be long."""
        if (apart_s := (max(self.places_us) - min(self.places_us)) / 1e6) > most_s:
            raise BadRequest(f"resume_token: places {apart_s:g} s apart: expected {most_s:g} s at most")

    def choice(self, asked: ModelChoice) -> ModelChoice:
        """Return the token's version in place of what is `asked` for, but for another model or a numbered version."""
        if asked.version is not None or asked.name not in ("", self.model):
            return asked
        return ModelChoice(self.model, self.version)

    def __str__(self) -> str:
        document = json.dumps([self.model, self.version, *self.places_us], ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(document.encode()).decode()


def resume_token(model: str, version: int, answers: Sequence[Answer]) -> ResumeToken:
    """Return the token of a stream whose last answers are `answers`, among them a final result of each channel."""
    ends = {answer.channel: answer.end_s for answer in answers if isinstance(answer, Result) and answer.is_final}
    return ResumeToken(model, version, tuple(round(1e6 * ends[channel]) for channel in sorted(ends)))


def parse_token(text: str) -> ResumeToken | None:
    """Return what a client got as its token; None: it has none. Raises BadRequest if no recognizer wrote it."""
    if not text:
        return None
    if len(text) > _LONGEST:
        raise BadRequest(f"resume_token: {len(text)} characters: expected {_LONGEST} at most")
    try:
        document = json.loads(base64.b64decode(text, altchars=b"-_", validate=True))
    except (ValueError, RecursionError, binascii.Error):
        document = None
    match document:
        case [str(model), int(version), *places] if _number(version, NEWEST_VERSION) and _places(places):
            return ResumeToken(model, version, tuple(places))
    raise BadRequest(f"resume_token={text[:40]!r}: expected the one with which a stream has ended, as it was sent")


def _places(values: Sequence[object]) -> bool:
    return 1 <= len(values) <= _MOST_CHANNELS and all(_number(value, _LATEST_US) for value in values)


def _number(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most
