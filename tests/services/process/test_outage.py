from hypothesis import given
from hypothesis import strategies as st

from services.process.outage import Outage


def test_it_is_told_when_it_begins_and_seldom_while_it_lasts():
    outage = Outage()
    told = [second for second in range(3600) if outage.failed(float(second))]
    assert told == [0, 10, 30, 70, 150, 310, *range(610, 3600, 300)]
    assert outage.ended(3600.0) == 3600.0
    assert outage.ended(3601.0) is None
    assert outage.failed(3602.0)


@given(st.lists(st.tuples(st.floats(0, 1000), st.booleans()), max_size=60))
def test_every_outage_is_told_at_its_beginning_and_ended_once(events):
    outage, now, lasts = Outage(), 0.0, False
    for waited, works in events:
        now += waited
        if works:
            assert (outage.ended(now) is not None) == lasts
        else:
            assert outage.failed(now) or lasts
        lasts = not works
        assert outage.lasts == lasts
