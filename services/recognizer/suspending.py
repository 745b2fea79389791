"""The end of a stream by the recognizer: its last answers, and the token by which another stream goes on."""

from services.recognizer.stream import Stream
from sonorant.errors import SonorantError
from sonorant.serving.errors import AudioTooLong, IdleStream
from sonorant.serving.results import Answer
from sonorant.serving.resume_token import ResumeToken, resume_token

__all__ = ["end_stream"]


async def end_stream(stream: Stream, error: SonorantError) -> tuple[list[Answer], ResumeToken]:
    """End a stream that has had audio for one of `STREAM_ENDS`; return its last answers and its token.

    The last answer of each channel is a final result.

    At a limit each stream has recognized at least half of what it may have, so that the next ones get on. An idle
    client's audio has stopped, so its words are finished: it may have no more of them to send. Raises as
    `Stream.push`.
    """
    if isinstance(error, IdleStream):
        answers = await stream.finish()
    else:
        answers = await stream.suspend(stream.audio_s / 2 if isinstance(error, AudioTooLong) else 0.0)
    return answers, resume_token(stream.served.name, stream.served.version, answers)
