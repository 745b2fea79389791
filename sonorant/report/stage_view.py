"""What one utterance of the train split sounds like after each stage: what training hears."""

from itertools import product
from pathlib import Path

from sonorant.arrays import Waveform
from sonorant.corpus.shards import ShardSet
from sonorant.dsp.stages import FEATURIZER, StageResources, apply_stage, build_chain
from sonorant.errors import RejectedExample
from sonorant.pipeline.example import Example, Lineage, WordSpan
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

__all__ = ["StageView", "view_stages"]

StageView = tuple[str, Waveform, int]

_UTTERANCES, _EPOCHS = 20, 20


def view_stages(recipe: Recipe, run: RunFolder, data_folder: Path) -> tuple[list[StageView], tuple[WordSpan, ...]]:
    """Return (stage, waveform [samples], rate in hertz) before and after each stage, and the words' spans.

    The utterance and epoch are the first in which every stage changes something, since stages act by chance.
    """
    shards = ShardSet.open(run.shards, "train")
    chain = build_chain(recipe, StageResources(shards, data_folder))
    del chain[FEATURIZER]
    best: list[tuple[str, Example]] = []
    for ordinal, epoch in product(range(min(_UTTERANCES, shards.total)), range(_EPOCHS)):
        shard, index = shards.locate(ordinal)
        views = [("recording", shards.read(shard, index).example(Lineage(epoch, shard, index)))]
        for name, stage in chain.items():
            try:
                changed = apply_stage(name, stage, views[-1][1], recipe.seed)
            except RejectedExample:
                break
            if changed.waveform is not views[-1][1].waveform:
                views.append((name, changed))
        best = max(best, views, key=len)
        if len(best) == 1 + len(chain):
            break
    return [(name, _first_microphone(example), example.sample_rate_hz) for name, example in best], best[-1][1].words


def _first_microphone(example: Example) -> Waveform:
    assert example.waveform is not None
    return example.waveform if example.waveform.ndim == 1 else example.waveform[0]
