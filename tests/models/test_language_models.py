"""The families of language models: what they make of labels, whole or one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.tiny_lm import LSTM, SECTIONS, TRANSFORMER, text_recipe, tiny_lm

from sonorant.errors import BadRecipe
from sonorant.models.section import TransformerLmRecipe
from sonorant.tensorflow import tf

UNITS = 4
families = pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)


def random_weights(model, seed=0):
    """Give all weights that matter values large enough to show every mistake."""
    rng = np.random.default_rng(seed)
    model.assign(
        {
            path: value if path == "dropout/rate" else value + rng.normal(0, 0.5, value.shape).astype(np.float32)
            for path, value in model.named_weights().items()
        }
    )
    return model


MODELS = {name: random_weights(tiny_lm(section)) for name, section in SECTIONS.items()}
names = pytest.mark.parametrize("name", MODELS)


@names
@given(labels=st.lists(st.integers(0, UNITS - 1), min_size=1, max_size=6))
@settings(max_examples=5, deadline=None)
def test_log_probabilities_label_by_label_are_those_of_the_whole(name, labels):
    model = MODELS[name]
    whole = model.log_probs(tf.constant([labels])).numpy()[0]
    np.testing.assert_allclose(np.exp(whole).sum(1), 1, rtol=1e-5)
    state, before = model.begin(1, 1), UNITS
    for label, expected in zip([*labels, None], whole, strict=True):
        log_probs, state = model.next_label(tf.constant([[before]]), state)
        np.testing.assert_allclose(log_probs[0, 0], expected, atol=1e-5)
        before = label


@names
def test_hypotheses_side_by_side_and_batch_mates_do_not_change_each_other(name):
    model = MODELS[name]
    prefixes = np.random.default_rng(1).integers(0, UNITS, (2, 3, 4))
    state, before = model.begin(2, 3), np.full((2, 3), UNITS)
    for place in range(4):
        _, state = model.next_label(tf.constant(before, tf.int32), state)
        before = prefixes[..., place]
    log_probs, _ = model.next_label(tf.constant(before, tf.int32), state)
    for b, k in np.ndindex(2, 3):
        alone = model.log_probs(tf.constant(prefixes[b, k][np.newaxis], tf.int32)).numpy()[0, -1]
        np.testing.assert_allclose(log_probs[b, k], alone, atol=1e-5)


@names
@pytest.mark.parametrize("padding", [0, UNITS, -1, 99])
def test_padding_changes_nothing_before_it(name, padding):
    model = MODELS[name]
    alone = model.log_probs(tf.constant([[1, 3]])).numpy()[0]
    beside = model.log_probs(tf.constant([[1, 3, padding, padding], [2, 0, 1, 3]])).numpy()[0]
    np.testing.assert_allclose(beside[:3], alone, atol=1e-5)  # products of another shape round otherwise


@names
def test_every_label_before_counts(name):
    model = MODELS[name]
    last = {model.log_probs(tf.constant([[a, 1, 2]])).numpy()[0, -1].tobytes() for a in range(UNITS)}
    assert len(last) == UNITS


def test_a_transformer_is_that_of_its_equations():
    """One layer, written out in numpy (Irie 2019, section 3): no position enters but by what is seen."""
    model = random_weights(tiny_lm({**TRANSFORMER, "layers": 1}), seed=3)
    w = {path: value.astype(np.float64) for path, value in model.named_weights().items()}

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
        return x * w[f"{name}/gamma"] + w[f"{name}/beta"]

    x = w["embedding/embeddings"][[UNITS, 2, 0, 2]] @ w["to_size/kernel"]
    z = norm(x, "layer_0_attention_norm")
    q, k, v = (z @ w[f"layer_0_{name}/kernel"] for name in ("query", "key", "value"))
    heads = []
    for h in range(3):
        part = slice(4 * h, 4 * h + 4)
        rows = []
        for t in range(4):
            energies = np.exp(q[t, part] @ k[: t + 1, part].T / 2)
            rows.append(energies / energies.sum() @ v[: t + 1, part])
        heads.append(rows)
    x = x + np.concatenate(heads, -1) @ w["layer_0_attended/kernel"]
    z = np.maximum(norm(x, "layer_0_forward_norm") @ w["layer_0_expand/kernel"] + w["layer_0_expand/bias"], 0)
    x = x + z @ w["layer_0_contract/kernel"] + w["layer_0_contract/bias"]
    logits = norm(x, "norm") @ w["projection/kernel"] + w["projection/bias"]
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    np.testing.assert_allclose(model.log_probs(tf.constant([[2, 0, 2]])).numpy()[0], expected, atol=1e-4)


@families
def test_dropout_follows_from_its_seed(section):
    model = random_weights(tiny_lm({**section, "dropout": 0.5}))
    labels = tf.constant([[1, 2, 3]])
    first, again, other = (model.log_probs(labels, tf.constant(seed)).numpy() for seed in ([1, 2], [1, 2], [1, 3]))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01
    assert np.abs(first - model.log_probs(labels).numpy()).max() > 0.01


def test_a_size_that_heads_cannot_share_is_refused():
    with pytest.raises(ValueError, match="size=10: must be a multiple of heads=3"):
        TransformerLmRecipe.model_validate({**TRANSFORMER, "size": 10})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"family": "lstm_ctc"}}, "corpus.reader=text with model.family=lstm_ctc"),
        ({"corpus": {"reader": "manifest", "path": "x"}}, "corpus.reader=manifest with model.family=lstm_lm"),
        ({"stages": [{"stage": "gain"}]}, r"stages=\['gain'\]: text has no use for it"),
        ({"decoding": {"phrases": ["a"]}}, "decoding.phrases=.*: text has no use for it"),
        ({"training": {"sampling": 0.1}}, "training.sampling=0.1: text has no use for it"),
        ({"training": {"ctc_weight": 0.1}}, "training.ctc_weight=0.1: text has no use for it"),
    ],
)
def test_what_text_has_no_use_for_is_refused(change, message):
    values = text_recipe(LSTM).model_dump(mode="json") | change
    with pytest.raises(ValueError, match=message):
        type(text_recipe()).model_validate(values)


def test_a_language_models_recipe_is_refused_where_speech_is_needed():
    with pytest.raises(BadRecipe, match=r"family=lstm_lm: a language model is trained on text, so there is"):
        text_recipe().require_speech("recognize")
