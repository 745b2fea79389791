"""Plots of a run as SVG text, for the page."""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import signal

from sonorant.arrays import Features, Waveform
from sonorant.report.journal import Line
from sonorant.report.stage_view import StageView

__all__ = [
    "alignment_plot",
    "durations_plot",
    "features_plot",
    "learning_plot",
    "rates_plot",
    "stages_plot",
    "svg_text",
]

_MOST_COLUMNS = 4000  # of a spectrogram; drawing takes some 50 bytes a cell, and a plot has 880 points
_COLUMNS_AT_ONCE = 100
_BLUE, _ORANGE = "#2a6fbb", "#d9730d"

_Floats = NDArray[np.floating[Any]]


def learning_plot(steps: Sequence[Line], devs: Sequence[Line]) -> str:
    """Loss of each step, and dev word error rate, over training time."""
    figure, loss = plt.subplots(figsize=(8, 3.2))
    minutes = [line["time_s"] / 60 for line in steps]
    losses = np.array([line["loss"] for line in steps], dtype=float)
    loss.semilogy(minutes, losses, color=_BLUE, alpha=0.25, linewidth=0.8)
    loss.semilogy(minutes, _smooth(losses), color=_BLUE)
    loss.set_xlabel("training time (minutes)")
    loss.set_ylabel("loss per utterance", color=_BLUE)
    wer = loss.twinx()
    wer.plot(
        [line["time_s"] / 60 for line in devs], [100 * line["wer"] for line in devs], "o-", color=_ORANGE, markersize=3
    )
    wer.set_ylabel("dev WER (%)", color=_ORANGE)
    wer.set_ylim(bottom=0)
    return svg_text(figure)


def rates_plot(steps: Sequence[Line], stages: Sequence[Line]) -> str:
    """t_session (Samsung, Eq. 2) and each stage's utilisation, over training time."""
    figure, axes = plt.subplots(figsize=(8, 3.2))
    axes.plot(
        [line["time_s"] / 60 for line in steps], [line["t_session"] for line in steps], color="black", label="t_session"
    )
    names = sorted({name for line in stages for name in line["utilisation"]})
    for name in names:
        busy = np.array([line["utilisation"].get(name, np.nan) for line in stages], dtype=float)
        axes.plot([line["time_s"] / 60 for line in stages], _smooth(busy), linewidth=1, label=name)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("training time (minutes)")
    axes.set_ylabel("share of the time")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return svg_text(figure)


def alignment_plot(alignments: Sequence[Line]) -> str:
    """How the model aligned one utterance of dev at first and in the end: a weight for each label and frame."""
    chosen = [alignments[0], alignments[-1]] if len(alignments) > 1 else list(alignments)
    height = 0.6 + 0.22 * len(chosen[0]["labels"])
    figure, axes = plt.subplots(len(chosen), 1, figsize=(8, height * len(chosen)), sharex=True, squeeze=False)
    for row, line in zip(axes[:, 0], chosen, strict=True):
        row.imshow(line["percent"], aspect="auto", cmap="magma", vmin=0, vmax=100, interpolation="nearest")
        row.set_yticks(range(len(line["labels"])), labels=line["labels"], parse_math=False)
        row.set_ylabel(f"step {line['step']}")
    axes[-1, 0].set_xlabel("encoded frame")
    return svg_text(figure)


def durations_plot(histograms: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Durations of the utterances of each split: `edges_s` (n + 1) and `utterances` (n)."""
    figure, axes = plt.subplots(figsize=(8, 2.8))
    for name, histogram in histograms.items():
        if sum(histogram["utterances"]):
            axes.stairs(histogram["utterances"], histogram["edges_s"], label=name, fill=True, alpha=0.5)
    axes.set_yscale("symlog")
    axes.set_xlabel("duration (s)")
    axes.set_ylabel("utterances")
    axes.legend(frameon=False)
    return svg_text(figure)


def stages_plot(views: Sequence[StageView]) -> str:
    """Waveform and spectrogram of one example after each stage; words are marked on each."""
    heights = [1, 3] * len(views)
    figure, axes = plt.subplots(
        len(heights), 1, figsize=(8, 2.5 * len(views)), sharex=True, squeeze=False, height_ratios=heights
    )
    rows: list[Axes] = list(axes[:, 0])
    for trace, spectrogram, view in zip(rows[::2], rows[1::2], views, strict=True):
        _trace(trace, view.waveform, view.rate_hz)
        _spectrogram(spectrogram, view.waveform, view.rate_hz)
        spectrogram.set_ylabel(f"{view.stage}\nkHz")
        for word in view.words:
            spectrogram.axvline(word.start_s, color="white", linewidth=0.7)
            spectrogram.axvline(word.end_s, color="white", linewidth=0.7, linestyle=":")
            middle_s = (word.start_s + word.end_s) / 2
            above = (middle_s, 1.02)
            label = trace.annotate(word.word, above, xycoords=("data", "axes fraction"), ha="center", fontsize=9)
            label.set_parse_math(False)
    rows[-1].set_xlabel("time (s)")
    return svg_text(figure)


def features_plot(features: Mapping[str, Features]) -> str:
    """Features of one example, Float32[vectors, bins], after each stage that makes or changes them."""
    figure, axes = plt.subplots(len(features), 1, figsize=(8, 2 * len(features)), sharex=True, squeeze=False)
    scale = next(iter(features.values()))
    for row, (stage, values) in zip(axes[:, 0], features.items(), strict=True):
        row.imshow(
            values.T[:, :: -(-len(values) // _MOST_COLUMNS)],
            extent=(-0.5, len(values) - 0.5, -0.5, values.shape[1] - 0.5),
            origin="lower",
            aspect="auto",
            cmap="magma",
            vmin=float(scale.min()),
            vmax=float(scale.max()),
        )
        row.set_ylabel(f"{stage}\nbin")
    axes[-1, 0].set_xlabel("vector")
    return svg_text(figure)


def _trace(axes: Axes, waveform: Waveform, rate_hz: int) -> None:
    """Draw the range of the samples in each hundredth of a second, on a scale up to the peak."""
    width = max(1, rate_hz // 100)
    blocks = np.pad(waveform, (0, -len(waveform) % width), mode="edge").reshape(-1, width)
    seconds = (np.arange(len(blocks)) + 0.5) * width / rate_hz
    axes.fill_between(seconds, blocks.min(axis=1), blocks.max(axis=1), color=_BLUE, linewidth=0)
    peak = max(float(np.abs(waveform).max()), 1e-3)
    axes.set_ylim(-peak, peak)
    axes.set_yticks([0, peak], labels=["0", f"{peak:.2g}"])


def _spectrogram(axes: Axes, waveform: Waveform, rate_hz: int) -> None:
    hz, seconds, power = _power(waveform, rate_hz)
    level_db = 10 * np.log10(power + 1e-12)
    ceiling_db = float(level_db.max())
    axes.pcolormesh(seconds, hz / 1000, level_db, vmin=ceiling_db - 70, vmax=ceiling_db, rasterized=True, cmap="magma")


def _power(waveform: Waveform, rate_hz: int) -> tuple[_Floats, _Floats, _Floats]:
    """Return frequencies in hertz, times in seconds, and power: Float[frequencies, times], of frames each 10 ms.

    Of several frames that fall on one point of the plot it is the loudest. A long recording is taken in pieces, as
    transforms need six times its memory.
    """
    window, hop = round(0.025 * rate_hz), round(0.01 * rate_hz)
    frames = max(1, (len(waveform) - window) // hop + 1)
    hold = -(-frames // _MOST_COLUMNS)
    times, columns = [], []
    for first in range(0, frames, hold * _COLUMNS_AT_ONCE):
        count = min(hold * _COLUMNS_AT_ONCE, frames - first)
        piece = waveform[first * hop :][: (count - 1) * hop + window]
        hz, seconds, power = signal.spectrogram(piece, rate_hz, nperseg=window, noverlap=window - hop)
        starts = np.arange(0, len(seconds), hold)
        times.append(seconds[starts] + first * hop / rate_hz)
        columns.append(np.maximum.reduceat(power, starts, axis=1))
    return hz, np.concatenate(times), np.concatenate(columns, axis=1)


def _smooth(values: np.ndarray[Any, np.dtype[np.float64]], width: int = 15) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the running median; robust to the odd outlier, and as long as its input."""
    if len(values) < width:
        return values
    padded = np.pad(values, width // 2, mode="edge")
    smoothed: np.ndarray[Any, np.dtype[np.float64]] = np.nanmedian(
        np.lib.stride_tricks.sliding_window_view(padded, width), axis=1
    )
    return smoothed


def svg_text(figure: Figure) -> str:
    """Return a figure, which is closed, as SVG to embed in a page, whose fonts write what is in it."""
    for axes in figure.axes:
        axes.spines["top"].set_visible(False)
    with io.StringIO() as text, matplotlib.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # in the font that sizes are measured with
        figure.savefig(text, format="svg", bbox_inches="tight", dpi=110)
        plt.close(figure)
        # An XML declaration and a document type may not be embedded in a page.
        return re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.DOTALL)
