"""Was every example committed exactly once, with the right bytes, in the history that a checkpoint stands for?"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from chaos.checksums import digest

from sonorant.augment.chain import StageResources, apply_stage, build_chain
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.example import Lineage
from sonorant.delivery.snapshot import LedgerSnapshot
from sonorant.errors import BadShard
from sonorant.links.payload import as_carried
from sonorant.objectives.registry import build_objective
from sonorant.recipe.loading import load_recipe
from sonorant.text.units import Units

__all__ = ["EpochVerdict", "Expected", "all_exact", "judge", "read_history", "undisturbed"]


@dataclass(frozen=True)
class EpochVerdict:
    """One epoch in numbers of examples; the lists name the first few that should not be."""

    epoch: int
    total: int
    committed: int
    rejected: int
    misjudged: list[int] = field(default_factory=list)  # rejected against what is expected, or not rejected against it
    out_of_order: list[int] = field(default_factory=list)  # of a strict run: positions of wrong examples
    lost: list[int] = field(default_factory=list)
    twice: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)  # whose features are not those of an undisturbed run
    unlike_ledger: list[int] = field(default_factory=list)  # in the checkpoint's ledger but not recorded, or not in it

    @property
    def exact(self):
        wrong = (self.misjudged, self.out_of_order, self.lost, self.twice, self.changed, self.unlike_ledger)
        return not any(wrong)


class Expected(NamedTuple):
    """Results of an undisturbed run, computed without processes, links or ledger.

    digests: the checksum of each example's features, [epoch][ordinal]; None: it is rejected. sequence: the ordinals in
    the order in which a strict run trains on them, [epoch]; None: any order will do.
    """

    digests: list
    sequence: list | None = None


def undisturbed(run, epochs):
    """Return what is expected of the first epochs of a run."""
    recipe = load_recipe(run.recipe)
    shards = ShardSet.open(run.shards, "train")
    chain = build_chain(recipe, StageResources(shards, run.path))
    sequence_of = _strict_sequences(recipe, run, shards) if recipe.pipeline.order == "strict" else None
    digests, sequence = [], []
    for epoch in range(epochs):
        records = [(s, i) for s, n in enumerate(shards.counts) for i in range(n)]
        examples = [_example(recipe, chain, shards, Lineage(epoch, *record)) for record in records]
        digests.append([example and digest(example.features) for example in examples])
        if sequence_of:
            sequence.append(sequence_of(examples))
    return Expected(digests, sequence or None)


def _example(recipe, chain, shards, lineage):
    try:
        example = shards.read(lineage.shard, lineage.index).example(lineage)
    except BadShard:
        return None
    for name, stage in chain.items():
        example = apply_stage(name, stage, example, recipe.seed)
    return as_carried(example, recipe.pipeline.payload)


def _strict_sequences(recipe, run, shards):
    """Return a function from all examples of an epoch to ordinals in a strict rank's order; call it epoch by epoch."""
    from sonorant.training.labeller import Labeller  # which needs TensorFlow, and only strict runs do
    from sonorant.training.strict_intake import StrictIntake

    label = Labeller(build_objective(recipe, Units.from_json((run.shards / "units.json").read_text())), shards.counts)
    intake = StrictIntake.of(recipe, shards.counts, Bitmap(shards.total), rank=0)

    def sequence(examples):
        intake.arrived([label(example) for example in examples])
        ordinals = []
        while intake.ready:
            ordinals += [item.ordinal for item in intake.form()]
        intake.next_epoch()
        return ordinals

    return sequence


def read_history(records, progress):
    """Return {epoch: [(ordinal, digest)]} of the batches that led to the checkpoint with this progress, in their order.

    Each generation started from a checkpoint of an earlier one; what that one did after it is no part of the history.
    """
    generations = defaultdict(dict)
    for path in sorted(records.glob("*.jsonl")):
        generation, rank, _ = path.name.split(".")
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        if lines:
            generations[int(generation)][int(rank)] = lines
    newest_first = []
    cut = {"epoch": progress.epoch, "batches": list(progress.batches), "step": progress.step}
    for generation in sorted(generations, reverse=True):
        ranks = generations[generation]
        start = next(iter(ranks.values()))[0]["start"]
        if start["step"] == cut["step"]:
            cut = start  # a gang of another size may have written the same step anew, as of its own ranks
        if start["step"] >= cut["step"]:
            continue
        for rank, (_, *batches) in ranks.items():
            for batch in batches:
                before = (batch["epoch"], batch["number"]) < (cut["epoch"], cut["batches"][rank])
                if before:
                    newest_first.append((generation, batch))
        cut = start
    history = defaultdict(list)
    for _, batch in sorted(newest_first, key=lambda found: found[0]):
        history[batch["epoch"]] += zip(batch["ordinals"], batch["digests"], strict=True)
    return history


def all_exact(verdicts, epochs):
    """Whether each of `epochs` epochs has a verdict, and that it is exact."""
    return [v.epoch for v in verdicts] == list(range(epochs)) and all(v.exact for v in verdicts)


def judge(history, checkpoint, total, expected, epochs):
    """Return a verdict on each of the first `epochs` epochs, which are over in the checkpoint."""
    ledger = LedgerSnapshot.decode(checkpoint.ledger, total)
    verdicts = []
    for epoch in range(epochs):
        digests = expected.digests[epoch]
        ordinals = [ordinal for ordinal, _ in history[epoch]]
        times = Counter(ordinals)
        rejected = set(np.flatnonzero(ledger.rejected(epoch).flags()).tolist())
        sequence = expected.sequence[epoch] if expected.sequence else ordinals
        verdicts.append(
            EpochVerdict(
                epoch=epoch,
                total=total,
                committed=ledger.committed(epoch).count(),
                rejected=len(rejected),
                misjudged=sorted(rejected ^ {o for o, seen in enumerate(digests) if seen is None})[:10],
                out_of_order=[i for i, (o, due) in enumerate(zip(ordinals, sequence, strict=False)) if o != due][:10],
                lost=sorted(set(range(total)) - set(times) - rejected)[:10],
                twice=sorted(o for o, n in times.items() if n > 1)[:10],
                changed=sorted({o for o, seen in history[epoch] if seen != digests[o]})[:10],
                unlike_ledger=sorted(set(times) ^ set(np.flatnonzero(ledger.committed(epoch).flags()).tolist()))[:10],
            )
        )
    return verdicts
