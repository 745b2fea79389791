"""Computations in company have the results that they have alone, in as few calls of a model as there are rounds."""

import pytest

from sonorant.serving.steps import Step, alone, together


def ends(computations):
    """How each computation ended, in their order."""
    return [done for _, done in sorted(together(computations), key=lambda end: end[0])]


class Doubles:
    """A model whose outputs are twice its features, and whose state counts."""

    def __init__(self):
        self.calls = []

    def steps(self, due):
        self.calls.append(len(due))
        if any(features == "broken" for features, _ in due):
            raise RuntimeError("out of order")
        return [(2 * features, state + 1) for features, state in due]


def summed(model, values):
    """Sum what the model makes of each value, one after another."""
    total, state = 0, 0
    for value in values:
        doubled, state = yield Step(model, value, state)
        total += doubled
    return total, state


def failing():
    raise ValueError("no such thing")
    yield


def test_many_share_a_call_in_each_round():
    model = Doubles()
    done = ends([summed(model, range(count)) for count in (3, 0, 1, 2)])
    assert [one.value() for one in done] == [(6, 3), (0, 0), (0, 1), (2, 2)]
    assert model.calls == [3, 2, 1]
    assert alone(summed(model, range(3))) == (6, 3)


def test_an_end_is_told_before_the_next_call():
    model, calls = Doubles(), []
    for number, _ in together([summed(model, [1, 2, 3]), summed(model, []), summed(model, [4])]):
        calls.append((number, len(model.calls)))
    assert calls == [(1, 0), (2, 1), (0, 3)]


def test_each_model_has_a_call_of_its_own():
    one, other = Doubles(), Doubles()
    done = ends([summed(one, [1]), summed(other, [2, 3]), summed(one, [4])])
    assert [found.value()[0] for found in done] == [2, 10, 8]
    assert (one.calls, other.calls) == ([2], [1, 1])


def test_an_error_ends_its_own_computation_alone():
    model = Doubles()
    first, second, third = ends([summed(model, [1, 2]), failing(), summed(model, [3])])
    assert (first.value()[0], third.value()[0]) == (6, 6)
    with pytest.raises(ValueError, match="no such thing"):
        second.value()


def test_an_error_of_a_call_is_one_of_all_that_wait_for_it():
    model = Doubles()
    done = ends([summed(model, [1, "broken"]), summed(model, [1, 2]), summed(model, [5])])
    for one in done[:2]:
        with pytest.raises(RuntimeError, match="out of order"):
            one.value()
    assert done[2].value()[0] == 10
    with pytest.raises(RuntimeError, match="out of order"):
        alone(summed(model, ["broken"]))
