"""A model's figures as text: a table of layers, then latency, operations and memory."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sonorant.models.figures import LABELS, SECONDS, Inspection

__all__ = ["render_inspection"]


def render_inspection(figures: Inspection, origin: str) -> RenderableType:
    """Return the figures of a model; origin: where its number of units is from."""
    takes = f"{figures.bins} values a vector" if figures.bins else "text"
    return Group(
        Text(f"{figures.name}: {figures.family}, {takes}, {figures.units} units ({origin})", style="bold"),
        _layers(figures),
        Text(
            f"{figures.parameters:,} parameters, {figures.trained:,} of them trained: "
            f"{figures.bytes / 2**20:.1f} MiB as Float32"
        ),
        *(_of_speech(figures) if figures.bins else _of_text(figures)),
    )


def _of_text(figures: Inspection) -> list[RenderableType]:
    count = _operations(figures.flops_per_label)
    return [Text(f"operations of matrix products: {count} a label, the last of {LABELS}")]


def _of_speech(figures: Inspection) -> list[RenderableType]:
    labels = f"; {_operations(figures.flops_per_label)} a label" if figures.flops_per_label else ""
    return [
        Text(
            f"a vector every {figures.vector_ms:g} ms of {figures.vector_audio_ms:g} ms of audio, "
            f"a frame every {figures.frame_ms:g} ms"
        ),
        Text(f"receptive field beyond a vector: {_field(figures)}"),
        Text(
            "latency: until the end of the utterance"
            if figures.latency_ms is None
            else f"latency: {figures.latency_ms:g} ms at most, computation aside"
        ),
        Text(
            f"operations of matrix products: {_operations(figures.flops_per_second)} a second of audio{labels}, "
            f"in an utterance of {SECONDS:g} s"
        ),
    ]


def _layers(figures: Inspection) -> Table:
    table = Table("layer", "weights")
    for column in ("parameters", "flop/s of audio", "flop/label"):
        table.add_column(column, justify="right")
    for layer in figures.layers:
        shapes = ", ".join(f"{name} {'×'.join(map(str, shape)) or '1'}" for name, shape in layer.shapes.items())
        row = (layer.name, shapes, f"{layer.parameters:,}")
        table.add_row(*row, *(_operations(n) if n else "" for n in (layer.flops_per_second, layer.flops_per_label)))
    return table


def _field(figures: Inspection) -> str:
    sides = ((figures.past_ms, "before"), (figures.future_ms, "after"))
    return ", ".join(f"{'all' if ms is None else f'{ms:g} ms'} {side}" for ms, side in sides)


def _operations(count: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}flop"
    return f"{count:.3g} flop"
