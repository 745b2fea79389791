"""The recognizer under streams in real time: latencies, CPU time of the server alone, streams a core within the SLO.

Clients, in processes of their own, begin streams at set times and send each chunk when it would have been spoken,
whatever comes back (open loop); latencies count from then. The server that is started has one processor and one worker,
the clients have the others. Without --run its model has the size of `recipes/digits.yaml`, and weights that make it
output words now and then. Goal: 150 streams within the SLO, at 6 ms of CPU time an audio-second.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import click
import grpc

from benchmarks.load.cuts import cuts
from benchmarks.load.experiment import Conditions, Preset, Results, Serve
from benchmarks.load.hostile import hostile
from benchmarks.load.idle import idle
from benchmarks.load.leaks import leaks
from benchmarks.load.long import long
from benchmarks.load.models import Model, copy_version, made_up_models, models_of
from benchmarks.load.onnx_peer import MODES, onnx_recognizer, write_peer
from benchmarks.load.ramp import ramp
from benchmarks.load.recordings import Recording, murmurs, read_recordings
from benchmarks.load.reload import reload
from benchmarks.load.server import started_recognizer, there
from benchmarks.load.start import start
from benchmarks.load.users import users
from benchmarks.row import Progress, Row
from services.recognizer_client.call_error import call_error
from services.recognizer_client.client import ask_model, connect, open_recognizer
from sonorant.atomic import atomic_write, make_folder, refused
from sonorant.cli.settings import find_run, host_port
from sonorant.errors import Unavailable
from sonorant.export.manifest import read_manifest

__all__ = ["OPTIONS", "rows"]

_PRESETS: dict[str, Preset] = {
    "ramp": ramp,
    "users": users,
    "hostile": hostile,
    "reload": reload,
    "idle": idle,
    "leaks": leaks,
    "long": long,
    "cuts": cuts,
    "start": start,
}
_PRESET_HELP = (
    "ramp: streams in steps until the SLO breaks. users: whole recordings by 1, 2, 4, … users. hostile: two clients "
    "with the largest messages beside the streams. reload: a new version under the streams. idle: memory of silent "
    "streams. leaks: what 10,000 clients leave that vanish. long: CPU time in a stream's first and tenth minute. cuts: "
    "words that differ where streams end within words. start: from a process to its readiness."
)


def _numbers(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Parse numbers of streams."""
    try:
        found = tuple(int(part) for part in value.split(",")) if value else ()
    except ValueError:
        found = (0,)
    if any(number < 1 for number in found):
        raise click.BadParameter(f"found {value!r}, expected numbers above 0, such as 10,50,100")
    return found


OPTIONS = (
    click.Option(["--preset"], type=click.Choice(list(_PRESETS)), default="ramp", show_default=True, help=_PRESET_HELP),
    click.Option(
        ["--server"], metavar="HOST:PORT", callback=host_port("localhost:50051"),
        help="Recognizer to measure; absent: one is started.",
    ),
    click.Option(
        ["--model"], metavar="NAME", default="",
        help="Model of --server, as clients choose one: NAME, NAME@LABEL or NAME@VERSION; absent: the only one.",
    ),
    click.Option(["--run"], type=click.Path(path_type=Path), help="Run whose exports are served and recordings sent."),
    click.Option(
        ["--recordings"], type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="Folder of WAV or FLAC files to send; absent: the run's, or noise with the rhythm of speech.",
    ),
    click.Option(
        ["--streams"], metavar="N,N,…", callback=_numbers,
        help="Numbers of streams, users or clients; absent: the preset's.",
    ),
    click.Option(
        ["--chunk-ms"], type=click.FloatRange(min=1), default=100.0, show_default=True,
        help="Audio that a client sends at once.",
    ),
    click.Option(
        ["--seconds"], type=click.FloatRange(min=0.5), default=10.0, show_default=True,
        help="Time of a step, behind its warm-up.",
    ),
    click.Option(
        ["--slo-ms"], type=click.FloatRange(min=1), default=300.0, show_default=True,
        help="Limit for 95 % of first interim and of final results.",
    ),
    click.Option(
        ["--output"], type=click.Path(path_type=Path, file_okay=False),
        help="Folder for load.html, with plots, and load.json, with every figure and histogram.",
    ),
)  # fmt: skip


def rows(
    progress: Progress,
    preset: str = "ramp",
    server: str | None = None,
    model: str = "",
    run: Path | None = None,
    recordings: Path | None = None,
    streams: Sequence[int] = (),
    chunk_ms: float = 100.0,
    seconds: float = 10.0,
    slo_ms: float = 300.0,
    output: Path | None = None,
) -> Iterator[Row]:
    """Yield the figures of a preset; the options are those of `OPTIONS`."""
    if run is not None and server is not None:
        raise click.UsageError("give either --run or --server")
    if model and server is None:
        raise click.UsageError(f"--model {model}: chooses one of the models that --server serves; give --server")
    if output is not None:
        _make(output)
    results = Results(preset, slo_ms, chunk_ms)
    with tempfile.TemporaryDirectory(prefix="sonorant-bench-") as folder:
        if server is None:
            subject = _own(Path(folder), run, progress, with_peers=preset == "ramp")
        else:
            subject = _Subject(partial(there, server), [Model(model)], asyncio.run(_rate_hz(server, model)))
        said = [one._replace(chunk_s=chunk_ms / 1000) for one in _recordings(recordings, run, subject.rate_hz)]
        conditions = Conditions(
            subject.serve, subject.models, said, streams, seconds, slo_ms, subject.publish, subject.peers
        )
        try:
            for row in _PRESETS[preset](conditions, results, progress):
                results.rows.append(row)
                yield row
        finally:  # what there is of an experiment that is interrupted, too
            if output is not None and results.rows:
                _write(output, results)


class _Subject(NamedTuple):
    """The server under load, see `Conditions`."""

    serve: Serve
    models: Sequence[Model]
    rate_hz: int
    publish: Callable[[], None] | None = None
    peers: Mapping[str, Serve] = {}


def _own(folder: Path, run: Path | None, progress: Progress, *, with_peers: bool) -> _Subject:
    """Write the models to serve below `folder`."""
    progress("a model to serve")
    exports = folder / "exports"
    models = made_up_models(exports) if run is None else models_of(find_run(run).exports, exports)
    rate_hz = read_manifest(next(exports.glob("*/1"))).sample_rate_hz
    peers = _peers(exports, folder / "peer", models[0], progress) if with_peers else {}
    return _Subject(partial(started_recognizer, exports), models, rate_hz, partial(_publish, exports, count(2)), peers)


def _recordings(folder: Path | None, run: Path | None, rate_hz: int) -> list[Recording]:
    if folder is None and run is not None and (run / "recordings").is_dir():
        folder = run / "recordings"
    return murmurs(rate_hz) if folder is None else read_recordings(folder)


def _peers(exports: Path, folder: Path, model: Model, progress: Progress) -> dict[str, Serve]:
    """Return the servers of the same model in the Python that `SONORANT_PEERS` names; none if it names none."""
    if not (python := os.environ.get("SONORANT_PEERS")):
        return {}
    export = exports / model.name / "1" if model.name else next(exports.glob("*/1"))
    try:
        write_peer(export, folder)
    except Unavailable as error:
        progress(f"onnxruntime is left out: {error}")
        return {}
    return {f"onnxruntime, {mode}": partial(onnx_recognizer, python, folder, mode) for mode in MODES}


def _publish(exports: Path, versions: Iterator[int]) -> None:
    """Give each model the next version, a copy of its first."""
    version = str(next(versions))
    for first in sorted(exports.glob("*/1")):
        copy_version(first, first.with_name(version))


async def _rate_hz(server: str, model: str) -> int:
    async with open_recognizer(server) as channel:
        try:
            return (await ask_model(connect(channel), model)).sample_rate_hz
        except grpc.aio.AioRpcError as error:
            raise call_error(server, error) from error


def _make(folder: Path) -> None:
    """Make a folder, and see whether files can be written there; raises Unavailable."""
    make_folder(folder)
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise refused(folder, error) from error


def _write(folder: Path, results: Results) -> None:
    from benchmarks.load.page import render_page  # loads matplotlib

    atomic_write(folder / "load.json", json.dumps(results.document(), indent=1) + "\n")
    atomic_write(folder / "load.html", render_page(results))
