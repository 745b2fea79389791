"""`sonorant status`: the coordinator's status of a running training."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sonorant.cli.settings import find_run, host_port
from sonorant.errors import Unavailable

if TYPE_CHECKING:
    from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["command"]


@click.command("status")
@click.option(
    "--run", "run_path", type=click.Path(path_type=Path), default=Path("runs/digits"), show_default=True,
    help="Run folder of the training.",
)  # fmt: skip
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    callback=host_port("localhost:7100"),
    help="The run's coordinator; default: RUN's.",
)
@click.option("--release", metavar="NAME", help="Release of the chart, reached by kubectl, with the clients' keys.")
@click.option("-n", "--namespace", default="", help="The release's namespace; default: that of kubectl's context.")
@click.option("--replicas", is_flag=True, help="List each replica; default: if there are at most 20.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--watch", is_flag=True, help="Refresh every second, until Ctrl-C.")
def command(
    run_path: Path,
    coordinator: str | None,
    release: str | None,
    namespace: str,
    replicas: bool,
    as_json: bool,
    watch: bool,
) -> None:
    """Show stages, rates, utilisation, epoch progress and rejected examples of a running training.

    Exit codes: 0 shown; 65 there is no run; 69 no training runs, as of a run whose training is complete.
    """
    from services.coordination.status_client import query_status

    if release is None:
        with nullcontext() if coordinator else _telling_completion(run_path):
            address = coordinator or _address(run_path)
            _show(partial(query_status, address), str(run_path), replicas, as_json, watch)
        return
    from services.coordination.forwarding import forwarded_coordinator

    with forwarded_coordinator(release, namespace) as (address, keys):
        _show(partial(query_status, address, keys), release, replicas, as_json, watch)


@contextmanager
def _telling_completion(run_path: Path) -> Iterator[None]:
    """Say of a run whose coordinator does not answer that its training is complete, if it is."""
    try:
        yield
    except Unavailable as error:
        from sonorant.recipe.loading import load_recipe
        from sonorant.training.completion import complete_totals

        run = find_run(run_path)
        if run.totals.exists() and (totals := complete_totals(run, load_recipe(run.recipe))):
            done = f"training is complete ({totals['epochs']} epochs), so none runs"
            raise Unavailable(f"{run_path}: {done}; {run.totals} has its totals") from error
        raise


def _show(ask: "Callable[[], pb.GetStatusResponse]", title: str, replicas: bool, as_json: bool, watch: bool) -> None:
    if watch and not as_json:
        _watch(ask, title, replicas)
        return
    while True:
        _print(ask(), title, replicas, as_json)
        if not watch:
            return
        time.sleep(1.0)


def _address(run_path: Path) -> str:
    path = find_run(run_path).path / "coordinator.address"
    try:
        address = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise Unavailable(
            f"{path}: not there, so no training has been started in {run_path}; give another folder with --run"
        ) from error
    if ":" not in address or "\ufffd" in address:
        raise Unavailable(f"{path}: found {address[:60]!r}, expected HOST:PORT; the training writes it when it starts")
    return address


def _print(status: "pb.GetStatusResponse", title: str, replicas: bool, as_json: bool) -> None:
    from google.protobuf.json_format import MessageToDict
    from rich.console import Console

    from sonorant.cli.status_view import render_status

    if as_json:
        values = MessageToDict(status, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
        click.echo(json.dumps(values))
        return
    Console().print(render_status(status, title, rejections=len(status.rejections), each_replica=replicas))


def _watch(ask: "Callable[[], pb.GetStatusResponse]", title: str, replicas: bool) -> None:
    from rich.live import Live

    from sonorant.cli.status_view import render_status

    with Live(refresh_per_second=2) as live:
        while True:
            live.update(render_status(ask(), title, each_replica=replicas))
            time.sleep(1.0)
