"""From the samples of a stream to what a search needs of its frames: a model's, or that of several models and views.

Of a frame-synchronous model these are log-probabilities, of several their average; of a label-synchronous model encoded
frames, of several side by side.
"""

import abc
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features, Waveform
from sonorant.decoding import log_mean
from sonorant.serving.model import AcousticModel, ServedModel
from sonorant.serving.steps import Step, Steps, alone

__all__ = ["Averaged", "Joined", "Posteriors", "SingleModel", "no_posteriors", "open_posteriors", "whole_posteriors"]


class Posteriors(Protocol):
    """Frames of a stream, however its samples are cut into pushes; both calls may end with none.

    A frame has log-probabilities of the symbols, or is encoded; see the module.
    """

    def push(self, samples: Waveform) -> Steps[NDArray[np.float32]]:
        """Compute the frames [T', n] that Float32[samples] complete."""
        ...

    def finish(self) -> Steps[NDArray[np.float32]]:
        """Compute the frames [T', n] that the end of the stream completes."""
        ...


class SingleModel:
    """`Posteriors` of one model, of audio that is translated by `shift` samples; its length stays.

    shift: > 0: silence comes first, and the last samples fall out; < 0: the other way round.
    """

    def __init__(self, model: AcousticModel, shift: int = 0) -> None:
        self._model = model
        self._features = model.extractor.stream()
        self._state: Any = model.initial_state()
        self._delayed = np.zeros(max(0, shift), np.float32)
        self._dropped = self._silence = max(0, -shift)

    def push(self, samples: Waveform) -> Steps[NDArray[np.float32]]:
        """See `Posteriors`."""
        if len(self._delayed):
            line = np.concatenate([self._delayed, samples], dtype=np.float32)
            samples, self._delayed = line[: len(samples)], line[len(samples) :]
        dropped = min(self._dropped, len(samples))
        self._dropped -= dropped
        vectors, _ = yield Step(self._model.extractor, samples[dropped:], self._features)
        return (yield from self._step(vectors))

    def finish(self) -> Steps[NDArray[np.float32]]:
        """See `Posteriors`."""
        last = self._features.push(np.zeros(self._silence - self._dropped, np.float32))
        vectors, self._state = self._model.ended(np.concatenate([last, self._features.flush()]), self._state)
        log_probs = yield from self._step(vectors)
        return np.concatenate([log_probs, self._model.finish(self._state)])

    def _step(self, vectors: Features) -> Steps[NDArray[np.float32]]:
        if not len(vectors):
            return self._model.no_frames
        outputs, self._state = yield Step(self._model, vectors, self._state)
        log_probs: NDArray[np.float32] = outputs
        return log_probs


class _OfSeveral(abc.ABC):
    """`Posteriors` made of those of members, frame by frame; all must have the same number of frames."""

    def __init__(self, members: Sequence[Posteriors]) -> None:
        self._members = members
        self._waiting: list[NDArray[np.float32]] | None = None  # frames of each member that the others lack

    def push(self, samples: Waveform) -> Steps[NDArray[np.float32]]:
        """See `Posteriors`."""
        return (yield from self._together([member.push(samples) for member in self._members]))

    def finish(self) -> Steps[NDArray[np.float32]]:
        """See `Posteriors`."""
        return (yield from self._together([member.finish() for member in self._members]))

    @staticmethod
    @abc.abstractmethod
    def _made_of(frames: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return what the frames [T', n] of each member make."""

    def _together(self, members: Sequence[Steps[NDArray[np.float32]]]) -> Steps[NDArray[np.float32]]:
        found: list[NDArray[np.float32]] = []
        for member in members:
            found += [(yield from member)]
        return self._made_of(self._complete(found))

    def _complete(self, new: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Return the frames of each member that all have."""
        waiting = new if self._waiting is None else [np.concatenate(p) for p in zip(self._waiting, new, strict=True)]
        common = min(map(len, waiting))
        self._waiting = [frames[common:] for frames in waiting]
        return [frames[:common] for frames in waiting]


class Averaged(_OfSeveral):
    """The mean of the members' probabilities (Hannun 2014, section 2.1), of the same symbols."""

    @staticmethod
    def _made_of(frames: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return log_mean(frames)


class Joined(_OfSeveral):
    """The members' encoded frames side by side, as the decoders of ensembles take them."""

    @staticmethod
    def _made_of(frames: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return np.concatenate(frames, axis=1)


def whole_posteriors(posteriors: Posteriors, waveform: Waveform) -> NDArray[np.float32]:
    """Return the frames [T', n] of a whole recording, by posteriors that nothing was pushed to."""
    return np.concatenate([alone(posteriors.push(waveform)), alone(posteriors.finish())])


def open_posteriors(model: ServedModel, jitter_ms: float) -> Posteriors:
    """Return the posteriors of a new stream: over its members, and over translations by `jitter_ms`, if > 0."""
    jitter = round(jitter_ms * model.sample_rate_hz / 1000)
    shifts = (-jitter, 0, jitter) if jitter else (0,)
    views = [SingleModel(member, shift) for member in model.members for shift in shifts]
    if len(views) == 1:
        return views[0]
    return Averaged(views) if model.decoder is None else Joined(views)


def no_posteriors(model: ServedModel) -> NDArray[np.float32]:
    """Return the posteriors of no audio, [0, symbols], or [0, size] of encoded frames."""
    nothing = [member.no_frames for member in model.members]
    return nothing[0] if model.decoder is None else np.concatenate(nothing, axis=1)
