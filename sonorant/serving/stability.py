"""Stability of interim results: how likely a text is to stand, by the posterior that the search gives it.

A posterior errs: what a search shows early has competitors that the audio to come will drop. So it is mapped by a curve
of what was measured (as Platt 1999 maps a classifier's scores; word stability is McGraw & Gruenstein 2012).
"""

import json
import math
from dataclasses import asdict, dataclass

__all__ = ["Stability", "logit"]

_CLOSEST = 1e-6  # of a posterior to 0 and 1
_MOST_POWER = 700.0  # of e, which does not overflow


@dataclass(frozen=True, slots=True)
class Stability:
    """The curve sigmoid(slope logit(posterior) + offset); without measurement, the posterior itself."""

    slope: float = 1.0
    offset: float = 0.0

    def of(self, posterior: float) -> float:
        """Return the stability, in [0, 1], of a text that the search gives this posterior."""
        if self == _POSTERIOR:
            return posterior
        return 1 / (1 + math.exp(min(-self.slope * logit(posterior) - self.offset, _MOST_POWER)))

    def to_json(self) -> str:
        """Return the curve as text for a file."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Stability":
        """Read what `to_json` returned; raises ValueError for anything else."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.keys() != {"slope", "offset"}:
            raise ValueError("found no curve of slope and offset")
        for name, least in (("slope", 0.0), ("offset", -math.inf)):
            value = fields[name]
            if type(value) not in (int, float) or not math.isfinite(value) or value < least:
                raise ValueError(f"{name}: found {value!r}; expected a finite number, and no slope below 0")
        return cls(**fields)


def logit(posterior: float) -> float:
    """Return log(p / (1 - p)), p being kept from 0 and 1."""
    kept = min(max(posterior, _CLOSEST), 1 - _CLOSEST)
    return math.log(kept / (1 - kept))


_POSTERIOR = Stability()
