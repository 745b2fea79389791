"""The line that every benchmark prints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Progress", "Row"]

Progress: TypeAlias = Callable[[str], None]  # gets the name of the next measurement


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    name: what is measured, such as `vtlp`. case: the conditions, such as `12 s at 16 kHz`.
    value: the figure, in `unit`. peer: the other implementation in the same run, None if none; peer_value: its figure.
    ratio: value / peer_value unless given, as the median of paired runs may be.
    """

    name: str
    case: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        if self.ratio is None and self.peer_value:
            object.__setattr__(self, "ratio", self.value / self.peer_value)
