import pytest

from sonorant.capacity.measurements import Counters, Snapshot
from sonorant.capacity.planner import Planner, PlannerSettings
from sonorant.capacity.sizing import Bounds

STAGES = ("vtlp", "room")


class World:
    """Counters of a chain that costs 0.02 and 0.1 s an example, and of a trainer that could take `rate`."""

    def __init__(self, rate, **settings):
        self.rate, self.now_s, self.done = rate, 0.0, 0
        self.replicas = {"vtlp": 1, "room": 1}
        self.missing = set()
        self.wanted = 0
        self.finished = False
        self.planner = Planner(STAGES, PlannerSettings(**settings))
        self.trained_s = 0.0
        self.iterate()

    def iterate(self, elapsed_s=5.0):
        self.now_s += elapsed_s
        self.done += 100
        self.trained_s += 100 / self.rate
        costs = {"vtlp": 0.02, "room": 0.1}
        stages = {stage: {stage: Counters(costs[stage] * self.done, self.done)} for stage in {*STAGES} - self.missing}
        snapshot = Snapshot(stages, {"rank-0": Counters(self.trained_s, self.done)}, {}, self.wanted, self.finished)
        return self._decide(snapshot)

    def silence(self):
        self.now_s += 5
        return self._decide(None)

    def _decide(self, snapshot):
        decision = self.planner.decide(snapshot, self.replicas, self.now_s)
        self.replicas = dict(decision.replicas)
        return decision


def test_grows_to_the_right_size_in_one_step():
    world = World(rate=100)
    decision = world.iterate()
    assert decision.replicas == {"vtlp": 3, "room": 13}
    assert decision.demand.rate == pytest.approx(100)
    assert decision.predicted == pytest.approx(100)
    assert decision.service_s == pytest.approx({"vtlp": 0.02, "room": 0.1})
    assert world.iterate().replicas == {"vtlp": 3, "room": 13}


def test_more_is_asked_for_again_only_when_what_was_asked_for_had_time_to_show():
    world = World(rate=50, window_s=1, settle_s=20)
    assert world.iterate().replicas == {"vtlp": 2, "room": 7}
    world.rate = 100
    for _ in range(3):
        assert world.iterate().replicas == {"vtlp": 2, "room": 7}
    assert world.iterate().replicas == {"vtlp": 3, "room": 13}


@pytest.mark.parametrize("finished", [False, True])
def test_more_that_was_needed_only_while_the_planner_waited_is_not_asked_for_afterwards(finished):
    world = World(rate=50, window_s=1, settle_s=20)
    world.iterate()
    world.rate = 400
    world.iterate()
    world.rate, world.finished = 50, finished
    for _ in range(10):
        assert world.iterate().replicas == {"vtlp": 2, "room": 7}


def test_what_was_asked_for_in_vain_is_asked_for_again_at_once():
    world = World(rate=100, settle_s=20)
    world.iterate()
    world.replicas = {"vtlp": 1, "room": 1}
    assert world.iterate().replicas == {"vtlp": 3, "room": 13}


def test_shrinks_only_after_less_was_enough_for_the_whole_window():
    world = World(rate=100, stabilisation_s=60, window_s=1)
    world.iterate()
    world.rate = 40
    for _ in range(12):
        assert world.iterate().replicas == {"vtlp": 3, "room": 13}
    assert world.iterate().replicas == {"vtlp": 2, "room": 6}  # 5.5 busy replicas if the demand grew by a tenth


def test_a_moment_of_higher_demand_begins_the_window_anew():
    world = World(rate=100, stabilisation_s=60, window_s=1)
    world.iterate()
    for step in range(30):
        world.rate = 100 if step == 10 else 40
        world.iterate()
        assert (world.replicas["room"] == 13) == (step < 10 + 13)


def test_a_demand_that_wavers_around_a_whole_number_changes_nothing():
    world = World(rate=97, stabilisation_s=0, window_s=1)
    world.iterate()
    seen = set()
    for step in range(20):
        world.rate = 97 if step % 2 else 95
        seen.add(world.iterate().replicas["room"])
    assert seen == {13}


def test_a_training_that_is_complete_needs_the_least_that_there_may_be():
    world = World(rate=100, stabilisation_s=60, bounds={"room": Bounds(least=2)})
    world.iterate()
    world.finished = True
    world.missing = {"vtlp"}
    seen = [world.iterate().replicas for _ in range(13)]
    assert seen[0] == {"vtlp": 3, "room": 13}
    assert seen[-1] == {"vtlp": 1, "room": 2}


@pytest.mark.parametrize("stage", STAGES)
def test_holds_while_a_stage_is_not_measured_and_names_it(stage):
    world = World(rate=100)
    world.missing = {stage}
    decision = world.iterate()
    assert decision.replicas == {"vtlp": 1, "room": 1}
    assert decision.held.startswith(stage)


def test_the_others_make_room_for_a_stage_of_which_nothing_comes():
    world = World(rate=100, arrival_s=60)
    world.iterate()
    world.missing = {"room"}
    for _ in range(11):
        assert world.iterate().replicas == {"vtlp": 3, "room": 13}
    made = world.iterate()
    assert made.replicas == {"vtlp": 1, "room": 1}
    assert made.held.startswith("room: none of it came in 60 s")
    world.missing = set()
    world.iterate()  # which tells nothing yet
    assert world.iterate().replicas == {"vtlp": 3, "room": 13}


def test_a_stage_may_be_away_for_a_while_again_and_again():
    world = World(rate=100, arrival_s=60)
    world.iterate()
    for missing in ({"room"}, set()) * 3:
        world.missing = missing
        for _ in range(9):
            assert world.iterate().replicas == {"vtlp": 3, "room": 13}


def test_nothing_makes_room_because_of_what_was_missing_before_another_training():
    world = World(rate=100, arrival_s=60)
    world.iterate()
    world.finished = True
    for _ in range(30):
        world.iterate()
    world.finished, world.missing = False, {"room"}
    assert "yield cores" not in world.iterate().held


def test_nothing_makes_room_before_anything_is_there():
    world = World(rate=100, arrival_s=60)
    world.iterate()
    world.missing = {*STAGES}
    for _ in range(30):
        assert world.iterate().replicas == {"vtlp": 3, "room": 13}


def test_nothing_makes_room_while_nobody_can_look():
    world = World(rate=100, arrival_s=60)
    world.iterate()
    for _ in range(30):
        assert world.silence().replicas == {"vtlp": 3, "room": 13}
    world.missing = {"room"}
    assert world.iterate().replicas == {"vtlp": 3, "room": 13}


def test_holds_while_nothing_is_measured_and_begins_the_window_anew():
    world = World(rate=100, stabilisation_s=60, window_s=1)
    world.iterate()
    world.rate = 40
    for _ in range(6):
        world.iterate()
    decision = world.silence()
    assert decision.held == "no measurements"
    assert decision.replicas == {"vtlp": 3, "room": 13}
    for _ in range(12):
        assert world.iterate().replicas["room"] == 13
    world.iterate()
    assert world.iterate().replicas["room"] == 6


def test_a_trainer_that_is_away_makes_nothing_smaller():
    world = World(rate=100, stabilisation_s=0)
    world.iterate()
    gone = Snapshot({stage: {stage: Counters(1e3, 10_000)} for stage in STAGES}, {}, {})
    decision = world.planner.decide(gone, world.replicas, world.now_s + 5)
    assert decision.replicas == {"vtlp": 3, "room": 13}
    assert "trainer" in decision.held


def test_empty_pools_of_a_trainer_that_has_not_begun_are_filled_in_time():
    planner = Planner(STAGES, PlannerSettings(catch_up_s=10))
    ranks = {"rank-0": Counters(0, 0)}
    for now_s, done in ((0, 0), (5, 10)):
        stages = {"vtlp": {"v": Counters(0.02 * done, done)}, "room": {"r": Counters(0.1 * done, done)}}
        decision = planner.decide(Snapshot(stages, ranks, {}, wanted=256), {"vtlp": 1, "room": 1}, now_s)
    assert decision.replicas == {"vtlp": 1, "room": 4}  # 25.6 examples/s
    assert decision.held


def test_catching_up_asks_for_more_but_not_for_much_more():
    world = World(rate=100, catch_up_s=10, settle_s=0)
    world.wanted = 200
    assert world.iterate().replicas["room"] == 15  # 120 examples/s
    world.wanted = 100_000
    assert world.iterate().replicas["room"] == 19  # 150
    assert world.iterate().predicted == pytest.approx(100)


def test_more_cores_than_there_are_saturate_with_a_message():
    decision = World(rate=1000, cores=24).iterate()
    assert decision.replicas == {"vtlp": 4, "room": 20}
    assert decision.predicted == pytest.approx(200)
    assert "150 cores are needed, 24 allowed" in decision.limits[0]


def test_bounds_hold():
    decision = World(rate=100, bounds={"vtlp": Bounds(least=5), "room": Bounds(most=6)}).iterate()
    assert decision.replicas == {"vtlp": 5, "room": 6}
    assert decision.predicted == pytest.approx(60)
