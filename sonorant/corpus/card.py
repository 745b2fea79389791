"""The dataset card: what was prepared, in figures, for people (card.md) and programs (card.json)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sonorant.corpus.making import ShardSummary
from sonorant.corpus.shards import SPLITS
from sonorant.corpus.utterance import Skipped
from sonorant.recipe import Recipe
from sonorant.text.visible import visible

__all__ = ["describe", "render"]

_MOST_BINS = 20
_WIDTHS_S = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
_BAR = 40
_MOST_SPEAKERS = 30


def describe(recipe: Recipe, summaries: Sequence[ShardSummary], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """Return the card as JSON values: hours, utterances, speakers, lengths per split, what was skipped or scaled."""
    longest = max((max(summary.durations_s, default=0.0) for summary in summaries), default=0.0)
    width_s = next((width for width in _WIDTHS_S if longest / width < _MOST_BINS), _WIDTHS_S[-1])
    edges = np.arange(int(longest / width_s) + 2) * width_s
    splits = {}
    for split in SPLITS:
        if mine := [summary for summary in summaries if summary.split == split]:
            splits[split] = _describe_split(mine, edges)
    return {
        "recipe": recipe.name,
        "reader": recipe.corpus.reader,
        "corpus": recipe.corpus.path,
        "sample_rate_hz": recipe.corpus.sample_rate_hz,
        "payload": recipe.corpus.payload,
        "splits": splits,
        "skipped": [asdict(entry) for entry in skipped],
        "scaled": [asdict(entry) for summary in summaries for entry in summary.scaled],
    }


def _describe_split(summaries: Sequence[ShardSummary], edges: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    durations = np.array([seconds for summary in summaries for seconds in summary.durations_s])
    counts, _ = np.histogram(durations, edges)
    speakers = Counter(speaker for summary in summaries for speaker in summary.speakers if speaker)
    words = sum(len(text.split()) for summary in summaries for text in summary.texts)
    return {
        "utterances": len(durations),
        "hours": round(float(durations.sum()) / 3600, 6),
        "words": words,
        "shards": len(summaries),
        "bytes": sum(summary.shard_bytes for summary in summaries),
        "speakers": dict(sorted(speakers.items())),
        "seconds": {
            "shortest": round(float(durations.min(initial=np.inf)), 3) if len(durations) else 0.0,
            "median": round(float(np.median(durations)), 3) if len(durations) else 0.0,
            "longest": round(float(durations.max(initial=0.0)), 3),
        },
        "length_histogram": {"edges_s": [round(float(edge), 3) for edge in edges], "utterances": counts.tolist()},
    }


def render(card: dict[str, Any]) -> str:
    """Return the card as Markdown."""
    lines = [
        f"# Corpus of recipe {card['recipe']}",
        "",
        f"Read from `{card['corpus']}` (reader {card['reader']}); "
        f"stored as {card['payload']} at {card['sample_rate_hz']} Hz.",
        "",
        "| split | utterances | hours | words | speakers | shards | MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, split in card["splits"].items():
        lines.append(
            f"| {name} | {split['utterances']} | {split['hours']:.3f} | {split['words']} | {len(split['speakers'])} "
            f"| {split['shards']} | {split['bytes'] / 1e6:.1f} |"
        )
    for warning in card.get("warnings", ()):
        lines += ["", f"Warning: {warning}."]
    for name, split in card["splits"].items():
        lines += ["", f"## {name}", "", *_speakers(split["speakers"]), *_histogram(split["length_histogram"])]
    lines += ["", "## Skipped recordings", ""]
    lines += [visible(f"- `{entry['recording']}`: {entry['reason']}") for entry in card["skipped"]] or ["None."]
    if card["scaled"]:
        lines += [
            "",
            "## Scaled recordings",
            "",
            "Samples beyond 1, which 16 bits do not hold: divided by their peak.",
            "",
        ]
        lines += [f"- `{entry['recording']}`: peak {entry['peak']:.4g}" for entry in card["scaled"]]
    return "\n".join(lines) + "\n"


def _speakers(speakers: dict[str, int]) -> list[str]:
    if not speakers:
        return ["Speakers unknown."]
    named = [f"{name} ({count})" for name, count in list(speakers.items())[:_MOST_SPEAKERS]]
    rest = [f"and {len(speakers) - _MOST_SPEAKERS} more"] if len(speakers) > _MOST_SPEAKERS else []
    return [f"Utterances per speaker: {', '.join(named + rest)}."]


def _histogram(histogram: dict[str, list[Any]]) -> list[str]:
    edges, counts = histogram["edges_s"], histogram["utterances"]
    most = max(counts, default=0)
    lines = ["", "```text"]
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            lines.append(f"{low:7.2f} – {high:7.2f} s {count:7d} {'█' * max(1, round(_BAR * count / most))}")
    return [*lines, "```"]
