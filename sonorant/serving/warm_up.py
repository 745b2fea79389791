"""Warm-up: recorded requests that a version recognizes before it is in service, as it did when it was exported.

An export may have a folder of them: WAV files, and a manifest of JSON lines with the keys of other manifests of
recordings, in which the text is what the exported model recognizes.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from sonorant.errors import SonorantError
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.serving.model import ServedModel
from sonorant.serving.results import Answer, Result
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.steps import alone

__all__ = [
    "MANIFEST",
    "WARM_UP",
    "FailedWarmUp",
    "check_warm_up",
    "recognize_recorded",
    "recognize_stream",
    "recorded_requests",
]

WARM_UP = "warm_up"
MANIFEST = "manifest.jsonl"

_PIECE_S = 0.1
_LONGEST_S = 60.0


class FailedWarmUp(SonorantError):
    """A version that does not recognize its recorded requests as it should: the message names the file."""

    exit_code = 65


def check_warm_up(model: ServedModel, folder: Path, rest: Callable[[], None] = lambda: None) -> None:
    """Recognize the recorded requests of the export in `folder`; raises FailedWarmUp unless all are as they should be.

    rest: called after each 0.1 s of audio, so that others may compute meanwhile.
    """
    for path, expected in recorded_requests(folder):
        try:
            found = recognize_recorded(model, path.read_bytes(), rest).alternatives[0].text
        except (SonorantError, OSError) as error:
            raise FailedWarmUp(f"{path}: warm-up failed: {error}") from error
        if found != expected:
            as_then = "as when it was exported; export the run again if that was by an earlier sonorant"
            raise FailedWarmUp(f"{path}: warm-up recognized {found!r}, expected {expected!r}, {as_then}")


def recognize_recorded(model: ServedModel, wav: bytes, rest: Callable[[], None] = lambda: None) -> Result:
    """Return the final result of a stream of a WAV file."""
    *_, result = recognize_stream(model, wav, SessionOptions(utterances=False, interim_results=False), rest)
    assert isinstance(result, Result)
    return result


def recognize_stream(
    model: ServedModel, wav: bytes, options: SessionOptions, rest: Callable[[], None] = lambda: None
) -> Iterator[Answer]:
    """Yield all that a stream of a WAV file of at most a minute is answered, 0.1 s of audio at a time."""
    decoder = open_decoder(AudioFormat("WAV"), model.sample_rate_hz, _LONGEST_S)
    session = Session(model, replace(options, max_seconds=_LONGEST_S))
    samples = decoder.push(wav)
    piece = round(_PIECE_S * model.sample_rate_hz)
    for first in range(0, len(samples), piece):
        yield from alone(session.push_steps(samples[first : first + piece]))
        rest()
    yield from alone(session.push_steps(decoder.finish()))
    yield from session.finish()


def recorded_requests(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and text of each recorded request of the export in `folder`; raises FailedWarmUp."""
    manifest = folder / WARM_UP / MANIFEST
    if not manifest.parent.is_dir():
        return
    try:
        with manifest.open(encoding="utf-8") as lines:  # `splitlines` would cut a text at U+2028, too
            for line in lines:
                entry = json.loads(line)
                yield manifest.parent / str(entry["audio_filepath"]), str(entry["text"])
    except OSError as error:
        raise FailedWarmUp(f"{manifest}: {error.strerror}; export the model again") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FailedWarmUp(f"{manifest}: no recorded requests ({error}); export the model again") from error
