"""A language model is trained on text; recordings, and what is for them, are of all other families."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_text"]

# Options of training that are for recordings alone.
_OF_SPEECH = (
    "aligner",
    "alignment_weight",
    "label_smoothing",
    "sampling",
    "ctc_weight",
    "quantity_weight",
    "mwer_hypotheses",
    "pretrain_layers",
)

# Options of a search, which text has none of.
_OF_SEARCH = ("lm", "prior", "phrases", "length_bonus", "coverage_weight")


def check_text(recipe: "Sections") -> None:
    """Refuse recordings for a language model, text for another, and options that text has no use for."""
    reader, family = recipe.corpus.reader, recipe.model.family
    if (reader == "text") != recipe.of_text:
        raise ValueError(
            f"corpus.reader={reader} with model.family={family}: language models, such as lstm_lm, are trained on "
            "reader text, and all other families on recordings"
        )
    if not recipe.of_text:
        return
    unused = {
        **{f"training.{name}": getattr(recipe.training, name) for name in _OF_SPEECH},
        **{f"decoding.{name}": getattr(recipe.decoding, name) for name in _OF_SEARCH},
        "corpus.strings": recipe.corpus.strings,
        "stages": [stage.stage for stage in recipe.stages],
    }
    for name, value in unused.items():
        if value:
            raise ValueError(f"{name}={value}: text has no use for it, found model.family={family}; leave it out")
