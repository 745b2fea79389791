"""Waits for the slots of streams: a client may know before the recognizer that its stream has ended.

In the recognizer's event loop; where it never comes to that, the timeout of the rig that serves it ends the wait.
"""

import asyncio

_LOOK_EVERY_S = 0.01


async def until_taken(engine):
    """Wait until some stream has a slot."""
    while not engine.admission.active:
        await asyncio.sleep(_LOOK_EVERY_S)


async def until_free(engine):
    """Wait until none has."""
    while engine.admission.active:
        await asyncio.sleep(_LOOK_EVERY_S)
