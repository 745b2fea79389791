from chaos.blows import plan


def test_a_seed_gives_its_sequence_of_blows_whatever_the_length():
    assert plan(1, 60.0, 2.0) == plan(1, 120.0, 2.0)[: len(plan(1, 60.0, 2.0))]
    assert plan(1, 60.0, 2.0) != plan(2, 60.0, 2.0)


def test_an_hour_has_every_kind_of_blow():
    assert len({blow.kind for blow in plan(3, 3600.0, 3.0)}) == 17
