"""Gathering: under load a stream's messages are recognized several at a time.

To recognize a message costs time, however little audio it has. While there is room for more streams, each is recognized
when it comes; the less room there is, the longer a stream gathers messages, from one recognition to the next
(`Headroom.gather_s`). The end of a stream's messages ends the wait, so that no final result is late for it.
"""

import time
from collections.abc import Callable
from typing import Any

from services.recognizer.inbox import Inbox
from services.recognizer.stream import Stream
from sonorant.errors import SonorantError
from sonorant.serving.admission import Admission
from sonorant.serving.headroom import Headroom

__all__ = ["GatherTime", "gathered"]

_LOOK_S = 0.1


class GatherTime:
    """For how long streams gather, in seconds; looked up now and then, since every message asks for it."""

    def __init__(self, headroom: Headroom, admission: Admission, clock: Callable[[], float] = time.monotonic) -> None:
        self._headroom = headroom
        self._admission = admission
        self._clock = clock
        self._look_s = self._gather_s = 0.0

    def __call__(self) -> float:
        """Return `Headroom.gather_s`, of lately."""
        if (now_s := self._clock()) >= self._look_s:
            self._look_s = now_s + _LOOK_S
            self._gather_s = self._headroom.gather_s(now_s, self._admission.active)
        return self._gather_s


async def gathered(inbox: Inbox[Any], stream: Stream, audio: bytes, audio_of: Callable[[bytes], bytes]) -> list[bytes]:
    """Return the audio of a message, and of each that comes while its stream gathers.

    audio_of: returns the audio of a message, or raises SonorantError: it is left to `Inbox.next`, behind this audio.
    """
    found = [audio]
    if not audio or not stream.gathers or not await inbox.gather():
        return found
    while (message := inbox.take_audio()) is not None:
        try:
            found.append(audio_of(message))
        except SonorantError:
            inbox.put_back(message)
            break
    return found
