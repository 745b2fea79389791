"""What is said of streams that wait for a recognizer's capacity."""

from services.evaluation.capacity_waits import CapacityWaits


class Clock:
    now_s = 100.0

    def __call__(self):
        return self.now_s


def test_the_line_names_the_streams_the_longest_wait_and_its_reason():
    clock = Clock()
    waits = CapacityWaits(lambda _: None, clock)
    assert waits.line == ""
    with waits("full", 90.0):
        clock.now_s = 125.4
        with waits("fuller", 101.0):
            assert waits.line == "waiting 35 s for capacity, streams: 2: full"
        assert waits.line == "waiting 35 s for capacity, streams: 1: full"
    assert waits.line == ""


def test_a_wait_is_said_once_whatever_its_tries_and_the_next_one_again():
    clock, said = Clock(), []
    waits = CapacityWaits(said.append, clock)
    for reason in ("full", "still full"):
        with waits(reason, 100.0):
            clock.now_s += 5
            with waits("another's", 104.0):
                clock.now_s += 5
    assert said == ["the recognizer has no capacity: full"]
    with waits("full again", clock.now_s + 1):
        pass
    assert said[1:] == ["the recognizer has no capacity: full again"]
