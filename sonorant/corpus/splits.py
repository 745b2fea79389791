"""Dealing utterances to train, dev, test and unseen_speaker; none is ever in two of them."""

import difflib
from collections.abc import Collection, Sequence

from sonorant.corpus.utterance import Utterance
from sonorant.errors import BadCorpus
from sonorant.randomness import generator
from sonorant.recipe.corpus import SplitRecipe

__all__ = ["assign_splits", "check_unseen_speakers"]


def assign_splits(utterances: Sequence[Utterance], recipe: SplitRecipe, seed: int) -> dict[str, list[Utterance]]:
    """Return the utterances of each split; the unit of assignment is an utterance, or all utterances of a speaker.

    A fraction above 0 gets at least one of them. Raises BadCorpus when that leaves nothing to train on.
    """
    splits: dict[str, list[Utterance]] = {"train": [], "dev": [], "test": [], "unseen_speaker": []}
    seen = [u for u in utterances if u.speaker not in recipe.unseen_speakers]
    splits["unseen_speaker"] = [u for u in utterances if u.speaker in recipe.unseen_speakers]
    if recipe.by == "speaker" and (nameless := [u.id for u in seen if not u.speaker]):
        raise BadCorpus(
            f"utterance {nameless[0]!r} has no speaker; splits.by=speaker needs all, splits.by=utterance none"
        )
    units = sorted({_unit(u, recipe) for u in seen})
    test = max(1, round(recipe.test_fraction * len(units))) if recipe.test_fraction else 0
    dev = max(1, round(recipe.dev_fraction * len(units))) if recipe.dev_fraction else 0
    if test + dev >= len(units):
        what = "speakers" if recipe.by == "speaker" else "utterances"
        raise BadCorpus(
            f"{len(units)} {what} cannot be split: {test} to test and {dev} to dev leave none to train on; "
            "lower test_fraction or dev_fraction, 0 for none"
        )
    order = generator(seed, 0, "splits", "corpus").permutation(len(units))
    home = {
        units[i]: "test" if position < test else "dev" if position < test + dev else "train"
        for position, i in enumerate(order)
    }
    for utterance in seen:
        splits[home[_unit(utterance, recipe)]].append(utterance)
    return splits


def check_unseen_speakers(recipe: SplitRecipe, speakers: Collection[str]) -> None:
    """Raise BadCorpus if an unseen speaker of the recipe is not in the corpus."""
    for name in recipe.unseen_speakers:
        if name not in speakers:
            near = difflib.get_close_matches(name, speakers, n=1)
            advice = f"did you mean {near[0]}?" if near else f"its speakers are {', '.join(sorted(speakers)[:20])}"
            raise BadCorpus(f"corpus.splits.unseen_speakers: the corpus has no speaker {name!r}; {advice}")


def _unit(utterance: Utterance, recipe: SplitRecipe) -> str:
    return utterance.speaker if recipe.by == "speaker" else utterance.id
