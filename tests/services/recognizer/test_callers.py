import asyncio
from collections import Counter
from contextlib import ExitStack, suppress
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.recognizer.callers import CALLER, KeyedAdmission
from sonorant.errors import Unavailable
from sonorant.serving.api_keys import ApiKey
from sonorant.serving.errors import BadRequest, TooManyStreams

CALLERS = [None, ApiKey("few", bytes(32), streams=2), ApiKey("few", b"1" * 32, streams=3), ApiKey("any", b"2" * 32)]


def as_caller(caller, run):
    def call():
        CALLER.set(caller)
        return run()

    return copy_context().run(call)


@given(st.lists(st.tuples(st.sampled_from(CALLERS), st.booleans()), max_size=40), st.integers(1, 6))
def test_each_name_has_its_own_limit_and_all_together_that_of_the_server(calls, most):
    admission, held = KeyedAdmission(most), []
    for caller, opens in calls:
        if opens:
            of_name = sum(1 for other, _ in held if caller and other and other.name == caller.name)
            fits = len(held) < most and (caller is None or caller.streams is None or of_name < caller.streams)
            assert (as_caller(caller, lambda: admission.fitting) > 0) == fits
            slot = ExitStack()
            with suppress(TooManyStreams):
                as_caller(caller, lambda slot=slot: slot.enter_context(admission.slot()))
                held.append((caller, slot))
                assert fits
                continue
            assert not fits
        elif held:
            held.pop(0)[1].close()
    assert admission.active == len(held)
    assert +admission.streams == Counter(caller.name for caller, _ in held if caller)


def test_a_refusal_for_the_key_s_limit_says_so_and_when_to_try_again():
    admission = KeyedAdmission(10)

    def run():
        with admission.slot(), admission.slot(), admission.slot():
            pass

    with pytest.raises(TooManyStreams, match="API key 'few': 2 streams, no more than 2 at once; try again") as caught:
        as_caller(CALLERS[1], run)
    assert 0.5 <= caught.value.retry_s <= 10.0
    assert (admission.refused["few"], admission.streams["few"], admission.active) == (1, 0, 0)


def test_tasks_that_a_call_begins_count_against_its_key():
    async def run():
        CALLER.set(CALLERS[1])
        admission = KeyedAdmission(10)

        async def held():
            with admission.slot():
                return admission.streams["few"]

        return await asyncio.create_task(held())

    assert asyncio.run(run()) == 1


def test_after_close_nobody_is_admitted():
    admission = KeyedAdmission(10)
    admission.close()

    def run():
        with admission.slot():
            pass

    for caller in CALLERS:
        with pytest.raises(Unavailable, match="shutting down"):
            as_caller(caller, run)
    assert not +admission.streams


def test_a_stream_that_never_fits_its_key_is_refused_for_good():
    admission = KeyedAdmission(10)

    def run():
        with admission.slot(), pytest.raises(BadRequest, match="3 streams in one: it has 2 at most"):
            admission.slot(2, held=1).__enter__()
        return admission.active, admission.refused["a"]

    assert as_caller(ApiKey("a", b"", 2), run) == (0, 0)
