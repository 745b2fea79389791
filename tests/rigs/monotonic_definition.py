"""What the search by monotonic attention is to find, by going through all hypotheses, from the definition."""

import itertools

import numpy as np
from rigs.monotonic_table import END, WINDOW

from sonorant.decoding import Fusion

NOTHING = Fusion()


def added(fusion, labels, y):
    """What fusion adds for a label after others, from the definition."""
    prior = 0.0 if fusion.prior is None else fusion.prior_weight * fusion.prior[y]
    return (0.0 if fusion.model is None else fusion.weight * fusion.model.row(labels)[y]) - prior


def by_ctc(table, frames, labels):
    """log-probabilities, over all paths of the frames, that labels are spelt and that more may follow them."""
    rows = [table.frame_row(frame).astype(np.float64) for frame in frames]
    spelt, begun = [-np.inf], [-np.inf]
    for path in itertools.product(range(END + 1), repeat=len(rows)):
        log_prob = sum(row[y] for row, y in zip(rows, path, strict=True))
        spelling = tuple(y for y, before in zip(path, (None, *path), strict=False) if y not in (before, END))
        spelt += [log_prob] if spelling == labels else []
        begun += [log_prob] if spelling[: len(labels)] == labels else []
    return np.logaddexp.reduce(spelt), np.logaddexp.reduce(begun)


def exhaustive(table, frames, bonus=0.0, fusion=NOTHING, threshold=None, ctc_weight=0.0):
    """Scores of all hypotheses that end, with the frames of their labels, from the definition; by labels."""
    windows = [frames[max(0, t - WINDOW + 1) : t + 1] for t in range(len(frames))] + [frames[:0]]
    ended, refused = {}, {}

    def follow(labels, heads, score, t, here):
        """Here: labels that have attended to frame t."""
        while t < len(frames) and (here == 4 or not table.stops(labels, windows[t][-1])):
            t, here = t + 1, 0
        row = table.row(labels, windows[t])
        margin = 1.0 if threshold is None else row[END] - threshold * row[:END].max()  # Hannun 2019
        own = (1 - ctc_weight) * row
        total = score + own[END] + added(fusion, labels, END)
        if ctc_weight:
            total += ctc_weight * by_ctc(table, frames, labels)[0]
        if margin > 0:
            ended[labels] = (total, heads)
        else:
            refused[labels] = (margin, total, heads)
        if t == len(frames) and here == 4:
            return
        for y in range(END):
            gain = own[y] + bonus + added(fusion, labels, y)
            follow((*labels, y), (*heads, min(t, len(frames) - 1)), score + gain, t, here + 1)

    follow((), (), 0.0, 0, 0)
    nearest = max(refused, key=lambda labels: refused[labels][:2], default=None)
    return ended or {nearest: refused[nearest][1:]}
