"""The coordinator's status as text: a table, bars, and one line for logs."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from services.coordination.durations import seconds
from services.coordination.status_client import by_stage
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.example_pb2 import Lineage

__all__ = ["render_line", "render_rejections", "render_status"]

_BAR_WIDTH = 40
_SHOWN_REJECTIONS = 5
_SHOWN_REPLICAS = 20


def render_status(
    status: pb.GetStatusResponse, title: str, rejections: int = _SHOWN_REJECTIONS, each_replica: bool = False
) -> RenderableType:
    """Return stages, the epochs being read, the trainer's figures, and the latest rejected examples.

    each_replica: list those of all stages, even if there are more than fit on a screen.
    """
    return Group(
        Text(title, style="bold"),
        Text(_trainer_line(status)),
        *(_epoch_line(epoch) for epoch in _current(status)),
        _stages(status, each_replica or len(status.replicas) <= _SHOWN_REPLICAS),
        *_unlike(status),
        *render_rejections(status, rejections),
    )


def render_line(status: pb.GetStatusResponse) -> str:
    """Return the status in one line, for terminals that cannot redraw and for logs."""
    epochs = ", ".join(f"epoch {e.epoch}: {_settled(e)}/{e.total}" for e in _current(status))
    return f"{epochs or ('' if status.finished else 'starting')} | {_trainer_line(status)}".removeprefix(" | ")


def render_rejections(status: pb.GetStatusResponse, most: int) -> list[RenderableType]:
    """Return the latest rejected examples with their reasons."""
    rejections = list(status.rejections)[-most:]
    lines: list[RenderableType] = [
        Text(f"rejected by {r.stage}: {r.utterance or _lineage(r.lineage)}: {r.reason}", style="yellow")
        for r in rejections
    ]
    if (hidden := len(status.rejections) - len(rejections)) > 0:
        lines.insert(0, Text(f"{hidden} more rejected examples; `sonorant status` lists them", style="yellow"))
    return lines


def _current(status: pb.GetStatusResponse) -> list[pb.EpochProgress]:
    """Return the epochs that are not settled, or the last one if all are."""
    open_epochs = [epoch for epoch in status.epochs if _settled(epoch) < epoch.total]
    return open_epochs or list(status.epochs)[-1:]


def _trainer_line(status: pb.GetStatusResponse) -> str:
    figures = dict(status.figures)
    parts = [
        "training is complete" if status.finished else "",
        _part(figures, "step", "step {:.0f}"),
        _part(figures, "loss", "loss {:.3f}"),
        _part(figures, "wer", "dev WER {:.2%}"),
        _part(figures, "perplexity", "dev perplexity {:.2f}"),
        _part(figures, "audio_hours_per_second", "{:.3f} audio-hours/s"),
        _part(figures, "t_session", "t_session {:.3f}"),
    ]
    if not status.finished and (status.bottleneck or figures):
        parts.append(f"held back by {status.bottleneck}" if status.bottleneck else "the trainer is the limit")
    return ", ".join(part for part in parts if part) or "the trainer has not begun"


def _part(figures: Mapping[str, float], name: str, form: str) -> str:
    return form.format(figures[name]) if name in figures else ""


def _epoch_line(epoch: pb.EpochProgress) -> RenderableType:
    line = Table.grid(padding=(0, 1))
    words = f"{_settled(epoch)}/{epoch.total} settled, {epoch.outstanding} on their way"
    if epoch.rejected:
        words += f", {epoch.rejected} rejected"
    if epoch.reissued:
        words += f", {epoch.reissued} leased again"
    line.add_row(f"epoch {epoch.epoch}", ProgressBar(epoch.total, _settled(epoch), width=_BAR_WIDTH), words)
    return line


def _stages(status: pb.GetStatusResponse, each_replica: bool) -> Table:
    """Return a row for each stage, and below it one for each of its replicas, if it has several."""
    table = Table(box=None, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("replica")  # shrinks on a narrow terminal
    for name in ("utilisation", "examples/s", "queued", "link faults", "heard, s ago"):
        table.add_column(name, justify="right", no_wrap=" " not in name)
    for stage, replicas in by_stage(status.replicas).items():
        style = "bold red" if stage == status.bottleneck else None
        table.add_row(stage, *_cells(replicas), style=style)
        if each_replica and len(replicas) > 1:
            for replica in replicas:
                table.add_row("", *_cells([replica]), style=style)
    return table


def _cells(replicas: Sequence[pb.ReplicaStatus]) -> Iterator[str]:
    """Yield names, mean utilisation, sums, and the greatest heartbeat age."""
    draining = sum(replica.draining for replica in replicas)
    if len(replicas) == 1:
        yield f"{replicas[0].replica} (draining)" if draining else replicas[0].replica
    else:
        yield f"{len(replicas)} replicas" + (f" ({draining} draining)" if draining else "")
    yield f"{sum(replica.utilisation for replica in replicas) / len(replicas):.0%}"
    yield f"{sum(replica.examples_per_second for replica in replicas):.1f}"
    yield f"{sum(replica.queued for replica in replicas)}"
    yield f"{sum(replica.link_faults for replica in replicas)}"
    yield f"{max(seconds(replica.heartbeat_age) for replica in replicas):.1f}"


def _unlike(status: pb.GetStatusResponse) -> Iterator[RenderableType]:
    """Yield a line for each stage whose replicas differ in the bits of an example."""
    stages: dict[str, Counter[str]] = defaultdict(Counter)
    for replica in status.replicas:
        if replica.arithmetic:
            stages[replica.stage][replica.arithmetic] += 1
    for stage, counts in stages.items():
        if len(counts) > 1:
            told = ", ".join(f"{count} x {arithmetic}" for arithmetic, count in counts.most_common())
            yield Text(f"bits depend on the replica of {stage}: {told}; give all the same kind of CPU", style="red")


def _settled(epoch: pb.EpochProgress) -> int:
    return epoch.committed + epoch.rejected


def _lineage(lineage: Lineage) -> str:
    return f"epoch {lineage.epoch}, shard {lineage.shard}, record {lineage.index}"
