from itertools import islice

from chaos.faults import AT_THE_END, FAULTS, NEED_DISK, SLOW, draw

STAGES = ("shard_reader", "vtlp", "room", "featurizer")


def test_a_seed_gives_its_sequence_of_faults():
    injections = list(islice(draw(1, STAGES, FAULTS), 90))
    assert injections == list(islice(draw(1, STAGES, FAULTS), 90))
    assert injections != list(islice(draw(2, STAGES, FAULTS), 90))


def test_each_fault_comes_once_before_any_comes_again():
    faults = [injection.fault for injection in islice(draw(3, STAGES, FAULTS), 3 * len(FAULTS))]
    for cycle in range(3):
        assert set(faults[cycle * len(FAULTS) : (cycle + 1) * len(FAULTS)]) == set(FAULTS)


def test_every_kind_has_its_own_name_and_no_faults_give_no_injections():
    kinds = [fault.kind for fault in FAULTS + SLOW + AT_THE_END]
    assert len(set(kinds)) == len(kinds)
    assert {"term coordinator", "hang stage", "cut aof", "kill rank before last checkpoint"} <= set(kinds)
    assert {fault.noun for fault in FAULTS if fault.verb == "fill"} == set(NEED_DISK)
    assert list(draw(1, STAGES, [])) == []


def test_what_ends_a_gang_is_known_as_the_supervisor_allows_it_few_starts():
    counts = {fault.kind: fault.gang_ends for fault in FAULTS + SLOW}
    assert counts["kill rank before start"] == 2
    ends = {kind for kind, count in counts.items() if count}
    assert {"kill rank", "term rank", "kill mpirun", "hang rank", "kill coordinator before start"} <= ends
    assert not {"pause rank", "kill command", "kill stage", "kill redis before checkpoint"} & ends
