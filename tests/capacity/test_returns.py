"""Steps of a stage whose replicas each hand on some examples a second, until there are no more cores."""

import pytest

from sonorant.capacity.measurements import Counters, Measurements, Snapshot
from sonorant.capacity.returns import Returns


class World:
    """One stage; a trainer that could take `demand`, and gets what the stage hands on."""

    def __init__(self, each=5.0, most=50.0, demand=100.0, replicas=10):
        self.each, self.most, self.demand = each, most, demand
        self.cpu_s = 0.01
        self.replicas = self.there = replicas
        self.now_s = self.cpu_spent_s = self.trained_s = self.done = 0.0
        self.measured = Measurements(window_s=30)
        self.returns = Returns(settle_s=20, hysteresis=0.1, retry_s=900)
        self.iterate(8)

    def iterate(self, count):
        for _ in range(count):
            self.now_s += 5
            rate = min(self.demand, self.most, self.each * self.there)
            self.done += 5 * rate
            self.cpu_spent_s += 5 * rate * self.cpu_s
            self.trained_s += 5 * rate / self.demand
            room = {"a": Counters(self.now_s, int(self.done), self.cpu_spent_s)}
            self.measured.note(
                Snapshot({"room": room}, {"t": Counters(self.trained_s, int(self.done))}, {}), self.now_s
            )
            self.returns.judge({"room": self.replicas}, {"room": self.there}, self.measured, self.now_s)

    def step(self, replicas, comes=True):
        self.returns.asked("room", self.replicas, replicas, self.measured.rate("room"))
        self.replicas = replicas
        self.there = replicas if comes else self.there

    @property
    def limit(self):
        return self.returns.most("room", self.replicas)[0]


def test_a_step_that_brought_nothing_is_taken_back_and_says_why():
    world = World(each=5.0, most=50.0)
    world.step(15)
    world.iterate(8)
    most, why = world.returns.most("room", 15)
    assert most == 10
    assert why.startswith("room: 15 replicas handed on no more than 10, 50 examples/s")


@pytest.mark.parametrize("most", [55.0, 75.0, 200.0])
def test_a_step_that_brought_something_limits_nothing(most):
    world = World(each=5.0, most=most)
    world.step(13)
    world.iterate(8)
    assert world.limit is None


def test_no_further_step_is_taken_before_the_last_one_is_judged():
    world = World(each=5.0, most=75.0)
    world.step(12)
    world.iterate(1)
    assert world.limit == 12
    world.iterate(4)
    assert world.limit is None


def test_a_trainer_that_is_fed_blames_no_step():
    world = World(each=10.0, most=200.0, demand=100.0)
    world.step(15)
    world.iterate(8)
    assert world.limit is None


def test_replicas_that_have_not_come_are_not_judged():
    world = World()
    world.step(15, comes=False)
    world.iterate(30)
    assert world.limit is None
    world.there = 15
    world.iterate(8)
    assert world.limit == 10


def test_small_steps_are_judged_together():
    world = World(each=2.5, most=50.0, replicas=20)
    for replicas in (21, 22):
        world.step(replicas)
        world.iterate(6)
        assert world.limit == {21: None, 22: 20}[replicas]
    assert world.returns.most("room", 22)[1].startswith("room: 22 replicas handed on no more than 20")


@pytest.mark.parametrize("change", [{"demand": 120.0}, {"cpu_s": 0.013}, {"each": 8.0, "most": 90.0}])
def test_it_is_tried_again_when_something_has_changed(change):
    world = World()
    world.step(15)
    world.iterate(8)
    world.iterate(20)
    assert world.limit == 10
    for name, value in change.items():
        setattr(world, name, value)
    world.iterate(8)
    assert world.limit is None


def test_it_is_tried_again_after_a_while_if_nothing_has_changed():
    world = World()
    world.step(15)
    world.iterate(8)
    world.replicas = world.there = 10
    world.iterate(170)
    assert world.limit == 10
    world.iterate(20)
    assert world.limit is None


def test_a_step_that_was_undone_meanwhile_is_not_judged():
    world = World()
    world.step(15)
    world.replicas = world.there = 12
    world.iterate(30)
    assert world.limit is None
