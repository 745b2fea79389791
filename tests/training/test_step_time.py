from training.tiny import BINS, tiny_recipe

from sonorant.training.step_time import step_seconds


def test_a_step_takes_the_least_of_those_after_the_first():
    looks = iter([0.0, 9.0, 10.0, 14.0, 20.0, 22.0, 30.0, 33.0])  # 9, 4, 2 and 3 seconds
    assert step_seconds(tiny_recipe(), BINS, 12, lambda: next(looks)) == 2.0
    assert next(looks, None) is None
