import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.capacity.contention import Contention
from sonorant.capacity.measurements import Cost

SECONDS = st.floats(0, 10)


def service_s(*waits_s, cpu_s=0.1, cores=1.0, every_s=5.0, memory_s=300.0):
    contention = Contention(memory_s)
    for number, wait_s in enumerate(waits_s):
        contention.note("room", Cost(cpu_s + wait_s, cpu_s), number * every_s)
    return contention.service_s("room", Cost(cpu_s + waits_s[-1], cpu_s), cores)


def test_waits_that_come_with_more_replicas_are_none_of_the_stage():
    assert service_s(0.0, 0.1, 0.3) == pytest.approx(0.1)


def test_waits_that_were_always_there_are_the_stage_s_own():
    assert service_s(0.4, 0.4, 0.6) == pytest.approx(0.1 + 0.4)


def test_a_wait_that_has_lasted_is_taken_for_the_stage_s_own():
    assert service_s(0.0, *[0.3] * 60) == pytest.approx(0.1)
    assert service_s(0.0, *[0.3] * 61) == pytest.approx(0.1 + 0.3)


def test_a_replica_that_is_granted_a_part_of_a_core_needs_as_much_longer():
    assert service_s(0.0, 0.3, cores=0.25) == pytest.approx(0.1 / 0.25)
    assert service_s(0.0, 0.1, cores=0.25) == pytest.approx(0.1 + 0.1)  # and less where a node lets it have more
    assert service_s(0.0, 0.3, cores=4.0) == pytest.approx(0.1)  # of which one thread uses one


def test_a_replica_that_is_granted_nothing_has_what_it_gets():
    assert service_s(0.0, 0.3, cores=0.0) == pytest.approx(0.4)


@given(st.lists(SECONDS, min_size=1, max_size=30), SECONDS, st.floats(0, 4))
def test_it_lies_between_cpu_and_wall_time(waits_s, cpu_s, cores):
    found = service_s(*waits_s, cpu_s=cpu_s, cores=cores)
    assert cpu_s <= found + 1e-9
    assert found <= cpu_s + waits_s[-1] + 1e-9


@given(st.lists(SECONDS, min_size=1, max_size=100), st.floats(1, 60))
def test_the_least_wait_is_that_of_the_window(waits_s, memory_s):
    seen = [wait_s for n, wait_s in enumerate(waits_s) if n * 5.0 >= (len(waits_s) - 1) * 5.0 - memory_s]
    assert service_s(*waits_s, memory_s=memory_s) == pytest.approx(0.1 + min(seen))
