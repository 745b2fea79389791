"""Percentiles and histograms of latencies."""

import math
from collections import Counter
from collections.abc import Sequence

__all__ = ["PERCENTILES", "histogram", "percentile", "percentiles"]

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_PER_DECADE = 40  # buckets: their bounds grow by 6 %
_LEAST_MS = 0.1


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that at least `share` of the values do not exceed, one of them; nan without any."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)] if ordered else math.nan


def percentiles(values_s: Sequence[float]) -> dict[str, float]:
    """Return p50, p95, p99 and max of latencies in seconds, as milliseconds; nothing without any."""
    return {name: 1000 * percentile(values_s, share) for name, share in PERCENTILES.items()} if values_s else {}


def histogram(values_s: Sequence[float]) -> list[tuple[float, int]]:
    """Return the buckets that are not empty, upper bound in milliseconds and count, in ascending order.

    Bounds are logarithmic, as in an HDR histogram, so that none of the tail is lost; below 0.1 ms there is one bucket.
    """
    buckets = Counter(
        max(0, math.ceil(math.log10(max(1000 * value_s, _LEAST_MS) / _LEAST_MS) * _PER_DECADE - 1e-9))
        for value_s in values_s
    )
    return [(_LEAST_MS * 10 ** (number / _PER_DECADE), count) for number, count in sorted(buckets.items())]
