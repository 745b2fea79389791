"""Launchers as a machine: whatever dies, hangs and comes back, no two generations train at once."""

import itertools

import hypothesis.strategies as st
from hypothesis import given, settings

from sonorant.fleet.gang import Action, Announcement, Board, Generation, Member

TOKENS = (f"token-{number}" for number in itertools.count())


def member(rank, ranks=2, revision="a", ready=True):
    made = Member(rank, ranks, revision, lambda: next(TOKENS))
    if ready:
        made.ready()
    return made


class Wall:
    """What Redis does for the board."""

    def __init__(self):
        self.board = Board()

    def announce(self, rank, announcement):
        self.board = Board(self.board.generation, {**self.board.announced, rank: announcement})

    def begin(self, generation):
        number = self.board.generation.number if self.board.generation else 0
        if generation.number == number + 1:
            self.board = Board(generation, self.board.announced)


class Pod:
    """A launcher with its rank; `running` is the generation that it is in, `seen` the board as it last read it."""

    def __init__(self, rank, ranks, revision):
        self.member = member(rank, ranks, revision, ready=False)
        self.revision = revision
        self.running = None
        self.displaced = False
        self.seen = Board()

    def act(self, wall):
        action = self.member.decide(self.seen)
        if action is Action.ANNOUNCE:
            wall.announce(self.member.rank, self.member.announcement)
        elif action is Action.BEGIN:
            wall.begin(self.member.next_generation(self.seen, "host:1"))
        elif action is Action.RUN and self.running is None:
            self.running = self.seen.generation
        elif action is Action.END:
            self.end()
        elif action is Action.LEAVE:
            self.displaced = True
            self.running = None
        return action

    def end(self):
        self.running = None
        self.member.renew()

    def step(self, wall):
        self.member.ready()
        self.seen = wall.board
        return self.act(wall)


class Cluster:
    """Pods, and given-up ones that still run, unobserved; each event happens to one pod."""

    EVENTS = (*("step",) * 6, *("read", "act") * 2, "is_ready", "dies", "dies", "is_replaced", "lives_on", "roll_out")

    def __init__(self, ranks):
        self.revision = 0
        self.wall = Wall()
        self.pods = [Pod(rank, ranks, "0") for rank in range(ranks)]
        self.given_up = []

    def happen(self, event, number):
        everyone = [*self.pods, *self.given_up]
        pod = everyone[number % len(everyone)]
        if event in ("is_replaced", "lives_on"):
            self.replace(number % len(self.pods), event == "lives_on")
        elif event == "roll_out":
            self.revision += 1
        elif pod.displaced:
            pass
        elif event == "step":  # read and act at once; "read" and "act" are for what happens in between
            pod.step(self.wall)
        elif event == "read":
            pod.seen = self.wall.board
        elif event == "act":
            pod.act(self.wall)
        elif event == "is_ready":
            pod.member.ready()
        elif event == "dies":
            pod.end()

    def replace(self, rank, lives_on=False):
        if lives_on:
            self.given_up.append(self.pods[rank])
        self.pods[rank] = Pod(rank, len(self.pods), str(self.revision))

    def check(self):
        running = [pod for pod in self.pods if pod.running]
        assert len({pod.running.tokens for pod in running}) <= 1, "two generations train at once"
        assert len({pod.revision for pod in running}) <= 1, "a gang is of two revisions"

    def settle(self):
        """Let nothing more happen: all train together within a few rounds."""
        self.given_up.clear()
        for rank, pod in enumerate(self.pods):
            if pod.displaced or pod.revision != str(self.revision):
                self.replace(rank)
        for _ in range(6):
            for rank, pod in enumerate(self.pods):
                if pod.step(self.wall) is Action.LEAVE:
                    self.replace(rank)
        assert {pod.running for pod in self.pods} == {self.wall.board.generation}
        assert [pod.step(self.wall) for pod in self.pods] == [Action.RUN] * len(self.pods)


@given(
    ranks=st.integers(1, 4),
    events=st.lists(st.tuples(st.sampled_from(Cluster.EVENTS), st.integers(0, 5)), max_size=80),
    forgets=st.sets(st.integers(0, 80), max_size=2),
)
@settings(max_examples=300)
def test_one_generation_trains_at_a_time_and_one_does_once_nothing_more_happens(ranks, events, forgets):
    cluster = Cluster(ranks)
    cluster.settle()
    for number, event in enumerate(events):
        if number in forgets:
            cluster.wall.board = Board()
        cluster.happen(*event)
        cluster.check()
    cluster.settle()


def gang(*announcements, generation=None):
    return Board(generation, dict(enumerate(announcements)))


def test_it_begins_when_all_are_there():
    first, second = member(0), member(1)
    assert first.decide(gang(first.announcement)) is Action.WAIT
    board = gang(first.announcement, second.announcement)
    assert second.decide(board) is Action.WAIT
    assert first.decide(board) is Action.BEGIN
    generation = first.next_generation(board, "host:1")
    assert generation == Generation(1, "host:1", (first.announcement.token, second.announcement.token))
    begun = gang(first.announcement, second.announcement, generation=generation)
    assert (first.decide(begun), second.decide(begun)) == (Action.RUN, Action.RUN)


def test_a_lost_rank_ends_the_generation_for_all_and_each_must_be_willing_again():
    first, second = member(0), member(1)
    before = gang(first.announcement, second.announcement)
    generation = first.next_generation(before, "host:1")
    assert second.decide(gang(first.announcement, second.announcement, generation=generation)) is Action.RUN
    used = second.announcement
    second.renew()
    seen = gang(first.announcement, second.announcement, generation=generation)
    assert first.decide(seen) is Action.END
    first.renew()
    first.ready()
    assert first.decide(gang(first.announcement, used, generation=generation)) is Action.WAIT
    assert first.decide(gang(first.announcement, second.announcement, generation=generation)) is Action.WAIT
    second.ready()
    again = gang(first.announcement, second.announcement, generation=generation)
    assert first.decide(again) is Action.BEGIN
    assert first.next_generation(again, "host:2").number == 2


def test_a_token_that_was_used_begins_nothing():
    first = member(0)
    used = Announcement("used", "a", True)
    over = Generation(7, "host:1", ("gone", "used"))
    assert first.decide(gang(first.announcement, used, generation=over)) is Action.WAIT


def test_two_revisions_make_no_gang():
    first, second = member(0, revision="new"), member(1, revision="old")
    assert first.decide(gang(first.announcement, second.announcement)) is Action.WAIT


def test_no_announcement_of_another_says_nothing():
    first = member(0)
    generation = Generation(1, "host:1", (first.announcement.token, "other"))
    assert first.decide(gang(first.announcement, generation=generation)) is Action.RUN


def test_a_board_that_forgot_the_generation_ends_it():
    first, second = member(0), member(1)
    board = gang(first.announcement, second.announcement)
    generation = first.next_generation(board, "host:1")
    assert first.decide(gang(first.announcement, second.announcement, generation=generation)) is Action.RUN
    assert first.decide(Board()) is Action.END


def test_what_lost_its_place_leaves_and_what_comes_takes_it():
    old, new = member(1), member(1)
    assert old.decide(gang(member(0).announcement, old.announcement)) is Action.WAIT
    assert new.decide(gang(member(0).announcement, old.announcement)) is Action.ANNOUNCE
    assert old.decide(gang(member(0).announcement, new.announcement)) is Action.LEAVE


def test_ranks_of_a_larger_gang_that_was_do_not_matter():
    first = member(0, ranks=1)
    board = Board(None, {0: first.announcement, 1: Announcement("left", "a", True)})
    assert first.decide(board) is Action.BEGIN
    generation = first.next_generation(board, "host:1")
    assert first.decide(Board(generation, board.announced)) is Action.RUN
