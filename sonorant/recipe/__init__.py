"""The one configuration schema: command line, services and chart read the same file.

A `Recipe` is a tree of frozen sections (`sonorant.section`); unknown keys are errors, and every field is described.
Sections of stages, features, links, text, models and decoding are beside their code; `schema` collects all. `loading`
reads and writes YAML; `faults` describes its faults; JSON Schema, `reference` and the chart's schema follow from it.
"""

from sonorant.recipe.schema import Recipe

__all__ = ["Recipe"]
