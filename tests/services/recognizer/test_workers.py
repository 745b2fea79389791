import asyncio
import threading
import time

import pytest

from services.recognizer.workers import Workers
from sonorant.serving.steps import Step


class Blocking:
    """A model whose first call lasts until it is told to end, and which notes how many each call is for."""

    def __init__(self):
        self.entered, self.goes_on, self.calls = threading.Event(), threading.Event(), []

    def steps(self, due):
        self.calls.append(len(due))
        self.entered.set()
        assert self.goes_on.wait(10)
        return [(features + 1, None) for features, _ in due]


def added(model, value):
    found, _ = yield Step(model, value, None)
    return found


def failing():
    raise ValueError("odd")
    yield


@pytest.fixture
def workers():
    workers = Workers(1)
    yield workers
    workers.shutdown()


def test_what_becomes_due_during_a_call_shares_the_next_one(workers):
    model = Blocking()

    async def run():
        first = asyncio.create_task(workers.run(added(model, 0)))
        await asyncio.to_thread(model.entered.wait, 10)
        others = [asyncio.create_task(workers.run(added(model, value))) for value in range(1, 41)]
        gone = others.pop(3)
        await asyncio.sleep(0.05)
        gone.cancel()
        model.goes_on.set()
        return [await first, *(await asyncio.gather(*others))]

    assert asyncio.run(run()) == [1, *(value + 1 for value in range(1, 41) if value != 4)]
    assert model.calls == [1, 31, 8]  # one of the first 32 was cancelled


def test_errors_are_those_of_their_computations(workers):
    model = Blocking()
    model.goes_on.set()

    async def run():
        return await asyncio.gather(workers.run(added(model, 1)), workers.run(failing()), return_exceptions=True)

    found, error = asyncio.run(run())
    assert found == 2
    assert isinstance(error, ValueError)


def test_a_model_that_breaks_its_contract_leaves_no_stream_waiting(workers):
    class Short:
        def steps(self, due):
            return []

    async def run():
        with pytest.raises(ValueError, match="zip"):
            await workers.run(added(Short(), 1))
        model = Blocking()
        model.goes_on.set()
        return await workers.run(added(model, 1))

    assert asyncio.run(run()) == 2


def test_workers_share_what_is_due():
    workers, model = Workers(2), Blocking()

    async def run():
        first = [asyncio.create_task(workers.run(added(model, value))) for value in range(2)]
        while len(model.calls) < 2:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(workers.run(added(model, value))) for value in range(10)]
        await asyncio.sleep(0)
        model.goes_on.set()
        await asyncio.gather(*first, *others)
        await asyncio.to_thread(workers.shutdown)

    asyncio.run(run())
    assert model.calls[:2] == [1, 1]
    assert max(model.calls[2:]) <= 5


def test_the_end_waits_for_what_is_due():
    workers, model = Workers(2), Blocking()

    async def run():
        due = [asyncio.create_task(workers.run(added(model, value))) for value in range(5)]
        await asyncio.to_thread(model.entered.wait, 10)
        ending = asyncio.create_task(asyncio.to_thread(workers.shutdown))
        await asyncio.sleep(0.05)
        assert not ending.done()
        model.goes_on.set()
        await ending
        return await asyncio.gather(*due)

    assert asyncio.run(run()) == [1, 2, 3, 4, 5]


def test_what_is_due_goes_first_and_what_is_not_due_takes_part_of_a_round(workers):
    model, order = Blocking(), []

    async def run():
        first = asyncio.create_task(workers.run(added(model, 0)))
        await asyncio.to_thread(model.entered.wait, 10)

        async def noted(name, due_s):
            await workers.run(added(model, 0), due_s)
            order.append(name)

        ahead = [asyncio.create_task(noted("ahead", 1e9 + number)) for number in range(20)]
        await asyncio.sleep(0)
        due = [asyncio.create_task(noted("due", None)) for _ in range(3)]
        await asyncio.sleep(0)
        model.goes_on.set()
        await asyncio.gather(first, *ahead, *due)

    asyncio.run(run())
    assert order == ["due"] * 3 + ["ahead"] * 20
    assert model.calls == [1, 3 + 16, 4]


@pytest.mark.parametrize("early_s", [0.0, 0.9])
@pytest.mark.parametrize("urgent_s", [None, 5.0], ids=["at once", "ahead of its time"])
def test_live_audio_that_may_be_early_is_delayed_after_a_round_and_what_is_urgent_is_not(
    workers, monkeypatch, early_s, urgent_s
):
    model = Blocking()
    model.goes_on.set()
    monkeypatch.setattr("services.recognizer.workers._DELAY", 1e9)
    monkeypatch.setattr("services.recognizer.workers._LONGEST_DELAY_S", 60.0)

    async def run():
        await workers.run(added(model, 0))
        live = asyncio.create_task(workers.run(added(model, 0), time.monotonic() + early_s))
        await asyncio.sleep(0.01)
        await asyncio.gather(live, workers.run(added(model, 0), urgent_s and time.monotonic() + urgent_s))

    asyncio.run(run())
    assert model.calls == [1, 2]


def test_rounds_are_measured_with_the_audio_that_they_recognized():
    model, rounds, heard = Blocking(), [], [0.0]
    model.goes_on.set()
    workers = Workers(1, lambda *measured: rounds.append(measured))

    def recognized():
        found, _ = yield Step(model, 0, None)
        heard[0] += 0.5
        return found

    async def run():
        await workers.run(recognized(), audio_s=lambda: heard[0])
        await workers.run(added(model, 0), audio_s=lambda: heard[0])  # silence, which no model gets: not measured
        await workers.run(added(model, 0))
        while len(rounds) < 2:
            await asyncio.sleep(0)

    asyncio.run(run())
    workers.shutdown()
    assert [(jobs, audio_s) for _, jobs, audio_s, _ in rounds] == [(1, 0.5), (0, 0.0)]
    assert all(took_s > 0 for *_, took_s in rounds)
