"""What was found, as `sonorant doctor` tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Finding", "Values"]

Values: TypeAlias = Mapping[str, Any]
"""The chart's values, defaults included, which its schema takes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing, and what to do about it if it is not well.

    failure: the installation will not run. warning: it will, but perhaps not as wanted.
    """

    level: Literal["well", "warning", "failure"]
    about: str
    says: str
