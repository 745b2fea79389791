from chaos.schedule import plan

STAGES = ("shard_reader", "vtlp", "room", "featurizer")


def test_a_seed_gives_its_sequence_of_faults_whatever_the_length():
    short = plan(1, 60.0, 2.0, STAGES)
    assert short == plan(1, 120.0, 2.0, STAGES)[: len(short)]
    assert short != plan(2, 60.0, 2.0, STAGES)


def test_each_kind_of_fault_comes_once_before_any_comes_again():
    injections = plan(3, 3600.0, 3.0, STAGES)
    assert (
        len({injection.kind for injection in injections[:17]})
        == len({injection.kind for injection in injections})
        == 17
    )


def test_a_gang_that_must_keep_its_size_is_not_resized_and_only_stages_that_run_are_hit():
    injections = plan(3, 3600.0, 3.0, ("example_server",), resizes=False)
    assert len({injection.kind for injection in injections}) == 16
    assert {injection.stage for injection in injections} == {"example_server"}
