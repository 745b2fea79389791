"""Gathering: under load a stream's messages are recognized several at a time.

Each turn of a stream costs time, however little audio it has. While there is room for more streams, a message has its
turn when it comes; the less room there is, the longer streams wait from turn to turn, for what comes meanwhile
(`Headroom.turn_s`). The end of a stream's messages ends its wait, so that no final result is late for it.
"""

import time
from collections.abc import Callable
from typing import Any

from services.recognizer.inbox import Inbox
from sonorant.errors import SonorantError
from sonorant.serving.admission import Admission
from sonorant.serving.headroom import Headroom

__all__ = ["TurnTime", "gathered"]

_LOOK_S = 0.1


class TurnTime:
    """The time from turn to turn, in seconds; looked up now and then, since every message asks for it."""

    def __init__(self, headroom: Headroom, admission: Admission) -> None:
        self._headroom = headroom
        self._admission = admission
        self._look_s = self._turn_s = 0.0

    def __call__(self) -> float:
        """Return `Headroom.turn_s`, of lately."""
        if (now_s := time.monotonic()) >= self._look_s:
            self._look_s = now_s + _LOOK_S
            self._turn_s = self._headroom.turn_s(now_s, self._admission.active)
        return self._turn_s


async def gathered(inbox: Inbox[Any], audio: bytes, audio_of: Callable[[bytes], bytes]) -> list[bytes]:
    """Return the audio of a message, and of each that comes before its stream's turn.

    audio_of: returns the audio of a message, or raises SonorantError: it is left to `Inbox.next`, behind this audio.
    """
    found = [audio]
    if not await inbox.turn():
        return found
    while (message := inbox.audio()) is not None:
        try:
            found.append(audio_of(message))
        except SonorantError:
            inbox.put_back(message)
            break
    return found
