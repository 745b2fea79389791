from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sonorant.fleet.registry import MOST_BEATS, Load, Registry

NAMES = st.sampled_from(["a", "b", "c"])
STAGES = st.sampled_from(["vtlp", "room"])
DEAD_AFTER_S = 2.5
HEARTBEAT_S = 0.5


def test_a_restarted_replica_appears_beside_the_old_one_until_that_is_dead():
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    registry.register("vtlp", "a", "tcp://h:1", 0.0)
    registry.register("vtlp", "b", "tcp://h:2", 1.0)
    assert registry.endpoints("vtlp") == ("tcp://h:1", "tcp://h:2")
    assert [r.name for r in registry.expire(2.5)] == ["a"]
    assert registry.endpoints("vtlp") == ("tcp://h:2",)
    assert not registry.heartbeat("a", Load(), 0, False, 2.6)


def test_the_more_replicas_the_slower_they_beat_and_the_later_they_are_missed():
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    registry.register("vtlp", "first", "", 0.0)
    for number in range(2 * MOST_BEATS - 1):
        registry.register("room", f"r{number}", "", 1.0)
    assert registry.heartbeat_s == 2.0
    assert registry.heartbeat("first", Load(), 0, False, 1.0)
    dead_s = 1.0 + DEAD_AFTER_S * 2.0 / HEARTBEAT_S
    registry.expire(dead_s - 0.01)
    assert "first" in registry
    registry.expire(dead_s)
    assert "first" not in registry


def test_a_fleet_that_shrinks_leaves_those_in_peace_that_were_told_to_beat_slowly():
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    for number in range(2 * MOST_BEATS):
        registry.register("room", f"r{number}", "", 0.0)
    registry.heartbeat("r0", Load(), 0, False, 10.0)  # and hears that the next is due in 2 s
    assert len(registry.expire(10.0)) > MOST_BEATS
    assert "r0" in registry
    registry.expire(10.0 + DEAD_AFTER_S)
    assert "r0" in registry


def test_more_replicas_than_anyone_runs_are_refused(monkeypatch):
    monkeypatch.setattr("sonorant.fleet.registry.MOST_REPLICAS", 2)
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    assert [registry.register("vtlp", name, "", 0.0) for name in ("a", "b", "c", "a")] == [True, True, False, True]


def test_what_is_kept_of_a_replica_is_bounded_however_often_it_beats():
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    registry.register("vtlp", "a", "", 0.0)
    for _ in range(1000):
        registry.heartbeat("a", Load(elapsed_s=0.0), 0, False, 0.0)
    (replica,) = registry.replicas()
    assert len(replica.loads) <= 64


def test_utilisation_and_rate_are_those_of_the_last_seconds():
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    registry.register("vtlp", "a", "", 0.0)
    for second in range(10):
        busy = Load(busy_s=0.0 if second < 5 else 0.8, elapsed_s=1.0, examples=10 * (second >= 5))
        registry.heartbeat("a", busy, 3, False, float(second))
    (replica,) = registry.replicas()
    assert abs(replica.utilisation - 0.8) < 1e-9
    assert abs(replica.examples_per_second - 10) < 1e-9


def test_only_an_empty_draining_replica_leaves_cleanly():
    registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
    for name, queued, draining in (("a", 0, True), ("b", 2, True), ("c", 0, False)):
        registry.register("vtlp", name, "", 0.0)
        registry.heartbeat(name, Load(), queued, draining, 0.0)
    assert {r.name: r.left_cleanly for r in registry.expire(9.0)} == {"a": True, "b": False, "c": False}


class RegistryMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.registry = Registry(HEARTBEAT_S, DEAD_AFTER_S)
        self.now = 0.0
        self.model = {}

    @rule(stage=STAGES, name=NAMES)
    def register(self, stage, name):
        self.registry.register(stage, name, f"tcp://{name}", self.now)
        self.model[name] = (stage, self.now)

    @rule(name=NAMES)
    def heartbeat(self, name):
        known = self.registry.heartbeat(name, Load(0.1, 0.5, 1), 0, False, self.now)
        assert known == (name in self.model)
        if known:
            self.model[name] = (self.model[name][0], self.now)

    @rule(passed=st.floats(0, 3))
    def time_passes(self, passed):
        self.now += passed
        silent = {name for name, (_, heard) in self.model.items() if self.now >= heard + DEAD_AFTER_S}
        assert {r.name for r in self.registry.expire(self.now)} == silent
        for name in silent:
            del self.model[name]

    @invariant()
    def endpoints_are_those_of_the_living(self):
        for stage in ("vtlp", "room"):
            expected = sorted(f"tcp://{name}" for name, (s, _) in self.model.items() if s == stage)
            assert list(self.registry.endpoints(stage)) == expected
        assert {name for name in "abc" if name in self.registry} == set(self.model)


TestRegistryMachine = RegistryMachine.TestCase
