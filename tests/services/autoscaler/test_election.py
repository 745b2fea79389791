"""Who leads: candidates whose clocks have nothing in common."""

from services.autoscaler.election import Election, LeaseRecord

LASTS_S = 15.0


class Lease:
    """One that candidates share, as the API server keeps it."""

    def __init__(self):
        self.found = None
        self.writes = 0

    def attempt(self, candidate, now_s, reaches=True):
        """Let a candidate look, and write if it may; return whether it leads."""
        if reaches:
            if candidate.may_take(self.found, now_s):
                self.writes += 1
                self.found = LeaseRecord(candidate.identity, LASTS_S, str(self.writes))
                candidate.took(now_s)
            else:
                candidate.lost()
        return candidate.leads(now_s)


def test_who_comes_first_leads_and_the_other_stands_by():
    lease, a, b = Lease(), Election("a", LASTS_S), Election("b", LASTS_S)
    for now_s in range(0, 100, 5):
        assert lease.attempt(a, now_s)
        assert not lease.attempt(b, now_s)


def test_a_leader_that_is_gone_is_followed_once_its_lease_is_over():
    lease, a, b = Lease(), Election("a", LASTS_S), Election("b", LASTS_S)
    assert lease.attempt(a, 0)
    led = {now_s: lease.attempt(b, now_s) for now_s in (5, 10, 15, 20, 25)}
    assert led == {5: False, 10: False, 15: False, 20: True, 25: True}  # 15 s after b saw it first
    assert not lease.attempt(a, 26)


def test_clocks_that_differ_by_a_day_change_nothing():
    lease, a, b = Lease(), Election("a", LASTS_S), Election("b", LASTS_S)
    for skew_s in (86_400, -86_400):
        for now_s in range(0, 60, 5):
            assert lease.attempt(a, now_s)
            assert not lease.attempt(b, now_s + skew_s)


def test_a_leader_that_cannot_renew_stops_before_another_begins():
    lease, a, b = Lease(), Election("a", LASTS_S), Election("b", LASTS_S)
    lease.attempt(a, 0.0)
    for tenth in range(1, 400):
        now_s = tenth / 10
        leading = [lease.attempt(a, now_s, reaches=False), lease.attempt(b, now_s)]
        assert sum(leading) <= 1
    assert b.leads(40.0)


def test_a_slow_answer_counts_from_when_it_was_asked_for():
    a = Election("a", LASTS_S)
    a.may_take(None, 0.0)
    a.took(sent_s=0.0)
    assert a.leads(9.9)
    assert not a.leads(10.0)


def test_a_lease_that_was_given_up_is_free_at_once():
    lease, b = Lease(), Election("b", LASTS_S)
    lease.found = LeaseRecord("", LASTS_S, "7")
    assert lease.attempt(b, 0.0)
