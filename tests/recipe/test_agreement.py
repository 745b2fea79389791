"""Recipes of the tree, each with a setting or two that do not go with the rest."""

import shlex
from pathlib import Path

import pytest

from sonorant.errors import BadRecipe
from sonorant.recipe.document import Override
from sonorant.recipe.loading import load_recipe

RECIPES = Path(__file__).parents[2] / "recipes"

# By recipe: settings, and what is said of them.
REFUSED = [
    # text
    ("digits", "corpus.reader=text", "corpus.reader=text with model.family=lstm_ctc"),
    ("grammar-lm", "training.label_smoothing=0.1", "training.label_smoothing=0.1: text has no use for it"),
    ("grammar-lm", "decoding.length_bonus=1", "decoding.length_bonus=1.0: text has no use for it"),
    # features
    ("digits", "features.high_hz=8000", "need low_hz < high_hz <= 4000"),
    ("digits", "features.kind=mfcc", "model.level=running with features.kind=mfcc"),
    # training
    ("digits", "training.objective=frame_cross_entropy", "frame_cross_entropy needs the folder of an exported"),
    ("digits", "training.aligner=x", "training.objective=ctc with training.aligner='x'"),
    (
        "digits",
        "training.objective=frame_cross_entropy training.aligner=x",
        "training.alignment_weight=1.0 with training.objective=frame_cross_entropy",
    ),
    ("digits", "training.anneal_dropout=[0.1]", "the dropout of model.family=lstm_ctc is fixed"),
    (
        "digits",
        "pipeline.order=strict training.ranks=2 training.batch_vectors=9000",
        "training.batch_vectors=9000 with pipeline.order: strict and training.ranks: 2",
    ),
    # growth
    ("digits", "training.pretrain_layers=[2]", "training.pretrain_layers=[2] with model.layers=2: must rise from"),
    ("digits", "model.layers=4 training.pretrain_layers=[3,2]", "must rise from at least 2"),
    ("digits-deepspeech", "training.pretrain_layers=[2]", "this model of model.family=deep_speech cannot grow"),
    ("grammar-mocha", "training.pretrain_layers=[2]", "this model of model.family=mocha cannot grow"),
    # labels
    ("digits", "training.sampling=0.1", "training.sampling=0.1: is for models with a label-synchronous decoder"),
    ("digits-bfa", "decoding.jitter_ms=5", "decoding.jitter_ms=5.0: model.family=bfa has outputs by label"),
    (
        "digits-bfa",
        "model.ctc=false training.ctc_weight=0 decoding.ctc_weight=0 training.alignment_weight=1",
        "training.alignment_weight=1.0: model.family=bfa has outputs by frame with training.ctc_weight only",
    ),
    ("digits-bfa", "model.ctc=false", "model.ctc=false with training.ctc_weight="),
    # heads
    ("digits-bfa", "training.quantity_weight=0.1", "training.quantity_weight=0.1: model.family=bfa has no attention"),
    ("digits-bfa", "training.head_weight=0.1", "training.head_weight=0.1: aligns heads of monotonic attention"),
    ("digits", "training.head_delay_frames=2", "training.head_delay_frames=2 with training.head_weight=0"),
    # search
    ("digits-mocha", "decoding.coverage_weight=0.1", "decoding.coverage_weight=0.1: model.family=mocha"),
    ("digits", "decoding.ctc_weight=0.1", "decoding.ctc_weight=0.1: model.family=lstm_ctc with model.ctc=false"),
    ("digits", "'decoding.prior={path: p.arpa}'", "decoding.prior: model.family=lstm_ctc has outputs by frame"),
    ("digits", "decoding.length_bonus=1", "decoding.length_bonus=1.0: model.family=lstm_ctc is searched frame by"),
    # word errors
    ("digits", "training.mwer_hypotheses=1", "training.mwer_hypotheses=1 with training.objective=ctc: expected 0"),
    (
        "digits",
        "training.mwer_hypotheses=4 model.layers=3 training.pretrain_layers=[2]",
        "mWER starts from a trained encoder",
    ),
    # unrolling
    ("digits-bfa", "training.unroll_vectors=20", "needs a family whose state is carried from chunk to chunk"),
    ("digits", "training.unroll_vectors=20 training.mwer_hypotheses=4", "needs the loss of one transcript"),
    ("digits", "training.unroll_vectors=20 training.unroll_rows=64", "training.unroll_rows=64 with training.batch_ex"),
    ("digits", "training.unroll_vectors=20 training.accumulate_batches=2", "makes several steps of a batch"),
    ("digits", "training.unroll_vectors=20 model.dropout_over=utterance", "found model.dropout_over=utterance"),
    (
        "digits-google",
        "training.unroll_vectors=20 features.stack=16 'model.convolution_2d={frames: 16, batch_normalisation: true}'",
        "would normalise the padding behind utterances",
    ),
    # stages
    ("digits", "'stages=[{stage: gain}, {stage: gain}]'", "each stage may stand once"),
    ("digits", "'stages=[{stage: spec_augment}, {stage: gain}]'", "put spec_augment after all stages on waveforms"),
    ("digits", "'pipeline.replicas={noise: 1}'", "pipeline.replicas names ['noise']"),
]


@pytest.mark.parametrize(("recipe", "settings", "said"), REFUSED, ids=[" ".join(case[:2]) for case in REFUSED])
def test_what_does_not_go_with_the_rest_is_refused(recipe: str, settings: str, said: str) -> None:
    given = [Override(key, value, f"--set {key}") for key, value in _pairs(settings)]
    with pytest.raises(BadRecipe) as refused:
        load_recipe(RECIPES / f"{recipe}.yaml", given)
    assert said in str(refused.value)


def _pairs(settings: str) -> list[tuple[str, str]]:
    return [(key, value) for key, _, value in (pair.partition("=") for pair in shlex.split(settings))]
