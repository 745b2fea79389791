from services.links.producer import _MAX_GRANT
from sonorant.training.outstanding_credit import OutstandingCredit


def test_no_more_is_granted_than_there_are_free_slots():
    credit = OutstandingCredit()
    assert [credit.up_to(8), credit.up_to(8), credit.up_to(10)] == [8, 0, 2]
    credit.used(4)
    assert [credit.up_to(10), credit.up_to(3)] == [4, 0]
    credit.used(99)
    assert credit.up_to(5) == 5


def test_a_grant_is_never_more_than_a_producer_takes():
    credit, slots = OutstandingCredit(), 3 * _MAX_GRANT
    granted = [credit.up_to(slots) for _ in range(100)]
    assert max(granted) <= _MAX_GRANT
    assert sum(granted) == slots
