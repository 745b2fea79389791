"""Endpointing: where utterances begin and end in a stream, and which of its audio is theirs."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.comfort_noise import LEVEL_DB
from sonorant.decoding.section import EndpointingRecipe
from sonorant.serving.voice_activity import FRAME_MS, VoiceActivity

__all__ = ["Begin", "Cut", "End", "Endpointer", "Speech", "Undivided", "Utterances", "open_endpointer"]

# An utterance begins with so many frames of speech among the latest ones, more than a click or a knock has.
_SPEECH_FRAMES = 4
_AMONG_FRAMES = 30
_LOOK_BACK_FRAMES = 100  # longest speech before its first fall; then a steady vowel is taken for noise
_GAP_FRAMES = 12  # without activity within one onset, as before a plosive
# Later in an utterance a shorter pause ends it, so that neither its search nor the wait for its result is long.
_LONG_FRAMES = 2000
_SHORT_PAUSE_FRAMES = 20
_FLOORLESS_FRAMES = 200  # of the floor's window in `voice_activity.hpp`: at first anything that is heard is activity
_RISE = 10**0.6  # of power, 6 dB: of the first sound of a word over the softest frame of what a stream begins with
_QUIET_POWER = 10 ** (LEVEL_DB / 10)  # of a sample; what is softer is quiet too


class Begin(NamedTuple):
    """An utterance begins: its audio at sample `start`, its speech at sample `speech`."""

    start: int
    speech: int


class Speech(NamedTuple):
    """The utterance's next audio, Float32[samples]."""

    samples: Waveform


class End(NamedTuple):
    """The utterance ends: its audio before sample `end`, its speech before sample `speech`."""

    end: int
    speech: int


Cut: TypeAlias = Begin | Speech | End
"""Of each utterance in turn: its Begin, its Speech in any number of pieces, its End."""


class Utterances(Protocol):
    """Cuts one stream into utterances; where does not depend on how its samples are cut into pushes.

    decided: samples that are an utterance's, or none's, whatever follows; a later utterance may begin with the rest.
    paused: whether the open utterance's speech has stopped for so long that its last word is whole.
    """

    @property
    def decided(self) -> int:
        """See the class."""
        ...

    @property
    def paused(self) -> bool:
        """See the class."""
        ...

    def push(self, samples: Waveform) -> Iterator[Cut]:
        """Yield what the next Float32[samples] decide."""
        ...

    def finish(self) -> Iterator[Cut]:
        """End the stream, and with it an open utterance."""
        ...


class Undivided:
    """`Utterances`: one, the whole stream."""

    paused = False

    def __init__(self) -> None:
        self._samples = 0

    @property
    def decided(self) -> int:
        """See `Utterances`."""
        return self._samples

    def push(self, samples: Waveform) -> Iterator[Cut]:
        """See `Utterances`."""
        if len(samples):
            if not self._samples:
                yield Begin(0, 0)
            self._samples += len(samples)
            yield Speech(samples)

    def finish(self) -> Iterator[Cut]:
        """See `Utterances`."""
        if self._samples:
            yield End(self._samples, self._samples)


class Endpointer:
    """`Utterances`: speech that pauses divide; what is between them, silence or stationary noise, belongs to none.

    An utterance begins `pre_roll_ms` before its speech, and ends after `silence_ms` without any, or activity that may
    turn out to be speech; after 20 s, a pause of 0.2 s is enough. The next one may begin with the pause that it ended
    with. The search has no say: when its units come depends on the model's blocks and delay.
    """

    def __init__(self, recipe: EndpointingRecipe, rate_hz: int) -> None:
        self._detector = VoiceActivity(rate_hz)
        self._hop = self._detector.hop
        self._pre_roll = round(recipe.pre_roll_ms / FRAME_MS)
        self._silence = max(1, round(recipe.silence_ms / FRAME_MS))
        self._held = np.empty(0, np.float32)  # the latest audio
        self._held_at = 0  # its first sample
        self._taken = 0  # first sample that no utterance has
        self._earliest = 0  # sample at which the next utterance may begin
        self._frames = 0
        self._begun: int | None = None  # frame at which the open utterance was found
        self._last = self._last_active = 0  # frames of speech and of activity
        self._active: deque[bool] = deque(maxlen=_LOOK_BACK_FRAMES)
        self._speech: deque[bool] = deque(maxlen=_AMONG_FRAMES)

    @property
    def decided(self) -> int:
        """See `Utterances`."""
        onset = self._onset(self._frames - 1) if self._begun is None else None
        return self._held_at + len(self._held) if onset is None else self._start(onset)

    @property
    def paused(self) -> bool:
        """See `Utterances`."""
        return (
            self._begun is not None
            and self._frames - self._last > _SHORT_PAUSE_FRAMES
            and self._frames - self._last_active > _GAP_FRAMES
        )

    def push(self, samples: Waveform) -> Iterator[Cut]:
        """See `Utterances`."""
        self._held = np.concatenate([self._held, samples])
        activity = self._detector.push(samples)
        frames = activity.active.tolist(), activity.speech.tolist()
        if self._may_end(len(frames[0])):
            yield from self._each(*frames)
        else:
            self._pass(*frames)
        if self._begun is not None:
            yield from self._take(self._boundary(self._frames - 1))
        self._forget()

    def finish(self) -> Iterator[Cut]:
        """See `Utterances`."""
        if self._begun is not None:
            end = self._held_at + len(self._held)
            yield from self._take(end)
            yield End(end, min(end, self._boundary(self._last)))

    def _may_end(self, frames: int) -> bool:
        """Return whether so many next frames may begin or end an utterance, whatever they have."""
        latest = self._frames + frames - 1
        return self._begun is None or latest - self._last >= self._needed(latest - self._begun)

    def _pass(self, active: list[bool], speech: list[bool]) -> None:
        """Note frames in the midst of an utterance."""
        self._last = _latest(speech, self._frames, self._last)
        self._last_active = _latest(active, self._frames, self._last_active)
        self._frames += len(active)

    def _each(self, active: list[bool], speech: list[bool]) -> Iterator[Cut]:
        for is_active, is_speech in zip(active, speech, strict=True):
            if is_speech:
                self._last = self._frames
            if self._begun is None:
                yield from self._outside(is_active, is_speech)
            else:
                yield from self._inside(is_active, self._frames - self._begun)
            self._frames += 1

    def _outside(self, active: bool, speech: bool) -> Iterator[Cut]:
        self._active.append(active)
        self._speech.append(speech)
        if not speech or self._speech.count(True) < _SPEECH_FRAMES:
            return
        self._begun = self._frames
        onset = self._onset(self._frames)
        assert onset is not None, "speech is activity"
        self._taken = self._start(onset)
        yield Begin(self._taken, max(self._taken, self._spoken(onset)))

    def _spoken(self, onset: int) -> int:
        """Return the first sample of speech in activity since frame `onset`; without a noise floor by its level."""
        first = onset * self._hop
        if onset >= _FLOORLESS_FRAMES:
            return first
        heard = self._held[first - self._held_at : self._boundary(self._frames) - self._held_at]
        powers = np.square(heard, dtype=np.float64).reshape(-1, self._hop).mean(1)
        return first + self._hop * int(np.argmax(powers > _RISE * max(powers.min(), _QUIET_POWER)))

    def _start(self, onset: int) -> int:
        """Return the first sample of an utterance whose activity began at frame `onset`."""
        return max(self._earliest, (onset - self._pre_roll) * self._hop)

    def _inside(self, active: bool, age: int) -> Iterator[Cut]:
        if active:
            self._last_active = self._frames
        if self._frames - self._last < self._needed(age) or self._frames - self._last_active < _GAP_FRAMES:
            return
        end = self._boundary(self._frames)
        yield from self._take(end)
        self._earliest = self._boundary(self._last)
        yield End(end, self._earliest)
        self._begun = None
        self._active.clear()
        self._speech.clear()

    def _needed(self, age: int) -> int:
        """Return the frames without speech that end an utterance of so many frames."""
        return self._silence if age < _LONG_FRAMES else min(self._silence, _SHORT_PAUSE_FRAMES)

    def _onset(self, latest: int) -> int | None:
        """Return the frame at which the activity began that goes on at the latest one, if it does."""
        onset, gap = None, 0
        for ago, active in enumerate(reversed(self._active)):
            gap = 0 if active else gap + 1
            if active:
                onset = latest - ago
            elif gap > _GAP_FRAMES:
                break
        return onset

    def _boundary(self, frame: int) -> int:
        """Return the sample at which a frame ends."""
        return (frame + 2) * self._hop

    def _take(self, end: int) -> Iterator[Speech]:
        """Yield the open utterance's next audio, before sample `end`."""
        if end > self._taken:
            samples = self._held[self._taken - self._held_at : end - self._held_at]
            self._taken = end
            yield Speech(samples)

    def _forget(self) -> None:
        """Drop what neither the open utterance nor a later one can have any more."""
        if self._begun is None:
            onset = self._onset(self._frames - 1)
            kept = self._start(self._frames if onset is None else onset)
        else:  # its audio is taken; a later one has the pre-roll of an onset to come, and none of this one's speech
            kept = max(self._boundary(self._last), (self._frames - self._pre_roll) * self._hop)
        if kept > self._held_at:
            self._held = self._held[kept - self._held_at :].copy()  # not a view of all that was pushed
            self._held_at = kept


def _latest(flags: list[bool], first: int, before: int) -> int:
    """Return the latest of the frames from `first` on whose flag is set; without any, `before`."""
    return first + len(flags) - 1 - flags[::-1].index(True) if True in flags else before


def open_endpointer(recipe: EndpointingRecipe | None, rate_hz: int) -> Utterances:
    """Return the utterances of a new stream; recipe: None: it is one."""
    return Undivided() if recipe is None else Endpointer(recipe, rate_hz)
