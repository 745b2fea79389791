from services.process.backoff import Backoff


def test_pauses_double_up_to_the_longest():
    backoff = Backoff(0.1, 0.5)
    assert [backoff.pause_s() for _ in range(5)] == [0.1, 0.2, 0.4, 0.5, 0.5]


def test_a_success_begins_anew():
    backoff = Backoff(0.1, 0.5)
    backoff.pause_s()
    backoff.pause_s()
    backoff.reset()
    assert [backoff.pause_s() for _ in range(2)] == [0.1, 0.2]


def test_the_next_pause_can_be_asked_for_without_making_it():
    backoff = Backoff(1.0, 3.0)
    assert backoff.next_s == backoff.next_s == backoff.pause_s() == 1.0
    assert backoff.next_s == 2.0
