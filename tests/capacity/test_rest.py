"""What rests when training is complete, by nothing but numbers."""

from hypothesis import given
from hypothesis import strategies as st

from sonorant.capacity.rest import Rest

WANTED = {"room": 2, "gain": 1, "trainer": 4}
REST = Rest(WANTED, fixed=frozenset({"trainer"}))
counts = st.fixed_dictionaries({name: st.integers(0, 9) for name in WANTED})


def after(replicas, *, complete, resting):
    return replicas | REST.changes(complete, resting, replicas)


@given(counts, st.booleans())
def test_complete_training_leaves_nothing_and_what_goes_on_has_all_it_needs(replicas, resting):
    asleep = after(replicas, complete=True, resting=resting)
    assert set(asleep.values()) == {0}
    assert REST.changes(True, True, asleep) == {}
    assert after(asleep, complete=False, resting=True) == WANTED


@given(counts)
def test_what_somebody_else_scaled_to_nothing_is_left_alone(replicas):
    now = after(replicas, complete=False, resting=False)
    assert {name for name, count in now.items() if not count} == {n for n, count in replicas.items() if not count}


@given(counts)
def test_stages_are_another_s_to_scale_while_training_goes_on_and_ranks_are_as_many_as_they_must_be(replicas):
    now = after(replicas, complete=False, resting=False)
    assert all(now[stage] == replicas[stage] for stage in ("room", "gain"))
    assert now["trainer"] in (0, 4)
