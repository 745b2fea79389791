from benchmarks.credit import Fleet


def test_all_that_a_simulated_fleet_makes_is_sent_and_waits_where_slots_are_few():
    plenty, scarce = Fleet(64, 8, 10), Fleet(1, 8, 5)
    for fleet in (plenty, scarce):
        fleet.run(1000)
        assert min(fleet.waited_ms) >= 0
    assert 700 < len(plenty.waited_ms) < 900
    assert plenty.recalls == 0
    assert max(plenty.waited_ms) < 2
    assert scarce.recalls > 0
    assert max(scarce.waited_ms) > 10
