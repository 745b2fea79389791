import asyncio
import sys
from types import SimpleNamespace

import pytest

from services.recognizer_client.microphone import microphone
from sonorant.errors import Unavailable

CHUNK = bytes(1600)


class PortAudioError(Exception):
    pass


class Device:
    """A stream of sounddevice's that hears one chunk."""

    def __init__(self, rate_hz, blocksize, callback, finished_callback, **format):
        assert (rate_hz, blocksize, format) == (8000, 800, {"channels": 1, "dtype": "int16"})
        self.callback, self.finished = callback, finished_callback

    def start(self):
        self.callback(memoryview(CHUNK), 800, None, None)

    def close(self):
        self.finished()


class Unplugged(Device):
    def start(self):
        super().start()
        self.finished()


class Busy(Device):
    def start(self):
        raise PortAudioError("Device unavailable")


@pytest.fixture
def heard(monkeypatch):
    """The chunks of a device, which ends by itself, or is ended after `most` of them."""

    def heard(device, most=None):
        module = SimpleNamespace(RawInputStream=device, PortAudioError=PortAudioError)
        monkeypatch.setitem(sys.modules, "sounddevice", module)
        found = []

        async def run():
            with microphone(8000, 100.0) as (chunks, end):
                async for chunk in chunks:
                    found.append(chunk)
                    if len(found) == most:
                        end()

        try:
            asyncio.run(asyncio.wait_for(run(), 60))
        except Unavailable as error:
            return found, str(error)
        return found, ""

    return heard


def test_it_is_ended_though_it_hears_no_more(heard):
    assert heard(Device, most=1) == ([CHUNK], "")


def test_one_that_is_unplugged_is_an_error_behind_what_it_has_heard(heard):
    assert heard(Unplugged) == ([CHUNK], "--mic: the microphone has ended; connect it again")


def test_one_that_does_not_start_is_none(heard):
    assert heard(Busy) == ([], "--mic: no microphone at 8000 Hz: Device unavailable; connect one")
