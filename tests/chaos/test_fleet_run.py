"""A run waits for the training's end or any failure, not for the end of the faults."""

import asyncio

import pytest
from chaos.fleet_run import first_to_end_or_fail


def play(scene):
    asyncio.run(asyncio.wait_for(scene(), 20))


def test_the_end_of_the_faults_is_not_the_end_and_that_of_a_decisive_task_is():
    async def scene():
        loop = asyncio.get_running_loop()
        training, failed, injecting = (loop.create_future() for _ in range(3))
        waiting = asyncio.create_task(first_to_end_or_fail(training, failed, may_end=injecting))
        injecting.set_result(None)
        await asyncio.wait({waiting}, timeout=0.05)
        assert not waiting.done()
        training.set_result(None)
        await waiting
        assert not failed.done()

    play(scene)


@pytest.mark.parametrize("who", range(3))
def test_the_error_of_any_task_is_raised(who):
    async def scene():
        futures = [asyncio.get_running_loop().create_future() for _ in range(3)]
        *decisive, injecting = futures
        waiting = asyncio.create_task(first_to_end_or_fail(*decisive, may_end=injecting))
        futures[who].set_exception(OSError("it broke"))
        with pytest.raises(OSError, match="it broke"):
            await waiting

    play(scene)


def test_a_failure_after_the_last_fault_is_raised():
    async def scene():
        training, injecting = (asyncio.get_running_loop().create_future() for _ in range(2))
        waiting = asyncio.create_task(first_to_end_or_fail(training, may_end=injecting))
        injecting.set_result(None)
        asyncio.get_running_loop().call_soon(training.set_exception, OSError("too late"))
        with pytest.raises(OSError, match="too late"):
            await waiting

    play(scene)


def test_a_failure_that_comes_with_the_end_is_not_overlooked():
    async def scene():
        training, injecting = (asyncio.get_running_loop().create_future() for _ in range(2))
        training.set_result(None)
        injecting.set_exception(OSError("at the same time"))
        with pytest.raises(OSError, match="at the same time"):
            await first_to_end_or_fail(training, may_end=injecting)

    play(scene)
