"""What the sections of a recipe must agree on, beyond what each checks of its own.

A rule takes the recipe and raises ValueError, whose message names the keys, what was found and what to change. Rules
stand in the room of the section whose keys they refuse: `text`, `features`, `training`, `labels` (its keys for outputs
by label), `unrolling`, `word_errors`, `search`, `stages`. What a family alone can tell is a property or a method of its
section (`sonorant.models.shared_section`), never its name here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonorant.recipe.agreement.features import check_features
from sonorant.recipe.agreement.labels import check_heads, check_labels
from sonorant.recipe.agreement.search import check_search
from sonorant.recipe.agreement.stages import check_stages
from sonorant.recipe.agreement.text import check_text
from sonorant.recipe.agreement.training import check_growth, check_training
from sonorant.recipe.agreement.unrolling import check_unrolling
from sonorant.recipe.agreement.word_errors import check_word_errors

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["RULES"]

RULES: tuple[Callable[["Sections"], None], ...] = (
    check_text,
    check_features,
    check_training,
    check_heads,
    check_labels,
    check_search,
    check_word_errors,
    check_unrolling,
    check_growth,
    check_stages,
)
"""In the order in which a recipe with several faults is told of them."""
