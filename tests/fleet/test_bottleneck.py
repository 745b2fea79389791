import pytest

from sonorant.fleet.bottleneck import StageLoad, find_bottleneck

READER = StageLoad("shard_reader", 0.1, 16)


def test_the_busiest_stage_holds_a_starved_trainer_back():
    assert find_bottleneck([READER, StageLoad("vtlp", 0.5, 3), StageLoad("room", 0.97, 9)], 0.4) == "room"


def test_a_fed_trainer_is_the_limit_itself():
    assert find_bottleneck([READER, StageLoad("room", 0.99, 9)], 0.95) == ""


@pytest.mark.parametrize("stages", [[], [READER, StageLoad("vtlp", 0.05, 0)]])
def test_idle_stages_are_not_blamed(stages):
    assert find_bottleneck(stages, 0.1) == ""


def test_of_two_busy_stages_the_one_with_the_longer_queue_is_named():
    assert find_bottleneck([StageLoad("vtlp", 0.98, 14), StageLoad("room", 0.99, 0)], None) == "vtlp"
