"""Which exports have the signature `transcribe`, and why others have not; without TensorFlow, which takes seconds."""

from sonorant.recipe import Recipe
from sonorant.text.units import Units

__all__ = ["AN_ENSEMBLE", "A_LANGUAGE_MODEL", "obstacle"]

AN_ENSEMBLE = "an ensemble: the average over its members is not in a graph"
A_LANGUAGE_MODEL = "a language model: it takes no audio"

_NOT_IN_THE_GRAPH = ("lm", "phrases", "jitter_ms")  # of decoding


def obstacle(search: str, recipe: Recipe, units: Units) -> str:
    """Return what keeps an export of one model from having the signature, by name; empty: nothing.

    search: name of the search that reads the model's outputs.
    """
    if search != "ctc":
        return f"model.family={recipe.model.family}: the search by label is not in the graph; that of CTC is"
    for key in _NOT_IN_THE_GRAPH:
        if getattr(recipe.decoding, key):
            return f"decoding.{key}: not in the graph; export without it"
    odd = [symbol for symbol in units.symbols if any(letter.isspace() and letter != " " for letter in symbol)]
    return f"units.json: {odd[0]!r} has white space other than the space" if odd else ""
