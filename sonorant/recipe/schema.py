"""The recipe: the whole configuration of a run, in one tree."""

from typing import Self

from pydantic import model_validator

from sonorant.recipe.agreement import RULES
from sonorant.recipe.tree import VERSION, Sections

__all__ = ["VERSION", "Recipe"]


class Recipe(Sections):
    """One run, from recordings to recognizer."""

    @model_validator(mode="after")
    def _agreeing(self) -> Self:
        for check in RULES:
            check(self)
        return self
