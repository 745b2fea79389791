import struct

from chaos.standstill import gaps, longest_standstill, times


def test_the_longest_time_between_two_signs_of_work_and_when_it_began():
    assert longest_standstill([0.0, 1.0, 5.0, 7.0]) == (4.0, 1.0)
    assert longest_standstill([3.0]) == (0.0, 0.0)


def test_what_we_stopped_ourselves_is_no_standstill_and_counts_once():
    assert longest_standstill([0.0, 10.0], [(1.0, 4.0), (2.0, 5.0)]) == (6.0, 0.0)
    assert longest_standstill([0.0, 10.0], [(-5.0, 2.0), (9.0, 20.0)]) == (7.0, 0.0)
    assert longest_standstill([0.0, 10.0, 13.0], [(1.0, 9.0)]) == (3.0, 10.0)


def test_a_fault_has_the_pauses_that_began_before_the_next():
    assert gaps([1.0, 6.0], [0.5, 3.5, 4.0, 6.5, 9.0]) == [2.5, 2.5]
    assert gaps([], [1.0, 2.0]) == []


def test_times_of_all_ranks_are_merged_and_half_a_number_is_left_out(tmp_path):
    (tmp_path / "steps.0").write_bytes(struct.pack("<2d", 1.0, 4.0))
    (tmp_path / "steps.1").write_bytes(struct.pack("<d", 2.0) + b"abc")
    (tmp_path / "arrivals.0").write_bytes(struct.pack("<d", 3.0))
    assert times(tmp_path, "steps") == [1.0, 2.0, 4.0]
    assert times(tmp_path, "arrivals", "steps") == [1.0, 2.0, 3.0, 4.0]
