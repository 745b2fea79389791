"""Made-up decoders with monotonic attention, for searches and ensembles."""

import numpy as np

from sonorant.text.units import Units

WORDS = Units("words", ("one", "three", "two"))
END = WORDS.size
WINDOW = 2
DEEPEST = 60  # labels that a state has room for


class Table:
    """A made-up decoder: whether labels attend to a frame, and what follows, are functions of labels and window.

    A frame's only value is its number, or any other that names it. A state has the labels, their number, and the label
    that is sought after.
    """

    window = WINDOW

    def __init__(self, seed, attends=0.4):
        self.seed, self.attends, self.looks, self.most = seed, attends, 0, 0

    def stops(self, labels, frame):
        return np.random.default_rng([self.seed, 1, int(frame), *(y + 1 for y in labels)]).random() < self.attends

    def row(self, labels, window):
        key = [self.seed, 2, *(int(frame) + 1 for frame in window), 0, *(y + 1 for y in labels)]
        scores = np.random.default_rng(key).normal(0, 2, END + 1)
        return scores - np.logaddexp.reduce(scores)

    def begin(self):
        return np.zeros((1, DEEPEST), np.int32), np.array([-1])

    def seek(self, before, states):
        labels, counts = (state.copy() for state in states)
        assert len(before) == len(labels) > 0
        for row, label in enumerate(before):
            if label != END:
                labels[row, counts[row]] = label
            counts[row] += 1
        return labels, counts

    def look(self, heard, states):
        frames = heard.offered
        assert len(heard.frames) <= self.window
        assert heard.count >= len(heard.frames) > 0
        self.looks += 1
        self.most = max(self.most, len(states[0]))
        hypotheses = [tuple(labels[:count].tolist()) for labels, count in zip(*states, strict=True)]
        stops = [not len(frames) or self.stops(labels, frames[-1, 0]) for labels in hypotheses]
        rows = [self.row(labels, frames[:, 0]) for labels in hypotheses]
        blank = np.full(END + 1, np.nan)  # of who does not attend: no meaning
        return np.array(stops), np.array([r if s else blank for r, s in zip(rows, stops, strict=True)]), states

    def frame_log_probs(self, encoded):
        return [np.stack([self.frame_row(frame) for frame in frames[:, 0]]) for frames in encoded]

    def frame_row(self, frame):
        """What CTC says of a frame, blank last."""
        probabilities = np.random.default_rng([self.seed, 4, int(frame)]).dirichlet(np.ones(END + 1))
        return np.log(probabilities).astype(np.float32)


class Reader:
    """Says a text, a label a frame; a state is a number.

    rivals: probability of the label above that of the text, by its place, the last one's for all that follow.
    """

    window = 1

    def __init__(self, text, rivals):
        self.text, self.rivals = text, rivals

    def begin(self):
        return (np.array([-1]),)

    def seek(self, before, states):
        return (states[0] + 1,)

    def look(self, heard, states):
        rows = np.full((len(states[0]), END + 1), 0.05)
        for row, place in zip(rows, states[0], strict=True):
            if place < len(self.text):
                rival = self.rivals[min(place, len(self.rivals) - 1)]
                row[[self.text[place], (self.text[place] + 1) % END]] = 0.9 - rival, rival
            else:
                row[END] = 0.9
        return (states[0] == heard.count - 1) | heard.over, np.log(rows), states
