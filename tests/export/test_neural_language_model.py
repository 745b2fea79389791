"""Language models as they are exported, and fused by recognizers."""

import numpy as np
import pytest
from rigs.babble import UNITS, babble_model, babble_recipe, murmur
from rigs.tiny_lm import SECTIONS, TRANSFORMER, spread, text_recipe, tiny_lm

from services.recognizer_client.client import pcm16
from sonorant.decoding import Scorer, WrongVocabulary
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.neural_language_model import load_language_model
from sonorant.export.saved_language_model import export_language_model
from sonorant.export.saved_model import export_model
from sonorant.models.transformer_lm import TransformerLm
from sonorant.recipe import Recipe
from sonorant.serving.session import Session, SessionOptions
from sonorant.tensorflow import tf
from sonorant.text.units import Units

AUDIO = pcm16(murmur(2.0, seed=4))


@pytest.fixture(scope="module", params=SECTIONS.values(), ids=SECTIONS)
def pair(request, tmp_path_factory):
    """A language model in memory, and the folder of its export."""
    model = spread(tiny_lm(request.param, UNITS.size))
    exports = tmp_path_factory.mktemp("exports")
    return model, export_language_model(model, text_recipe(request.param), UNITS, exports).path


def test_hypotheses_take_the_state_of_the_one_that_they_extend(pair):
    model, folder = pair
    exported = load_language_model(folder)
    rng = np.random.default_rng(1)
    labels, before, parents = [[()], [()]], np.full((2, 1), UNITS.size, np.int32), np.zeros((2, 1), np.int32)
    state = exported.begin(2)
    for k in (3, 2, 4):
        log_probs, state = exported.next(before, parents, state)
        for b, one in enumerate(labels):
            for i, prefix in enumerate(one):
                whole = model.log_probs(tf.constant([[*prefix, 0]])).numpy()[0, len(prefix)]
                np.testing.assert_allclose(log_probs[b, i], whole, atol=1e-4)
        parents = rng.integers(0, len(labels[0]), (2, k)).astype(np.int32)
        before = rng.integers(0, UNITS.size, (2, k)).astype(np.int32)
        labels = [[labels[b][p] + (int(y),) for p, y in zip(parents[b], before[b], strict=True)] for b in (0, 1)]


def test_sequences_of_any_lengths_are_extended_together_as_each_alone(pair):
    model, folder = pair
    exported = load_language_model(folder)
    rng = np.random.default_rng(2)
    sequences = [tuple(rng.integers(0, UNITS.size, length).tolist()) for length in (0, 1, 1, 3, 7, *range(1, 40))]

    def extended(some):
        """What follows each of some sequences, extended label by label side by side."""
        states, rows = [exported.first_state() for _ in some], [None] * len(some)
        for place in range(max(map(len, some)) + 1):
            due = [i for i, labels in enumerate(some) if len(labels) >= place]
            before = [some[i][place - 1] if place else UNITS.size for i in due]
            log_probs, after = exported.extend(before, [states[i] for i in due])
            for i, row, state in zip(due, log_probs, after, strict=True):
                rows[i], states[i] = row, state
        return rows

    together = extended(sequences)
    for labels, row in zip(sequences[:8], together, strict=False):
        whole = model.log_probs(tf.constant([[*labels, 0]])).numpy()[0, len(labels)]
        np.testing.assert_allclose(row, whole, atol=1e-4)
        (alone,) = extended([labels])
        assert np.array_equal(row, alone)
    again = extended(sequences[::-1])[::-1]
    assert all(map(np.array_equal, together, again))


def test_states_of_different_lengths_share_a_call(pair):
    _, folder = pair
    exported = load_language_model(folder)
    _, (short,) = exported.extend([UNITS.size], [exported.first_state()])
    alone, (longer,) = exported.extend([1], [short])
    log_probs, after = exported.extend([2, 1, 3], [longer, short, exported.first_state()])
    assert np.array_equal(log_probs[1], alone[0])
    assert all(np.array_equal(after[1][name], longer[name]) for name in longer)


def test_it_is_told_from_a_recognizer(pair):
    _, folder = pair
    with pytest.raises(BadExport, match=r"recognizes nothing by itself; name it in decoding\.lm\.path"):
        load_exported(folder)


def test_a_recognizers_export_has_a_copy_and_its_search_is_fused(pair, tmp_path):
    _, folder = pair
    lm = {"path": str(folder), "alpha": 3.0, "beta": 2.0}
    recipe = Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"decoding": {"lm": lm}})
    path = export_model(babble_model(recipe), recipe, UNITS, tmp_path).path
    model = load_exported(path)
    assert model.recipe.decoding.lm.path == "lm"
    assert (path / "lm/manifest.json").is_file()

    def transcript():
        session = Session(model, SessionOptions(interim_results=False))
        session.push(AUDIO)
        return session.finish()[-1].alternatives[0].text

    fused = transcript()
    model.scorer = Scorer(UNITS)
    assert fused != transcript()
    with pytest.raises(BadExport, match="recognizes speech; expected a language model"):
        load_language_model(path)
    (path / "lm/units.json").write_text("[]")
    with pytest.raises(BadExport, match=r"lm/units\.json: SHA-256"):
        load_exported(path)


def test_a_folder_that_is_no_export_is_told_what_a_language_model_may_be(pair, tmp_path):
    _, folder = pair
    for path in (tmp_path, folder.parent):
        lm = {"decoding": {"lm": {"path": str(path)}}}
        recipe = Recipe.model_validate(babble_recipe().model_dump(mode="json") | lm)
        said = rf"^{path}: a folder without manifest\.json; expected the file of an n-gram model, or an exported"
        with pytest.raises(BadExport, match=said):
            export_model(babble_model(recipe), recipe, UNITS, tmp_path / "exports")


def test_a_language_model_of_other_units_is_refused_before_anything_is_written(pair, tmp_path):
    _, folder = pair
    recipe = Recipe.model_validate(
        babble_recipe().model_dump(mode="json") | {"decoding": {"lm": {"path": str(folder)}}}
    )
    with pytest.raises(WrongVocabulary, match="unit 3 is 'gamma', expected 'other'"):
        export_model(babble_model(recipe), recipe, Units("words", ("alpha", "beta", "delta", "other")), tmp_path)
    assert not (tmp_path / "babble").exists()


class Forgetful(TransformerLm):
    """A model that forgets what stood before, label by label."""

    def next_label(self, before, state):
        return super().next_label(before, [tensor[:, :, :0] for tensor in state])


def test_a_model_whose_steps_differ_from_its_training_is_not_exported(tmp_path):
    recipe = text_recipe(TRANSFORMER)
    model = spread(Forgetful(recipe.model, 0, UNITS.size))
    with pytest.raises(BadExport, match="differs from the trained one by"):
        export_language_model(model, recipe, UNITS, tmp_path)
    assert list((tmp_path / "tiny-lm").iterdir()) == []
