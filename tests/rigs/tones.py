"""A model of tones, without training: each word is one tone, heard when it has lasted for a while.

Of a word that is cut in two, neither half may be long enough to be heard, or both. Its words do not depend on those
before them.
"""

import json

import numpy as np
from rigs.babble import RATE_HZ, UNITS, babble_recipe

from sonorant.decoding import Scorer
from sonorant.features.front_end import FeatureExtractor
from sonorant.serving.model_store import ModelStore
from sonorant.serving.stability import Stability

TONES_HZ = dict(zip(UNITS.symbols, (450, 900, 1500, 2300), strict=True))
LONG = 6  # vectors of a tone with which it is heard


class Tones:
    """A served model, and its one member; a state is the tone that lasts and for how many vectors."""

    name = "tones"
    search = "ctc"
    units = UNITS
    sample_rate_hz = RATE_HZ
    decoder = None
    no_frames = np.empty((0, UNITS.size + 1), np.float32)

    def __init__(self, version=1):
        self.version = version
        self.recipe = babble_recipe(self.name)
        self.extractor = FeatureExtractor(self.recipe.features, RATE_HZ)
        self.frame_seconds = self.extractor.vector_seconds
        self.frame_lag_s = 0.0
        self.scorer = Scorer(UNITS)
        self.stability = Stability()
        self.members = (self,)
        sounds = [noise(4000, 0), *(tone(hz, 0.5) + noise(4000, 1) for hz in TONES_HZ.values())]
        self._centres = np.stack([self.extractor(sound).mean(axis=0) for sound in sounds])

    def initial_state(self):
        return -1, 0

    def step(self, features, state):
        rows = [self._log_probs(state := self._next(vector, state)) for vector in features]
        return np.stack(rows), state

    def steps(self, due):
        return [self.step(features, state) for features, state in due]

    def ended(self, features, state):
        return features, state

    def finish(self, state):
        return self.no_frames

    def _next(self, vector, state):
        heard = int(np.argmin(((self._centres - vector) ** 2).sum(axis=1))) - 1
        return heard, state[1] + 1 if heard == state[0] else 1

    def _log_probs(self, state):
        heard, lasted = state
        unit = heard if heard >= 0 and lasted == LONG else UNITS.blank
        probabilities = np.full(UNITS.size + 1, 0.01, np.float32)
        probabilities[unit] = 0.96
        return np.log(probabilities)


def tone(hz, seconds):
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (0.2 * np.sin(2 * np.pi * hz * t) * (0.75 + 0.25 * np.sin(2 * np.pi * 5 * t))).astype(np.float32)


def noise(count, seed, deviation=1e-4):
    return (np.random.default_rng(seed).standard_normal(count) * deviation).astype(np.float32)


def spoken(count, seed, deviation=1e-4):
    """Samples of a recording, and its words with start and end in seconds; pauses are short, and no two words alike.

    deviation: of the noise; voice activity does not hear the softest.
    """
    rng = np.random.default_rng(seed)
    parts, words, last = [np.zeros(RATE_HZ // 2, np.float32)], [], None
    for _ in range(count):
        last = rng.choice([word for word in UNITS.symbols if word != last])
        begin = sum(map(len, parts)) / RATE_HZ
        parts.append(tone(TONES_HZ[last], rng.uniform(0.28, 0.55)))
        words.append((str(last), begin, sum(map(len, parts)) / RATE_HZ))
        parts.append(np.zeros(round(rng.uniform(0.06, 0.15) * RATE_HZ), np.float32))
    samples = np.concatenate([*parts, np.zeros(RATE_HZ // 2, np.float32)])
    samples += noise(len(samples), seed, deviation)
    return (np.rint(samples * 32768) / 32768).astype(np.float32), words


def tone_store(exports, *versions, labels=None):
    """A store of versions of the model; labels: of the labels file."""
    for version in versions:
        (exports / "tones" / str(version)).mkdir(parents=True)
    if labels:
        (exports / "tones" / "labels.json").write_text(json.dumps(labels))
    store = ModelStore(exports, lambda path: Tones(int(path.name)))
    store.refresh()
    return store
