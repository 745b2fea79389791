"""A neural language model that is made up: a function of all labels before."""

import numpy as np

__all__ = ["MadeUp"]


class MadeUp:
    """Its state holds the labels before; `calls` has the number of sequences of each call of `extend`."""

    def __init__(self, units, seed):
        self.units, self.seed = units, seed
        self.calls = []

    def row(self, labels):
        scores = np.random.default_rng([self.seed, *(label + 1 for label in labels)]).normal(0, 2, self.units.size + 1)
        return scores - np.logaddexp.reduce(scores)

    def log_prob(self, labels):
        return sum(self.row(labels[:place])[y] for place, y in enumerate([*labels, self.units.size]))

    def begin(self, batch):
        return [[()]] * batch

    def next(self, before, parents, state):
        after = [
            [self._after(of[p], y) for p, y in zip(firsts, lasts, strict=True)]
            for of, firsts, lasts in zip(state, parents.tolist(), before.tolist(), strict=True)
        ]
        return np.array([[self.row(labels) for labels in of] for of in after]), after

    def first_state(self):
        return ()

    def extend(self, before, states):
        self.calls.append(len(before))
        after = [self._after(state, y) for state, y in zip(states, before, strict=True)]
        return np.array([self.row(labels) for labels in after], np.float32), after

    def _after(self, labels, y):
        return labels if y == self.units.size else (*labels, y)
