"""Assignment of utterances to train, dev, test and unseen_speaker; none is ever in two of them."""

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from sonorant.corpus.utterance import Utterance
from sonorant.errors import BadCorpus
from sonorant.randomness import generator
from sonorant.recipe.corpus import CorpusRecipe, StringsRecipe

__all__ = ["assign_splits", "check_unseen_speakers", "speakers_in_common", "unused_splits"]

_MOST_NAMED = 5


def assign_splits(utterances: Sequence[Utterance], corpus: CorpusRecipe, seed: int) -> dict[str, list[Utterance]]:
    """Return the utterances of each split.

    The unit of assignment is an utterance, all of one speaker's (a fraction above 0 gets at least one of them), or
    all takes of a number. Unseen speakers are in 'unseen_speaker' alone, and what the corpus itself assigns is where it
    says if the recipe keeps that; what the recipe does not use of train is nowhere. Raises BadCorpus when that leaves
    nothing to train on, or an utterance lacks the speaker, the take or the split by which it is assigned.
    """
    recipe = corpus.splits
    splits: dict[str, list[Utterance]] = {"train": [], "dev": [], "test": [], "unseen_speaker": []}
    splits["unseen_speaker"] = [u for u in utterances if u.speaker in recipe.unseen_speakers]
    seen = [u for u in utterances if u.speaker not in recipe.unseen_speakers]
    home = {u.id: u.split for u in seen if u.split is not None} if corpus.keeps_splits else {}
    home |= _assigned([u for u in seen if u.id not in home], corpus, seed)
    for utterance in seen:
        splits[home[utterance.id]].append(utterance)
    splits["train"] = _share(splits["train"], recipe.train_fraction, seed)
    return splits


def _share(utterances: list[Utterance], fraction: float, seed: int) -> list[Utterance]:
    """Return a share of them in their order: of a smaller fraction, some of those of a larger one."""
    if not utterances or fraction == 1:
        return utterances
    order = generator(seed, 0, "splits", "share").permutation(len(utterances))
    ids = sorted(utterance.id for utterance in utterances)
    kept = {ids[i] for i in order[: max(1, round(fraction * len(ids)))]}
    return [utterance for utterance in utterances if utterance.id in kept]


def _assigned(seen: Sequence[Utterance], corpus: CorpusRecipe, seed: int) -> dict[str, str]:
    """Return the split of each utterance, by its id, as the recipe assigns them."""
    if not seen:
        return {}
    if corpus.split_by == "corpus":
        raise BadCorpus(
            f"{len(seen)} utterance(s) have no split of the corpus' own: {_named([u.id for u in seen])}; "
            "splits.by=corpus needs train, dev or test for each, splits.by=speaker and utterance for none"
        )
    if corpus.split_by == "take" and corpus.strings is not None:
        return {u.id: _split_of_take(u, corpus.strings) for u in seen}
    if corpus.split_by == "speaker":
        if nameless := [u.id for u in seen if not u.speaker]:
            raise BadCorpus(
                f"utterance {nameless[0]!r} has no speaker; splits.by=speaker needs all, splits.by=utterance none"
            )
        split_of = _assign("speakers", {u.speaker for u in seen}, corpus, seed)
        return {u.id: split_of[u.speaker] for u in seen}
    return _assign("utterances", {u.id for u in seen}, corpus, seed)


def _named(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:_MOST_NAMED]))
    return f"{shown}, …" if len(ids) > _MOST_NAMED else shown


def check_unseen_speakers(corpus: CorpusRecipe, speakers: Collection[str]) -> None:
    """Raise BadCorpus when the recipe keeps out a speaker whom the corpus does not have."""
    for name in corpus.splits.unseen_speakers:
        if name not in speakers:
            near = difflib.get_close_matches(name, speakers, n=1)
            advice = f"did you mean {near[0]}?" if near else f"its speakers are {', '.join(sorted(speakers)[:20])}"
            raise BadCorpus(f"corpus.splits.unseen_speakers: the corpus has no speaker {name!r}; {advice}")


def unused_splits(corpus: CorpusRecipe, utterances: Iterable[Utterance]) -> str:
    """Return how many utterances the corpus assigns to splits that the recipe does not keep; empty if none."""
    if corpus.keeps_splits or not (own := Counter(u.split for u in utterances if u.split is not None)):
        return ""
    counts = ", ".join(f"{split} {count}" for split, count in sorted(own.items()))
    return (
        f"the corpus has splits of its own ({counts}), which corpus.splits.by={corpus.split_by} leaves unused; "
        "set corpus.splits.by=corpus to keep them"
    )


def speakers_in_common(corpus: CorpusRecipe, speakers: Mapping[str, Collection[str]]) -> str:
    """Return how many speakers of dev and test are in train, too, where utterances are assigned; empty if none.

    speakers: those of each split, as far as they are known.
    """
    heard = set(speakers.get("train", ()))
    found = {split: heard.intersection(speakers.get(split, ())) for split in ("dev", "test")}
    if corpus.split_by != "utterance" or not any(found.values()):
        return ""
    told = [f"{len(shared)} of {len(speakers[split])} speakers of {split}" for split, shared in found.items() if shared]
    return f"{' and '.join(told)} are in train, too; set corpus.splits.by=speaker to keep speakers apart"


def _assign(what: str, units: Collection[str], corpus: CorpusRecipe, seed: int) -> dict[str, str]:
    """Return the split of each unit; `what` they are is for the error."""
    recipe, ordered = corpus.splits, sorted(units)
    test = max(1, round(recipe.test_fraction * len(ordered))) if recipe.test_fraction else 0
    dev = max(1, round(recipe.dev_fraction * len(ordered))) if recipe.dev_fraction else 0
    if test + dev >= len(ordered):
        raise BadCorpus(
            f"{len(ordered)} {what} cannot be split: {test} to test and {dev} to dev leave none to train on; "
            "lower test_fraction, 0 for none, or dev_fraction"
        )
    order = generator(seed, 0, "splits", "corpus").permutation(len(ordered))
    return {ordered[i]: "test" if n < test else "dev" if n < test + dev else "train" for n, i in enumerate(order)}


def _split_of_take(utterance: Utterance, strings: StringsRecipe) -> str:
    if utterance.take is None:
        raise BadCorpus(
            f"utterance {utterance.id!r} has no number of its take; splits.by=take needs them, as the readers fsdd and "
            "word_folders find them in names; splits.by=speaker and utterance need none"
        )
    if utterance.take in strings.test_takes:
        return "test"
    return "dev" if utterance.take in strings.dev_takes else "train"
