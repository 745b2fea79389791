"""Whether two machines compute the same bits: a checksum of the stages' outputs for fixed examples."""

import hashlib
from collections.abc import Mapping

import numpy as np

from sonorant.audio import kernels
from sonorant.augment.chain import FEATURIZER, StageResources, apply_stage, build_stage, stage_names
from sonorant.augment.stage import Stage
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import RejectedExample
from sonorant.randomness import generator
from sonorant.recipe.schema import Recipe

__all__ = ["arithmetic"]

_EXAMPLES = 8  # a stage that acts on every second utterance leaves all of them unchanged in one recipe of 256
_SECONDS = 0.5


def arithmetic(chain: Mapping[str, Stage], recipe: Recipe, resources: StageResources) -> str:
    """Return "variant of the kernels:checksum" of one stage, or several in a row; of none, an empty text.

    Bits follow from the processor's instruction set, from versions of libraries, and from what a stage reads. Replicas
    of a stage with equal checksums compute the same bits, as far as eight examples can show. The stages' counts of
    these examples are dropped.
    """
    if not chain:
        return ""
    counted = resources.counts.copy()
    names = stage_names(recipe)
    before = {}
    if names.index(next(iter(chain))) > names.index(FEATURIZER):
        before = {FEATURIZER: build_stage(FEATURIZER, recipe, resources)}
    # A recording that was away when this replica listed its folder would pass by eight examples: others draw it.
    checksum = hashlib.blake2b("".join(sorted(resources.listings)).encode(), digest_size=8)
    for number in range(_EXAMPLES):
        example = _example(number, recipe.corpus.sample_rate_hz)
        try:
            for name, stage in {**before, **chain}.items():
                example = apply_stage(name, stage, example, recipe.seed)
        except RejectedExample:
            continue
        made = example.waveform if example.features is None else example.features
        assert made is not None
        checksum.update(made.tobytes())
    resources.counts.clear()
    resources.counts.update(counted)
    return f"{kernels.VARIANT}:{checksum.hexdigest()}"


def _example(number: int, rate_hz: int) -> Example:
    """Return noise of whole 16-bit steps: the same on every machine, since nothing is rounded."""
    name = f"probe {number}"
    steps = generator(0, 0, name, "probe").integers(-(1 << 13), 1 << 13, int(_SECONDS * rate_hz))
    waveform = steps.astype(np.float32) / np.float32(1 << 15)
    return Example(Lineage(0, 0, 0), name, "", rate_hz, _SECONDS, waveform=waveform)
