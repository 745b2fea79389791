"""Calibration: what rounds of a model cost on this machine, measured before the first client comes."""

import asyncio
import time

import numpy as np

from services.recognizer.workers import MOST_JOBS, Workers
from sonorant.arrays import Waveform
from sonorant.serving.headroom import Headroom
from sonorant.serving.model import ServedModel
from sonorant.serving.steps import Steps
from sonorant.serving.utterance import Utterance

__all__ = ["calibrate"]

_CHUNK_S = 0.1
_STREAMS = (1, MOST_JOBS // 4, MOST_JOBS)
_LONGEST_S = 1.0  # then what has been measured must do


async def calibrate(model: ServedModel, workers: Workers, headroom: Headroom) -> None:
    """Recognize noise, as if it were speech, in rounds of few and many streams; `workers` tell `headroom` the costs."""
    noise = np.random.default_rng(0).standard_normal(round(_CHUNK_S * model.sample_rate_hz)) * 0.1
    chunk = noise.astype(np.float32)
    utterances = [Utterance(model, model.scorer, 0.0, 1) for _ in range(MOST_JOBS)]
    until_s = time.monotonic() + _LONGEST_S
    for _ in range(3):
        for streams in _STREAMS:
            if time.monotonic() < until_s:
                await asyncio.gather(*(_push(workers, utterance, chunk) for utterance in utterances[:streams]))
    headroom.cost.settle()


async def _push(workers: Workers, utterance: Utterance, samples: Waveform) -> None:
    heard_s = 0.0

    def steps() -> Steps[None]:
        nonlocal heard_s
        yield from utterance.push(samples)
        heard_s = _CHUNK_S

    await workers.run(steps(), audio_s=lambda: heard_s)
