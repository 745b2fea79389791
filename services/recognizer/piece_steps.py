"""What a worker computes of a stream in one turn: the next piece of its audio."""

from collections.abc import Callable

from sonorant.arrays import Waveform
from sonorant.serving.audio_formats import Pieces
from sonorant.serving.results import Answer
from sonorant.serving.session import Session
from sonorant.serving.steps import Steps

__all__ = ["NextSteps", "decode_next", "finish_next", "recognize_next"]

NextSteps = Callable[[Pieces, Session], Steps[tuple[list[Answer], bool]]]
"""Computes the next piece; returns what is new, and whether there may be more."""


def decode_next(pieces: Pieces) -> Steps[tuple[Waveform, bool]]:
    """Decode the next piece; return it, and whether there may be more."""
    yield from ()
    return pieces.next()


def recognize_next(pieces: Pieces, session: Session) -> Steps[tuple[list[Answer], bool]]:
    """Decode and recognize the next piece; return what is new, and whether there may be more."""
    samples, more = pieces.next()
    return (yield from session.push_steps(samples)), more


def finish_next(last: Steps[list[Answer]], pieces: Pieces, session: Session) -> Steps[tuple[list[Answer], bool]]:
    """Recognize the next piece, and do the `last` steps with the last one: their results come of the same round."""
    found, more = yield from recognize_next(pieces, session)
    if not more:
        found += yield from last
    return found, more
