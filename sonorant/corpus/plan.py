"""The plan: which utterance goes to which shard; the same recipe and recordings always give the same plan."""

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sonorant.corpus.shards import SPLITS, shard_name
from sonorant.corpus.splits import assign_splits, check_unseen_speakers
from sonorant.corpus.strings import compose_strings
from sonorant.corpus.utterance import Listing, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import fault_of, shown
from sonorant.randomness import generator
from sonorant.recipe import Recipe
from sonorant.recipe.corpus_seed import corpus_seed
from sonorant.text.units import Units

__all__ = ["ShardPlan", "fingerprint", "fingerprint_of_skipped", "plan_shards"]

_FORMAT = 1  # of shards and summaries; shards of another format are made anew


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """One shard to write: its utterances, in their order in the file."""

    split: str
    name: str
    utterances: tuple[Utterance, ...]


def fingerprint(recipe: Recipe, listing: Listing, data_folder: Path, tokenizer: Units | None = None) -> str:
    """Return a hash of all that shards depend on: recipe, tokenizer, transcripts, size and time of each recording.

    Where the data folder lies does not matter, so that a mount elsewhere costs nothing. Raises Unavailable when the
    file system fails: shards that are finished are not to be thrown away for that.
    """
    digest = hashlib.blake2b(digest_size=16)
    corpus = recipe.corpus.model_dump(mode="json", exclude={"seed"})
    parts = {"format": _FORMAT, "seed": corpus_seed(recipe), "corpus": corpus}
    digest.update(json.dumps(parts | {"text": recipe.text.model_dump(mode="json")}, sort_keys=True).encode())
    if tokenizer is not None:
        digest.update(tokenizer.to_json().encode())
    for utterance in listing.utterances:
        digest.update(repr((utterance.id, utterance.text, utterance.speaker, utterance.take)).encode())
        if recipe.corpus.keeps_splits and utterance.split is not None:
            digest.update(utterance.split.encode())
        for segment in utterance.segments:
            where = (os.path.relpath(segment.path, data_folder), segment.offset_s, segment.duration_s, segment.channel)
            digest.update(repr((*where, segment.overshoot_s) if segment.overshoot_s else where).encode())
            try:
                status = segment.path.stat()
                digest.update(repr((status.st_size, status.st_mtime_ns)).encode())
            except OSError as error:
                fault_of(segment.path, error)
                digest.update(b"missing")
    return digest.hexdigest()


def fingerprint_of_skipped(listing: Listing, data_folder: Path) -> str:
    """Return a hash of what is no utterance, which the card lists; where the data folder lies does not matter."""
    above = f"{shown(data_folder)}/"
    entries = [
        f"{entry.recording.removeprefix(above)}: {entry.reason.replace(above, '', 1)}"
        for entry in (*listing.skipped, *listing.faults)
    ]
    return hashlib.blake2b("\n".join(entries).encode(), digest_size=16).hexdigest()


def plan_shards(recipe: Recipe, utterances: Sequence[Utterance]) -> tuple[ShardPlan, ...]:
    """Assign utterances to splits and shards, in an order drawn from the seed.

    Raises BadCorpus when a speaker of the recipe is unknown or nothing is left to train on.
    """
    corpus = recipe.corpus
    check_unseen_speakers(corpus, {utterance.speaker for utterance in utterances})
    seed = corpus_seed(recipe)
    splits = assign_splits(utterances, corpus, seed)
    if corpus.strings is not None:
        splits = compose_strings(splits, corpus, corpus.strings, seed)
    if not splits["train"]:
        raise BadCorpus("no utterance falls to the split train; see corpus.splits and corpus.strings")
    return tuple(shard for split in SPLITS for shard in _shards(recipe, split, splits.get(split, [])))


def _shards(recipe: Recipe, split: str, utterances: Sequence[Utterance]) -> list[ShardPlan]:
    """Cut into shards whose sizes differ by one at most."""
    order = generator(corpus_seed(recipe), 0, split, "order").permutation(len(utterances))
    count = math.ceil(len(utterances) / recipe.corpus.shard_utterances)
    bounds = [round(len(utterances) * i / count) for i in range(count + 1)] if count else []
    return [
        ShardPlan(split, shard_name(split, i, count), tuple(utterances[k] for k in order[bounds[i] : bounds[i + 1]]))
        for i in range(count)
    ]
