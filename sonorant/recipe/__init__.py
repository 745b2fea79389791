"""The one configuration schema; command line, services and chart read the same file."""

from sonorant.recipe.schema import Recipe

__all__ = ["Recipe"]
