"""One utterance of the train split after each stage, as training gets it."""

from collections.abc import Iterator, Mapping
from itertools import product, takewhile
from pathlib import Path
from typing import NamedTuple

from sonorant.arrays import Features, Waveform
from sonorant.augment.chain import FEATURIZER, StageResources, apply_stage, build_chain
from sonorant.augment.stage import Stage
from sonorant.corpus.shards import ShardSet, not_here
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import RejectedExample
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

__all__ = ["RECORDING", "StageView", "changed_features", "changed_views", "pass_through", "view_stages"]

RECORDING = "recording"  # the name of the input of the first stage

_UTTERANCES, _EPOCHS = 20, 20


class StageView(NamedTuple):
    """A stage's output: Float32[samples] of the first microphone, and its words' spans."""

    stage: str
    waveform: Waveform
    rate_hz: int
    words: tuple[WordSpan, ...]


def pass_through(chain: Mapping[str, Stage], example: Example, seed: int) -> Iterator[tuple[str, Example]]:
    """Yield the example as a recording, then after each stage of the chain, by the stage's name.

    Raises RejectedExample, naming the stage that rejects it.
    """
    yield RECORDING, example
    for name, stage in chain.items():
        try:
            example = apply_stage(name, stage, example, seed)
        except RejectedExample as error:
            raise RejectedExample(f"{name} rejects utterance {example.utterance}: {error}") from error
        yield name, example


def changed_views(passed: Mapping[str, Example]) -> list[StageView]:
    """Return views of the recording and of every waveform that differs from the one before."""
    views: list[StageView] = []
    before: Waveform | None = None
    for name, example in passed.items():
        if example.waveform is not None and example.waveform is not before:
            first = example.waveform if example.waveform.ndim == 1 else example.waveform[0]
            views.append(StageView(name, first, example.sample_rate_hz, example.words))
        before = example.waveform
    return views


def changed_features(passed: Mapping[str, Example]) -> dict[str, Features]:
    """Return Float32[vectors, bins] by stage: the featurizer's, and all that differ from those before."""
    features: dict[str, Features] = {}
    before: Features | None = None
    for name, example in passed.items():
        if example.features is not None and example.features is not before:
            features[name] = example.features
        before = example.features
    return features


def view_stages(recipe: Recipe, run: RunFolder, data_folder: Path) -> list[StageView]:
    """Return views of an utterance before and after each stage that works on waveforms.

    The utterance and epoch are the first in which every stage changes something, since stages act at random.
    """
    shards = ShardSet.open(run.shards, "train", not_here)
    whole = build_chain(recipe, StageResources(shards, data_folder))
    chain = {name: whole[name] for name in takewhile(lambda name: name != FEATURIZER, whole)}
    best: list[StageView] = []
    for ordinal, epoch in product(range(min(_UTTERANCES, shards.total)), range(_EPOCHS)):
        shard, index = shards.locate(ordinal)
        recording = shards.read(shard, index).example(Lineage(epoch, shard, index))
        try:
            views = changed_views(dict(pass_through(chain, recording, recipe.seed)))
        except RejectedExample:
            continue
        best = max(best, views, key=len)
        if len(best) == 1 + len(chain):
            break
    return best
