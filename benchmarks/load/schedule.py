"""Times at which streams begin, set in advance: an open loop, which no slow answer holds back."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Speech", "speeches"]

GAP_S = (
    0.4  # between two recordings of a speaker: the answers within the SLO have come, so that N speakers are N streams
)
SPREAD_S = 2.0  # in which the speakers begin, so that neither chunks nor ends come all at once


class Speech(NamedTuple):
    """A recording, by number, and when it begins, in seconds since the step did."""

    begin_s: float
    recording: int


def speeches(speaker: int, speakers: int, durations_s: Sequence[float], until_s: float) -> list[Speech]:
    """Return the set times of one of so many speakers, who says recording after recording until `until_s`.

    durations_s: of the recordings, which each speaker says in the same order, from another one on.
    """
    begin_s = speaker / speakers * SPREAD_S
    found: list[Speech] = []
    while begin_s < until_s:
        found.append(Speech(begin_s, (speaker + len(found)) % len(durations_s)))
        begin_s += durations_s[found[-1].recording] + GAP_S
    return found
