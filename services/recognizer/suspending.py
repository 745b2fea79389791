"""The end of a stream by the recognizer: its last answers, and the token by which another stream goes on."""

from typing import NamedTuple

from services.recognizer.stream import Stream
from sonorant.errors import SonorantError
from sonorant.serving.errors import AudioTooLong, IdleStream
from sonorant.serving.results import Answer
from sonorant.serving.resume_token import ResumeToken, resume_token

__all__ = ["Ended", "end_stream"]


class Ended(NamedTuple):
    """A stream's last answers, the last of each channel a final result, and its token."""

    answers: list[Answer]
    token: ResumeToken


async def end_stream(stream: Stream, error: SonorantError) -> Ended:
    """End a stream that has had audio for one of `STREAM_ENDS`.

    At a limit each stream has recognized at least half of what it may have, so that the next ones get on. An idle
    client's audio has stopped, so its words are finished: it may have no more of them to send. Raises as
    `Stream.push`.
    """
    if isinstance(error, IdleStream):
        answers = await stream.finish()
    else:
        answers = await stream.suspend(stream.audio_s / 2 if isinstance(error, AudioTooLong) else 0.0)
    return Ended(answers, resume_token(stream.served.name, stream.served.version, answers))
