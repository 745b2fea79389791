"""Dynamic loss scaling, against what it should do step by step."""

import numpy as np
import pytest

from sonorant.tensorflow import tf
from sonorant.training import loss_scale
from sonorant.training.loss_scale import LossScale

FIRST = 2.0**15


@pytest.fixture(autouse=True)
def three_steps_until_it_grows(monkeypatch):
    monkeypatch.setattr(loss_scale, "_STEPS", 3)


def update(scale, sound=True, finite=True):
    return bool(scale.update(tf.constant(sound), tf.constant(finite)))


def test_it_is_doubled_after_as_many_steps_in_a_row_and_halved_by_an_overflow():
    scale, found = LossScale("float16"), []
    for finite in (True, True, True, True, True, False, True, True, True):
        assert update(scale, finite=finite) == (not finite)
        found.append(float(scale.scale) / FIRST)
    assert found == [1, 1, 2, 2, 2, 1, 1, 1, 2]


def test_a_step_without_examples_or_with_a_loss_that_is_not_finite_changes_nothing():
    scale = LossScale("float16")
    update(scale)
    before = scale.state()
    assert not update(scale, sound=False, finite=True)
    assert not update(scale, sound=False, finite=False)
    assert scale.state() == before


def test_at_a_scale_of_1_a_gradient_that_is_not_finite_is_no_overflow():
    scale = LossScale("float16")
    assert [update(scale, finite=False) for _ in range(17)] == [True] * 15 + [False] * 2
    assert float(scale.scale) == 1.0


def test_what_is_no_fault_of_the_scale_breaks_no_streak():
    scale = LossScale("float16")
    for sound, finite in ((True, True), (False, True), (True, True), (False, False), (True, True)):
        update(scale, sound, finite)
    assert float(scale.scale) == 2 * FIRST
    for _ in range(16):
        update(scale, finite=False)
    assert float(scale.scale) == 1
    for finite in (True, True, False, True):
        update(scale, finite=finite)
    assert float(scale.scale) == 2


def test_gradients_are_those_of_the_loss_itself_where_float16_would_have_none():
    scale, weight = LossScale("float16"), tf.Variable(3.0)

    def gradient(scaled):
        with tf.GradientTape() as tape:
            loss = scaled(tf.cast(tf.cast(weight, tf.float16) ** 2, tf.float32) * 1e-9)
        return tape.gradient(loss, weight)

    assert float(gradient(lambda loss: loss)) == 0
    assert float(scale.unscaled([gradient(scale.scaled)])[0]) == pytest.approx(6e-9, rel=1e-2)


def test_a_restored_one_goes_on_as_the_other():
    one, other = LossScale("float16"), LossScale("float16")
    for finite in (True, False, True, True):
        update(one, finite=finite)
    other.restore(one.state())
    for scale in (one, other):
        update(scale)
    assert one.state() == other.state() == {"scale": FIRST, "streak": 0.0}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_other_precisions_have_no_scale(precision):
    scale, loss = LossScale(precision), tf.constant(2.0)
    assert scale.scaled(loss) is loss
    assert not update(scale, finite=False)
    assert scale.state() == {}
    scale.restore({"scale": np.float32(4), "streak": np.float32(1)})
