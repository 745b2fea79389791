"""Was every example committed exactly once, with the right bytes, in the history that a checkpoint stands for?"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from chaos.checksums import digest

from sonorant.corpus.shards import ShardSet
from sonorant.dsp.stages import StageResources, apply_stage, build_chain
from sonorant.pipeline.example import Lineage
from sonorant.pipeline.payload import as_carried
from sonorant.pipeline.snapshot import LedgerSnapshot
from sonorant.recipe.loading import load_recipe

__all__ = ["EpochVerdict", "all_exact", "judge", "read_history", "undisturbed"]


@dataclass(frozen=True)
class EpochVerdict:
    """One epoch in numbers of examples; the lists name the first few that should not be."""

    epoch: int
    total: int
    committed: int
    rejected: int  # an undisturbed run rejects nothing
    lost: list[int] = field(default_factory=list)
    twice: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)  # whose features are not those of an undisturbed run
    unlike_ledger: list[int] = field(default_factory=list)  # in the checkpoint's ledger but not recorded, or not in it

    @property
    def exact(self):
        return not (self.rejected or self.lost or self.twice or self.changed or self.unlike_ledger)


def undisturbed(run, epochs):
    """Return the checksum of each example's features, [epoch][ordinal], computed without processes, links or ledger."""
    recipe = load_recipe(run.recipe)
    shards = ShardSet.open(run.shards, "train")
    chain = build_chain(recipe, StageResources(shards, run.path))
    return [
        [_features(recipe, chain, shards, e, s, i) for s, n in enumerate(shards.counts) for i in range(n)]
        for e in range(epochs)
    ]


def _features(recipe, chain, shards, epoch, shard, index):
    example = shards.read(shard, index).example(Lineage(epoch, shard, index))
    for name, stage in chain.items():
        example = apply_stage(name, stage, example, recipe.seed)
    return digest(as_carried(example, recipe.pipeline.payload).features)


def read_history(records, progress):
    """Return {epoch: [(ordinal, digest)]} of the batches that led to the checkpoint with this progress.

    Each generation started from a checkpoint of an earlier one; what that one did after it is no part of the history.
    """
    generations = defaultdict(dict)
    for path in sorted(records.glob("*.jsonl")):
        generation, rank, _ = path.name.split(".")
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        if lines:
            generations[int(generation)][int(rank)] = lines
    history = defaultdict(list)
    cut = {"epoch": progress.epoch, "batches": list(progress.batches), "step": progress.step}
    for generation in sorted(generations, reverse=True):
        ranks = generations[generation]
        start = next(iter(ranks.values()))[0]["start"]
        if start["step"] >= cut["step"]:
            continue
        for rank, (_, *batches) in ranks.items():
            for batch in batches:
                before = (batch["epoch"], batch["number"]) < (cut["epoch"], cut["batches"][rank])
                if before:
                    history[batch["epoch"]] += zip(batch["ordinals"], batch["digests"], strict=True)
        cut = start
    return history


def all_exact(verdicts, epochs):
    """Whether each of `epochs` epochs has a verdict, and that it is exact."""
    return [v.epoch for v in verdicts] == list(range(epochs)) and all(v.exact for v in verdicts)


def judge(history, checkpoint, total, expected, epochs):
    """Return a verdict on each of the first `epochs` epochs, which the checkpoint has left behind."""
    ledger = LedgerSnapshot.decode(checkpoint.ledger, total)
    verdicts = []
    for epoch in range(epochs):
        times = Counter(ordinal for ordinal, _ in history[epoch])
        settled = set(times) | set(np.flatnonzero(ledger.rejected(epoch).flags()).tolist())
        verdicts.append(
            EpochVerdict(
                epoch=epoch,
                total=total,
                committed=ledger.committed(epoch).count(),
                rejected=ledger.rejected(epoch).count(),
                lost=sorted(set(range(total)) - settled)[:10],
                twice=sorted(o for o, n in times.items() if n > 1)[:10],
                changed=sorted({o for o, seen in history[epoch] if seen != expected[epoch][o]})[:10],
                unlike_ledger=sorted(set(times) ^ set(np.flatnonzero(ledger.committed(epoch).flags()).tolist()))[:10],
            )
        )
    return verdicts
