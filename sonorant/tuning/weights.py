"""The weights of a search: keys of the recipe's `decoding` section, and their ranges."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from sonorant.decoding.section import DecodingRecipe
from sonorant.errors import SonorantError
from sonorant.recipe import Recipe

__all__ = [
    "BadTuning",
    "Range",
    "Weights",
    "ranges_of",
    "read_range",
    "tunable",
    "weights_of",
    "with_weights",
    "without_weights",
]

Weights = Mapping[str, float]
"""Values by key below `decoding`, such as "lm.alpha"."""


class BadTuning(SonorantError):
    """A tuning that is not possible: the message has the key, what was found and what is expected."""

    exit_code = 65


class Range(NamedTuple):
    """The values from low to high, both included."""

    low: float
    high: float


_USUAL = {
    "lm.alpha": Range(0.0, 3.0),
    "lm.beta": Range(-2.0, 4.0),
    "prior.weight": Range(0.0, 1.0),
    "phrase_boost": Range(0.5, 8.0),
    "length_bonus": Range(-2.0, 4.0),
    "end_threshold": Range(1.0, 3.0),
    "coverage_weight": Range(0.0, 1.0),
    "ctc_weight": Range(0.0, 0.9),
}


def tunable(recipe: Recipe) -> tuple[str, ...]:
    """Return the keys that the recipe's search makes use of."""
    decoding, model = recipe.decoding, recipe.model
    used = {
        "lm.alpha": decoding.lm is not None,
        "lm.beta": decoding.lm is not None,
        "prior.weight": decoding.prior is not None,
        "phrase_boost": bool(decoding.phrases),
        "length_bonus": model.label_synchronous,
        "end_threshold": model.label_synchronous and decoding.end_threshold is not None,
        "coverage_weight": model.label_synchronous and not model.monotonic,
        "ctc_weight": model.label_synchronous and model.joint_ctc,
    }
    return tuple(key for key, is_used in used.items() if is_used)


def read_range(text: str) -> tuple[str, Range]:
    """Return key and range of `KEY=LOW:HIGH`; the key may begin with "decoding.". Raises BadTuning."""
    key, _, span = text.partition("=")
    try:
        low, high = (float(end) for end in span.split(":"))
    except ValueError:
        raise BadTuning(f"{text}: expected KEY=LOW:HIGH, such as lm.alpha=0:3") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BadTuning(f"{text}: expected finite numbers LOW < HIGH, such as {key}=0:3")
    return key.strip().removeprefix("decoding."), Range(low, high)


def ranges_of(recipe: Recipe, given: Mapping[str, Range]) -> dict[str, Range]:
    """Return the ranges of what is varied: the given ones, or, without any, the usual ones of all tunable keys.

    Raises BadTuning for a recipe without such keys, for a key that its search makes no use of, and for an end of a
    range that the recipe does not allow.
    """
    possible = tunable(recipe)
    if not possible:
        raise BadTuning(
            f"{recipe.name}: nothing to tune: a search of model.family={recipe.model.family} has weights with "
            "decoding.lm, decoding.prior or decoding.phrases only; name a language model, as in "
            "--set 'decoding.lm={path: lm.arpa}'"
        )
    for key, span in given.items():
        if key not in possible:
            raise BadTuning(f"{key}: no weight of this recipe's search; expected one of {', '.join(possible)}")
        for end in span:
            _check(recipe, key, end)
    return dict(given) or {key: _USUAL[key] for key in possible}


def weights_of(recipe: Recipe) -> dict[str, float]:
    """Return the recipe's own values of all tunable keys."""
    values = recipe.decoding.model_dump()
    return {key: float(_section(values, key)[key.rpartition(".")[2]]) for key in tunable(recipe)}


def with_weights(recipe: Recipe, weights: Weights) -> Recipe:
    """Return the recipe with other weights; raises pydantic's ValidationError for one out of range."""
    values = recipe.decoding.model_dump()
    for key, value in weights.items():
        _section(values, key)[key.rpartition(".")[2]] = value
    return recipe.model_copy(update={"decoding": DecodingRecipe.model_validate(values)})


def without_weights(recipe: Recipe) -> Recipe:
    """Return the recipe with weights that do not depend on its own: what tuning leaves as it is."""
    return with_weights(recipe, {key: _USUAL[key].low for key in tunable(recipe)})


def _section(values: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the mapping of which the last part of the key is a key."""
    for part in key.split(".")[:-1]:
        values = values[part]
    return values


def _check(recipe: Recipe, key: str, value: float) -> None:
    try:
        with_weights(recipe, {key: value})
    except ValidationError as error:
        fault = error.errors()[0]["msg"].replace("Input should be", "must be")
        raise BadTuning(f"{key}: {value:g} is out of range: {fault}") from None
