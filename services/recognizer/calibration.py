"""Calibration: what rounds of a model cost on this machine, measured before the first client comes."""

import asyncio
import time

import numpy as np

from services.recognizer.workers import MOST_JOBS, Workers
from sonorant.audio.pcm import to_int16
from sonorant.serving.headroom import Headroom
from sonorant.serving.model import ServedModel
from sonorant.serving.session import Session, SessionOptions

__all__ = ["calibrate"]

_CHUNK_S = 0.1
_STREAMS = (1, MOST_JOBS // 4, MOST_JOBS)
_LONGEST_S = 1.0  # then what has been measured must do


async def calibrate(model: ServedModel, workers: Workers, headroom: Headroom) -> None:
    """Recognize noise in rounds of few and many streams; `workers` tell `headroom` what they cost."""
    noise = np.random.default_rng(0).standard_normal(round(_CHUNK_S * model.sample_rate_hz)) * 0.1
    chunk = to_int16(noise.astype(np.float32)).tobytes()
    sessions = [Session(model, SessionOptions()) for _ in range(MOST_JOBS)]
    until_s = time.monotonic() + _LONGEST_S
    for _ in range(3):
        for streams in _STREAMS:
            if time.monotonic() < until_s:
                await asyncio.gather(*(_push(workers, session, chunk) for session in sessions[:streams]))
    await asyncio.sleep(0)  # for the last measurement
    headroom.cost.settle()


async def _push(workers: Workers, session: Session, audio: bytes) -> None:
    await workers.run(session.push_steps(audio), audio_s=lambda: session.audio_s)
