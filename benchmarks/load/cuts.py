"""Preset `cuts`: words that differ where a stream ends in the middle of one, with the resume token and without it.

Each recording is streamed three times: whole; up to the length limit in the middle of one of its words, from where the
client goes on by the token; and in two streams, cut at the same place, that know nothing of each other. Silence before
it puts that place at the limit, and is before the whole one, too.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.load.event_loop import event_loop
from benchmarks.load.experiment import Conditions, NotOurServer, Results
from benchmarks.load.models import Model
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from benchmarks.row import Progress, Row
from services.process.channels import open_aio_channel
from services.recognizer_client.client import StreamedTranscript, connect, stream_recording
from sonorant.arrays import Waveform
from sonorant.audio.pcm import from_int16
from sonorant.text.alignment import align
from sonorant.v1 import recognizer_pb2 as pb

__all__ = ["cuts"]

_BESIDE_S = 2.0  # of the limit, longer than the longest recording


class _Cut(NamedTuple):
    """A recording behind silence, its transcript, and that of its two parts apart."""

    samples: Waveform
    rate_hz: int
    whole: str
    apart: str


def cuts(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield, for each model, the words of the recordings and how many differ; raises NotOurServer."""
    if conditions.publish is None:
        raise NotOurServer("cuts: sets the length limit of a recognizer that it starts; leave out --server")
    limit_s = math.ceil(max(recording.duration_s for recording in conditions.recordings) + _BESIDE_S)
    found: dict[Model, list[_Cut]] = {}
    with conditions.serve(max_stream_seconds=2 * limit_s) as target, event_loop() as loop:
        for model in conditions.models:
            progress(f"whole recordings, {_name(model)}")
            found[model] = loop.run(_cut_all(target, conditions.recordings, model.name, limit_s))
    with conditions.serve(max_stream_seconds=limit_s) as target, event_loop() as loop:
        for model, cut in found.items():
            progress(f"{len(cut)} cuts, {_name(model)}")
            gone_on = loop.run(_go_on(target, cut, model.name))
            case = f"{len(cut)} cuts in words, {_name(model)}"
            yield Row("words", case, sum(len(one.whole.split()) for one in cut), "words")
            yield Row(
                "words that differ", case, _differ(cut, gone_on), "words",
                "no token", _differ(cut, [one.apart for one in cut]),
            )  # fmt: skip


def _name(model: Model) -> str:
    return model.label or model.name or "recognizer"


def _differ(cut: Sequence[_Cut], texts: Sequence[str]) -> int:
    return sum(align(one.whole, text).errors for one, text in zip(cut, texts, strict=True))


async def _cut_all(target: Target, recordings: Sequence[Recording], model: str, limit_s: int) -> list[_Cut]:
    """Return the recordings that have words, each cut in the middle of one, at `limit_s`."""
    found = []
    for number, recording in enumerate(recordings):
        rate_hz = recording.rate_hz
        samples = from_int16(np.frombuffer(recording.audio, "<i2"))
        if not (words := (await _streamed(target, samples, rate_hz, model)).words):
            continue
        word = words[np.random.default_rng(number).integers(len(words))]
        place = limit_s * rate_hz
        silence = place - round((word.start_s + word.end_s) / 2 * rate_hz)
        samples = np.pad(samples, (silence, 0))
        whole = await _streamed(target, samples, rate_hz, model)
        parts = [await _streamed(target, part, rate_hz, model) for part in (samples[:place], samples[place:])]
        found.append(_Cut(samples, rate_hz, whole.text, " ".join(part.text for part in parts)))
    return found


async def _go_on(target: Target, cut: Sequence[_Cut], model: str) -> list[str]:
    """Return the transcripts of streams that the limit ends, and that go on."""
    return [(await _streamed(target, one.samples, one.rate_hz, model)).text for one in cut]


async def _streamed(target: Target, samples: Waveform, rate_hz: int, model: str) -> StreamedTranscript:
    config = pb.RecognitionConfig(model=model, features=pb.RecognitionFeatures(enable_word_time_offsets=True))
    async with open_aio_channel(target.address) as channel:
        return await stream_recording(connect(channel), samples, rate_hz, config)
