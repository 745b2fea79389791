import pytest
import redis

from services.launcher.board import RedisBoard
from sonorant.fleet.gang import Announcement, Board, Generation

FIRST = Announcement("first", "a", True)
SECOND = Announcement("second", "b", False)


@pytest.fixture
def boards(redis_url):
    """The board as two launchers see it."""
    made = [RedisBoard(redis_url) for _ in range(2)]
    yield made
    for board in made:
        board.close()


def test_all_see_what_each_says(boards):
    assert boards[0].read() == Board()
    boards[0].announce(0, FIRST)
    boards[1].announce(1, SECOND)
    assert [board.read() for board in boards] == [Board(None, {0: FIRST, 1: SECOND})] * 2
    boards[0].announce(0, SECOND)
    assert [board.read() for board in boards] == [Board(None, {0: SECOND, 1: SECOND})] * 2


def test_a_number_is_given_to_one_generation(boards):
    generation, other = Generation(1, "a:1", ("x", "y")), Generation(1, "b:2", ("z", "y"))
    assert boards[0].begin(generation)
    assert not boards[1].begin(other)
    assert not boards[1].begin(Generation(3, "b:2", ("z", "y")))
    assert boards[1].read().generation == generation
    assert boards[1].begin(Generation(2, "b:2", ("z", "y")))


def test_what_has_not_changed_is_not_read_again_and_what_is_lost_is(boards, redis_url):
    boards[0].announce(0, FIRST)
    seen = boards[1].read()
    assert boards[1].read() is seen
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    client.close()
    assert boards[1].read() == Board()


def test_a_ledger_that_starts_anew_leaves_the_board_alone(boards, redis_url):
    from services.coordination.redis_ledger import RedisLedger

    boards[0].announce(0, FIRST)
    ledger = RedisLedger(redis_url, 8)
    ledger.restore(1, None)
    ledger.close()
    assert boards[1].read() == Board(None, {0: FIRST})
