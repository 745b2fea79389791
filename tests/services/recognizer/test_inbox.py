"""A client's messages: none is lost or read too early, and limits end a wait for one."""

import asyncio

import pytest

from services.recognizer.inbox import Ending, Inbox
from sonorant.serving.errors import Draining, IdleStream

MESSAGE = b"x" * 100


class Client:
    """Sends what is put into `sent`; counts what was read."""

    def __init__(self, *messages):
        self.sent = asyncio.Queue()
        self.read = 0
        for message in messages:
            self.sent.put_nowait(message)

    def __aiter__(self):
        return self

    async def __anext__(self):
        message = await self.sent.get()
        if message is None:
            raise StopAsyncIteration
        if isinstance(message, Exception):
            raise message
        self.read += 1
        return message


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


def run(*messages, use, idle_s=60.0):
    async def inner():
        client, ending = Client(*messages), Ending()
        async with Inbox(client, idle_s, ending) as inbox:
            return await use(inbox, client, ending)

    return asyncio.run(inner())


def test_messages_come_in_order_and_then_none_however_often():
    async def use(inbox, client, ending):
        return [await inbox.next() for _ in range(5)]

    assert run(b"1" * 100, b"2" * 100, b"3" * 100, None, use=use) == [b"1" * 100, b"2" * 100, b"3" * 100, None, None]


def test_a_message_that_is_put_back_comes_again_before_the_others():
    async def use(inbox, client, ending):
        first = await inbox.next()
        await settled()
        inbox.put_back(first)
        return [await inbox.next() for _ in range(4)]

    assert run(b"1" * 100, b"2" * 100, b"3" * 100, None, use=use) == [b"1" * 100, b"2" * 100, b"3" * 100, None]


def test_one_message_is_read_ahead_of_those_that_are_taken():
    async def use(inbox, client, ending):
        read = []
        for _ in range(3):
            await settled()
            read.append(client.read)
            await inbox.next()
        return read

    assert run(*[MESSAGE] * 9, use=use) == [1, 2, 3]


def test_a_wait_that_is_cancelled_loses_no_message():
    async def use(inbox, client, ending):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await inbox.next()
        client.sent.put_nowait(MESSAGE)
        return await inbox.next()

    assert run(use=use) == MESSAGE


def test_an_error_of_the_transport_comes_behind_the_messages_before_it():
    async def use(inbox, client, ending):
        assert await inbox.next() == MESSAGE
        with pytest.raises(ConnectionError, match="gone"):
            await inbox.next()

    run(MESSAGE, ConnectionError("gone"), use=use)


def test_audio_moves_the_idle_limit_and_other_messages_do_not():
    async def use(inbox, client, ending):
        loop, began = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        await inbox.next()
        loop.call_later(0.15, inbox.heard)
        loop.call_later(0.2, client.sent.put_nowait, MESSAGE)
        await inbox.next()
        with pytest.raises(IdleStream, match=r"no audio for 0\.2 s"):
            await inbox.next()
        with pytest.raises(IdleStream):
            await inbox.next()
        return loop.time() - began

    assert run(MESSAGE, use=use, idle_s=0.2) > 0.34


def test_what_came_while_the_process_stood_still_counts_once_without_audio(monkeypatch):
    async def use(inbox, client, ending):
        loop, stood_s = asyncio.get_running_loop(), 0.0
        time_s = loop.time
        monkeypatch.setattr(loop, "time", lambda: time_s() + stood_s)

        async def behind_a_stall(message):
            nonlocal stood_s
            waiting = asyncio.create_task(inbox.next())
            await settled()
            stood_s += 100.0
            client.sent.put_nowait(message)
            return await waiting

        assert await behind_a_stall(MESSAGE) == MESSAGE
        inbox.heard()
        assert await behind_a_stall(b"") == b""
        with pytest.raises(IdleStream):
            await behind_a_stall(b"")

    run(use=use, idle_s=30.0)


def test_the_end_of_a_drain_ends_a_wait_and_allows_no_other():
    async def use(inbox, client, ending):
        asyncio.get_running_loop().call_later(0.01, ending.begin)
        with pytest.raises(Draining):
            await inbox.next()
        client.sent.put_nowait(MESSAGE)
        await settled()
        with pytest.raises(Draining):
            await inbox.next()
        assert ending.inboxes == {inbox}
        return ending

    assert not run(use=use).inboxes


def test_the_rest_comes_without_limits():
    async def use(inbox, client, ending):
        ending.begin()
        return [message async for message in inbox.rest()]

    assert run(MESSAGE, MESSAGE, None, use=use, idle_s=0.0) == [MESSAGE, MESSAGE]


def test_nothing_is_read_any_more_behind_its_context():
    async def inner():
        client = Client()
        async with Inbox(client, 60.0, Ending()) as inbox:
            await settled()
        client.sent.put_nowait(MESSAGE)
        await settled()
        return client.read, inbox

    assert asyncio.run(inner())[0] == 0
