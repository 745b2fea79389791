"""A recognizer that goes while another comes, as in a roll-out."""

import asyncio

import pytest
from rigs.babble import RATE_HZ
from rigs.recognizer import SPEECH, audio, interim, last

from services.recognizer.server import RecognizerServer
from services.recognizer_client.client import connect, open_recognizer, stream_recording
from sonorant.recipe.serving import ServingRecipe


@pytest.mark.parametrize("after_s", [0.0, 0.3, 0.5, 0.7])
def test_a_stream_too_late_for_one_goes_to_the_other_and_an_earlier_one_ends_in_peace(store, after_s):
    async def run():
        old, new = (RecognizerServer(store, ServingRecipe(port=0)) for _ in range(2))
        addresses = [f"127.0.0.1:{await server.start()}" for server in (old, new)]
        async with asyncio.timeout(60), open_recognizer(f"ipv4:{','.join(addresses)}") as channel:
            early = connect(channel).StreamingRecognize()
            await interim(early)
            going = asyncio.create_task(old.stop(30))
            await asyncio.sleep(after_s)
            late = await stream_recording(connect(channel), SPEECH, RATE_HZ)
            await early.write(audio())
            await early.done_writing()
            final = await last(early)
            await going
        await new.stop(0)
        return late.text, final.metadata.total_billed_duration.ToMilliseconds()

    text, billed_ms = asyncio.run(run())
    assert text
    assert billed_ms == 4000
