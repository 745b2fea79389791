"""Types of command-line parameters that several commands share."""

import math
from pathlib import Path
from typing import Any

import click

__all__ = ["GivenPath", "NumberRange"]


class NumberRange(click.FloatRange):
    """A number in a range; NaN, which click takes for one in any, is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """See `click.ParamType`."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class GivenPath(click.Path):
    """A path that is not empty: an empty one, as of a shell's unset variable, would be the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        if not isinstance(value, Path) and not value:
            self.fail("is empty; expected a path", param, ctx)
        return super().convert(value, param, ctx)
