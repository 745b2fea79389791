"""The recognizer's tests have the event loop of the served program."""

import asyncio

import pytest
import uvloop


@pytest.fixture(autouse=True)
def _event_loop_of_the_program():
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    yield
    asyncio.set_event_loop_policy(None)
