from chaos.blows import plan

STAGES = ("shard_reader", "vtlp", "room", "featurizer")


def test_a_seed_gives_its_sequence_of_blows_whatever_the_length():
    short = plan(1, 60.0, 2.0, STAGES)
    assert short == plan(1, 120.0, 2.0, STAGES)[: len(short)]
    assert short != plan(2, 60.0, 2.0, STAGES)


def test_an_hour_has_every_kind_of_blow():
    assert len({blow.kind for blow in plan(3, 3600.0, 3.0, STAGES)}) == 17


def test_a_gang_that_must_keep_its_size_is_not_resized_and_only_stages_that_run_are_hit():
    blows = plan(3, 3600.0, 3.0, ("example_server",), resizes=False)
    assert len({blow.kind for blow in blows}) == 16
    assert {blow.stage for blow in blows} == {"example_server"}
