"""The findings of `sonorant doctor`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Finding", "Values"]

Values: TypeAlias = Mapping[str, Any]
"""The chart's values, defaults included, which its schema takes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, with advice unless it is well.

    failure: the installation will not run. warning: it will run, perhaps not as intended.
    """

    level: Literal["well", "warning", "failure"]
    about: str
    says: str
