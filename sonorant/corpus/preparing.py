"""From a recipe and a data folder to shards, units and a dataset card; goes on where it was interrupted."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sonorant.atomic import atomic_write, make_folder
from sonorant.corpus.card import describe, render
from sonorant.corpus.making import ShardSummary, check_recordings, finished, make_shard
from sonorant.corpus.plan import ShardPlan, fingerprint, fingerprint_of_skipped, plan_shards
from sonorant.corpus.readers import list_corpus
from sonorant.corpus.splits import speakers_in_common, unused_splits
from sonorant.corpus.stored import NOTHING, Stored
from sonorant.corpus.tokenizer import check_trained_units, read_tokenizer
from sonorant.corpus.utterance import Listing, Scaled, Skipped, Utterance
from sonorant.corpus.workers import Workers, open_workers
from sonorant.errors import BadCorpus, BadRun, Unavailable
from sonorant.recipe import Recipe
from sonorant.recipe.corpus_seed import corpus_seed
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder
from sonorant.text.nonlinguistic import nonlinguistic_warning
from sonorant.text.normalisation import normalise
from sonorant.text.units import Units, fewer_pieces, learn_units, read_units

__all__ = ["Prepared", "Progress", "prepare"]

_CHECKED_AT_ONCE = 250
_SHOWN = 5  # skipped recordings in a message
_OF_ONE = re.compile(r"'.*?'|\".*?\"|\d[\d.]*")

Progress = Callable[[str, int, int], None]
"""Gets the current activity, the number done, and the total."""


@dataclass(frozen=True)
class Prepared:
    """The card's values, what was skipped, and how many shards this call had to make."""

    card: dict[str, Any]
    skipped: tuple[Skipped, ...]
    made: int

    @property
    def scaled(self) -> tuple[Scaled, ...]:
        """Recordings that were too loud for 16 bits."""
        return tuple(Scaled(**entry) for entry in self.card.get("scaled", ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of splits, units and texts may not be meant."""
        return tuple(self.card.get("warnings", ()))


def prepare(
    recipe: Recipe,
    data_folder: Path,
    run: RunFolder,
    *,
    jobs: int = 1,
    strict: bool = False,
    lenient: bool = False,
    progress: Progress,
    stored: Stored = NOTHING,
) -> Prepared:
    """Make what is missing in `run.shards`; shards of another plan are removed first.

    lenient: leave out lines of the corpus' description that cannot be used, and list them as skipped.
    stored: what a store has of the run; shards that are finished there count, and the card stays as it is there.
    Raises BadCorpus for a corpus that is unusable (with `strict`: has any unusable recording), before anything is
    written for one whose description has faults; BadRun for a tokenizer with other units than those of the run's
    checkpoints, and for other recordings than those; Unavailable when the disk refuses, and what was finished is kept.
    """
    listing = list_corpus(recipe.corpus, data_folder, lenient=lenient)
    if (tokenizer := read_tokenizer(recipe.text, data_folder)) is not None:
        check_trained_units(tokenizer, run, stored)
    listed = [*listing.skipped, *listing.faults]
    mark = {"count": len(listed), "fingerprint": fingerprint_of_skipped(listing, data_folder)}
    state = _State(run.shards, fingerprint(recipe, listing, data_folder, tokenizer), stored)
    _refuse_if_trained_on_others(run, state, data_folder)
    if (found := state.finished()) is not None:
        atomic_write(run.recipe, dump_recipe(recipe))
        card = _warned(_relisted(found, listed, mark), recipe, listing, read_units(run.shards / "units.json"))
        done = tuple(Skipped(**entry) for entry in card["skipped"])
        _refuse_if_strict(done, strict)
        if card != found and not stored.shards:
            state.write_card(card)
        return Prepared(card, done, 0)
    state.begin()
    # After the old shards are removed, so that a recipe and a card in one folder belong together.
    atomic_write(run.recipe, dump_recipe(recipe))
    with open_workers(jobs) as workers:
        utterances, skipped = _usable(recipe, listing, workers, progress)
        _refuse_if_strict(skipped, strict)
        make = partial(make_shard, recipe, run.shards, tokenizer)
        summaries, made = _make(make, run.shards, _planned(recipe, utterances, skipped), workers, strict, progress)
    skipped += [entry for summary in summaries for entry in summary.skipped]
    texts = _train_texts(summaries, skipped)
    units = tokenizer or learn_units(recipe.text, texts, corpus_seed(recipe))
    atomic_write(run.shards / "units.json", units.to_json())
    card = _warned(describe(recipe, summaries, skipped) | {"listed": mark}, recipe, listing, units)
    state.finish(card, [summary.name for summary in summaries])
    return Prepared(card, tuple(skipped), made)


def _relisted(card: dict[str, Any], listed: Sequence[Skipped], mark: dict[str, Any]) -> dict[str, Any]:
    """Return the card with what the reader leaves out now, at the head of what is skipped; itself if that is the same.

    Shards do not depend on it. mark: number and fingerprint of those; a card of before there was one stays.
    """
    before = card.get("listed", mark)
    if before["fingerprint"] == mark["fingerprint"]:
        return card
    skipped = [asdict(entry) for entry in listed] + card["skipped"][before["count"] :]
    return card | {"skipped": skipped, "listed": mark}


def _warned(card: dict[str, Any], recipe: Recipe, listing: Listing, units: Units) -> dict[str, Any]:
    """Return the card with what of splits, units and texts may not be meant, under a key only if there is any."""
    corpus = recipe.corpus
    speakers = {name: split["speakers"] for name, split in card["splits"].items()}
    told = [
        unused_splits(corpus, listing.utterances),
        speakers_in_common(corpus, speakers),
        fewer_pieces(recipe.text, units),
        nonlinguistic_warning((utterance.id, utterance.text) for utterance in listing.utterances),
    ]
    warnings = [warning for warning in told if warning]
    silent = {key: value for key, value in card.items() if key != "warnings"}
    return silent | {"warnings": warnings} if warnings else silent


def _usable(
    recipe: Recipe, listing: Listing, workers: Workers, progress: Progress
) -> tuple[list[Utterance], list[Skipped]]:
    """Leave out broken recordings before strings are made: each would spoil several strings."""
    utterances, skipped = list(listing.utterances), [*listing.skipped, *listing.faults]
    if recipe.corpus.strings is None:
        return utterances, skipped
    chunks = [utterances[i : i + _CHECKED_AT_ONCE] for i in range(0, len(utterances), _CHECKED_AT_ONCE)]
    bad: dict[str, Skipped] = {}
    for i, found in enumerate(workers(partial(check_recordings, recipe), chunks), 1):
        bad.update(found)
        progress("checking recordings", min(i * _CHECKED_AT_ONCE, len(utterances)), len(utterances))
    good = [
        replace(utterance, text=normalise(utterance.text, recipe.text))  # word for word, whatever comes to stand beside
        for utterance in utterances
        if utterance.id not in bad
    ]
    return good, skipped + sorted(bad.values(), key=lambda entry: entry.recording)


def _planned(recipe: Recipe, utterances: Sequence[Utterance], skipped: Sequence[Skipped]) -> tuple[ShardPlan, ...]:
    """Plan the shards; what cannot be used may be why there is nothing for a split."""
    try:
        return plan_shards(recipe, utterances)
    except BadCorpus as error:
        if not skipped:
            raise
        raise BadCorpus(f"{error}; {len(skipped)} cannot be used, the first: {_shown(skipped)}") from error


def _train_texts(summaries: Sequence[ShardSummary], skipped: Sequence[Skipped]) -> list[str]:
    texts = [text for summary in summaries if summary.split == "train" for text in summary.texts]
    if not texts:
        of_train = [entry for summary in summaries if summary.split == "train" for entry in summary.skipped]
        raise BadCorpus(f"none of the recordings for training can be used; the first: {_shown(of_train or skipped)}")
    return texts


def _make(
    make: Callable[[ShardPlan], ShardSummary],
    folder: Path,
    plans: Sequence[ShardPlan],
    workers: Workers,
    strict: bool,
    progress: Progress,
) -> tuple[list[ShardSummary], int]:
    """Make the shards that are not there; return the summaries of all, in the plan's order, and how many were made."""
    summaries = {plan.name: summary for plan in plans if (summary := finished(folder, plan.name)) is not None}
    size = {plan.name: len(plan.utterances) for plan in plans}
    total, done = sum(size.values()), sum(size[name] for name in summaries)
    missing = [plan for plan in plans if plan.name not in summaries]
    progress("writing shards", done, total)
    for summary in workers(make, missing):
        _refuse_if_strict(summary.skipped, strict)
        summaries[summary.name] = summary
        done += size[summary.name]
        progress("writing shards", done, total)
    return [summaries[plan.name] for plan in plans], len(missing)


@dataclass(frozen=True)
class _State:
    """What `prepare` remembers between calls, in `plan.json`; the names of shards are written last: all is done.

    fingerprint: of all that shards depend on.
    """

    folder: Path
    fingerprint: str
    stored: Stored

    def finished(self) -> dict[str, Any] | None:
        """Return the card if everything of this plan is there."""
        plan = self._read("plan.json")
        names = plan.get("shards")
        if plan.get("fingerprint") != self.fingerprint or not names:
            return None
        if not all(name in self.stored.shards or finished(self.folder, name) for name in names):
            return None
        try:
            read_units(self.folder / "units.json")
            card = self._read("card.json")
            for entry in card["skipped"]:
                Skipped(**entry)
            whole = "listed" not in card or {"count", "fingerprint"} <= card["listed"].keys()
            return card if whole else None
        except (BadCorpus, KeyError, TypeError, AttributeError):
            return None

    def is_of_others(self) -> bool:
        """Return whether the folder holds shards of another plan, or their beginning."""
        return bool(self._read("plan.json").get("fingerprint", self.fingerprint) != self.fingerprint)

    def begin(self) -> None:
        """Clear the folder, unless it holds the beginning of this very plan."""
        try:
            if self._read("plan.json").get("fingerprint") != self.fingerprint and self.folder.exists():
                shutil.rmtree(self.folder)
            make_folder(self.folder)
            for leftover in self.folder.glob(".*"):  # temporary files of a call that was killed
                leftover.unlink()
        except OSError as error:
            raise Unavailable(f"{self.folder}: cannot be cleared: {error.strerror}; remove it by hand") from error
        atomic_write(self.folder / "plan.json", json.dumps({"fingerprint": self.fingerprint}) + "\n")

    def finish(self, card: dict[str, Any], names: list[str]) -> None:
        self.write_card(card)
        atomic_write(self.folder / "plan.json", json.dumps({"fingerprint": self.fingerprint, "shards": names}) + "\n")

    def write_card(self, card: dict[str, Any]) -> None:
        atomic_write(self.folder / "card.md", render(card))
        atomic_write(self.folder / "card.json", json.dumps(card, indent=1, ensure_ascii=False) + "\n")

    def _read(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def _refuse_if_trained_on_others(run: RunFolder, state: _State, data_folder: Path) -> None:
    """Raise BadRun if the run has checkpoints, here or in its store, whose shards are of another plan."""
    if state.stored.trained_on not in (None, state.fingerprint):
        shards, checkpoints = f"{state.stored.url}/shards", f"{state.stored.url}/checkpoints"
    elif run.is_trained and state.is_of_others():
        shards, checkpoints = f"{run.shards}", f"{run.checkpoints}"
    else:
        return
    raise BadRun(
        f"{shards}: the checkpoints in {checkpoints} are of other recordings, or files of another time, than those in "
        f"{data_folder}; give the folder of those with --data, or train into another run folder, and another --store "
        f"if there is one; to go on with these, remove {shards} first"
    )


def _refuse_if_strict(skipped: Sequence[Skipped], strict: bool) -> None:
    if strict and skipped:
        raise BadCorpus(f"{len(skipped)} recording(s) cannot be used, and --strict forbids that: {_shown(skipped)}")


def _shown(skipped: Sequence[Skipped]) -> str:
    """Return the first recordings, those with the commonest reason before others: it tells what is wrong in general."""
    count = Counter(map(_reason, skipped))
    first = sorted(skipped, key=lambda entry: -count[_reason(entry)])[:_SHOWN]
    return "; ".join(f"{entry.recording}: {entry.reason}" for entry in first)


def _reason(entry: Skipped) -> str:
    """Return the reason without what is of this recording alone: quotations and numbers."""
    return _OF_ONE.sub("", entry.reason)
