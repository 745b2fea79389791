"""A label-synchronous model as it is exported: encoder, decoder, search."""

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_recipe, murmur
from rigs.tiny_bfa import SECTION, tiny_bfa
from rigs.whole_recording import heard

from services.recognizer_client.client import pcm16
from sonorant.decoding import LabelBeam, Scoring
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.lm.training import train
from sonorant.models.bfa import Bfa
from sonorant.models.decoder_functions import model_decoder
from sonorant.models.family import Inputs
from sonorant.models.label_synchronous import DecoderStep
from sonorant.recipe.schema import Recipe
from sonorant.serving.session import Session, SessionOptions
from sonorant.tensorflow import tf

BONUS = 6.0  # of each label, so that random weights do not end at once
RECIPE = Recipe.model_validate(
    babble_recipe().model_dump(mode="json")
    | {"name": "bfa", "model": SECTION, "decoding": {"length_bonus": BONUS, "end_threshold": None}}
)
BINS = FeatureExtractor(RECIPE.features, RATE_HZ).bins
AUDIO = pcm16(murmur(2.0, seed=4))


@pytest.fixture(scope="module")
def trained():
    model = tiny_bfa(BINS, UNITS.size)
    model.set_normalisation([np.random.default_rng(0).normal(0.5, 0.3, (50, BINS))], lambda moments: moments)
    weights = model.named_weights()
    rng = np.random.default_rng(9)
    weights["decoder/projection"] = rng.normal(0, 2, weights["decoder/projection"].shape).astype(np.float32)
    model.assign(weights)
    return model


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    return load_exported(export_model(trained, RECIPE, UNITS, tmp_path_factory.mktemp("exports")).path)


def test_the_decoder_of_an_export_is_that_of_the_model_for_any_batch(trained, exported):
    rng = np.random.default_rng(1)
    encoded = [rng.normal(size=(n, 16)).astype(np.float32) for n in (7, 3)]
    own = model_decoder(trained)
    before, parents = np.full((2, 1), 4), np.zeros((2, 1))
    states = [decoder.begin(encoded) for decoder in (own, exported.decoder)]
    for k in (3, 2):
        steps = [d.next(before, parents, s) for d, s in zip((own, exported.decoder), states, strict=True)]
        for ours, theirs in zip(steps[0][:2], steps[1][:2], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)
        states = [state for *_, state in steps]
        before, parents = rng.integers(0, 4, (2, k)), rng.integers(0, before.shape[1], (2, k))


def test_hypotheses_take_the_state_of_the_one_that_they_extend(exported):
    encoded = [np.random.default_rng(1).normal(size=(7, 16)).astype(np.float32)]
    none = np.zeros((1, 1), np.int32)
    *_, first = exported.decoder.next(none + 4, none, exported.decoder.begin(encoded))
    *_, second = exported.decoder.next(np.array([[0, 1, 2]]), np.zeros((1, 3)), first)
    third, *_ = exported.decoder.next(np.array([[3, 3]]), np.array([[2, 0]]), second)
    for k, label in enumerate((2, 0)):
        *_, alone = exported.decoder.next(none + label, none, first)
        expected, *_ = exported.decoder.next(none + 3, none, alone)
        np.testing.assert_allclose(third[0, k], expected[0, 0], atol=1e-5, rtol=1e-5)


def test_a_batch_finds_what_each_utterance_finds_alone(exported):
    rng = np.random.default_rng(2)
    encoded = [rng.normal(size=(n, 16)).astype(np.float32) for n in (9, 2, 5)]
    beam = LabelBeam(exported.decoder, UNITS.size, beam=4)
    for together, utterance in zip(beam.search(encoded), encoded, strict=True):
        (alone,) = beam.search([utterance])
        assert [one.labels for one in alone] == [one.labels for one in together]
        np.testing.assert_allclose([one.score for one in alone], [one.score for one in together], atol=1e-4)


@pytest.mark.parametrize("cuts", [[], [2], [1600, 1602, 9000]])
def test_a_stream_is_recognized_when_it_is_over_however_it_is_cut(exported, cuts):
    session = Session(exported, SessionOptions(max_alternatives=3))
    interim = [one for a, b in zip([0, *cuts], [*cuts, len(AUDIO)], strict=True) for one in session.push(AUDIO[a:b])]
    result = session.finish()[-1]
    assert not any(interim)
    assert len(result.alternatives) == 3
    samples = (np.frombuffer(AUDIO, "<i2") / 32768).astype(np.float32)
    features = exported.extractor(heard(exported, samples))
    encoded = exported.finish((features,))
    assert len(encoded) == -(-len(features) // 2)
    (expected,) = LabelBeam(exported.decoder, UNITS.size, RECIPE.decoding.beam, Scoring(length_bonus=BONUS)).search(
        [encoded]
    )
    assert result.alternatives[0].units == expected[0].labels
    assert len(expected[0].labels) > 2
    assert all(0 <= word.start_s < word.end_s <= 2.1 for word in result.alternatives[0].words)


def test_the_export_has_its_language_model_and_prior_and_the_search_uses_both(trained, exported, tmp_path):
    (tmp_path / "text.txt").write_text("alpha beta\nbeta beta\ngamma delta beta\n" * 3)
    train([tmp_path / "text.txt"], tmp_path / "lm.arpa", order=2)
    train([tmp_path / "text.txt"], tmp_path / "unigrams.arpa.gz", order=1)
    lm, prior = {"path": str(tmp_path / "lm.arpa"), "alpha": 3.0}, {"path": str(tmp_path / "unigrams.arpa.gz")}
    document = RECIPE.model_dump(mode="json")
    document["decoding"] |= {"lm": lm, "prior": prior}
    export = export_model(trained, Recipe.model_validate(document), UNITS, tmp_path / "exports")
    for path in tmp_path.glob("*.arpa*"):
        path.unlink()
    model = load_exported(export.path)
    session = Session(model, SessionOptions(max_alternatives=3))
    session.push(AUDIO)
    found = session.finish()[-1].alternatives
    samples = (np.frombuffer(AUDIO, "<i2") / 32768).astype(np.float32)
    scoring = Scoring(model.scorer.by_label, BONUS)
    assert scoring.fusion.prior_weight == 0.005
    encoded = model.finish((model.extractor(heard(model, samples)),))
    (expected,) = LabelBeam(model.decoder, UNITS.size, RECIPE.decoding.beam, scoring).search([encoded])
    (plain,) = LabelBeam(model.decoder, UNITS.size, RECIPE.decoding.beam, Scoring(length_bonus=BONUS)).search([encoded])
    assert [one.units for one in found] == [one.labels for one in expected[:3]]
    assert expected[0].labels != plain[0].labels


def test_a_prior_for_a_model_by_frame_is_refused():
    document = babble_recipe().model_dump(mode="json") | {"decoding": {"prior": {"path": "unigrams.arpa"}}}
    with pytest.raises(ValueError, match=r"decoding\.prior: model\.family=lstm_ctc has outputs by frame"):
        Recipe.model_validate(document)


class Forgetful(Bfa):
    """A model whose decoder forgets its state."""

    def next_label(self, before, memory, state):
        step = super().next_label(before, memory, state)
        return DecoderStep(step.log_probs, step.attention, state)


def test_a_decoder_that_differs_from_the_training_is_not_exported(trained, tmp_path):
    forgetful = Forgetful(trained.recipe, BINS, UNITS.size)
    forgetful.assign(trained.named_weights())
    with pytest.raises(BadExport, match="differs from the trained one, by teacher forcing"):
        export_model(forgetful, RECIPE, UNITS, tmp_path)
    assert list((tmp_path / "bfa").iterdir()) == []


def joint(weight):
    values = RECIPE.model_dump(mode="json")
    values["model"]["ctc"], values["training"]["ctc_weight"] = True, 0.3
    values["decoding"]["ctc_weight"] = weight
    return Recipe.model_validate(values)


def test_an_export_with_joint_ctc_has_its_log_probabilities_by_frame_and_the_search_uses_them(tmp_path):
    model = tiny_bfa(BINS, UNITS.size, ctc=True)
    weights = model.named_weights()
    rng = np.random.default_rng(9)
    for name in ("decoder/projection", "ctc/kernel"):
        weights[name] = rng.normal(0, 2, weights[name].shape).astype(np.float32)
    model.assign(weights)
    exported = load_exported(export_model(model, joint(0.4), UNITS, tmp_path).path)
    features = exported.extractor(heard(exported, (np.frombuffer(AUDIO, "<i2") / 32768).astype(np.float32)))
    encoded = exported.finish((features,))
    (frames,) = exported.decoder.frame_log_probs([encoded])
    trained = model.outputs(Inputs(tf.constant(features[None]), tf.constant([len(features)]))).frames[0]
    np.testing.assert_allclose(frames, trained, atol=1e-4)
    session = Session(exported, SessionOptions(max_alternatives=3))
    session.push(AUDIO)
    found = [one.units for one in session.finish()[-1].alternatives]
    beams = [LabelBeam(exported.decoder, UNITS.size, 8, Scoring(length_bonus=BONUS, ctc_weight=w)) for w in (0.4, 0.0)]
    with_ctc, without = ([one.labels for one in beam.search([encoded])[0][:3]] for beam in beams)
    assert found == with_ctc != without


@pytest.mark.parametrize("section", [{"family": "lstm_ctc"}, SECTION, {**SECTION, "family": "mocha"}], ids=str)
def test_joint_ctc_for_a_model_without_a_search_by_label_and_ctc_is_refused(section):
    values = joint(0.4).model_dump(mode="json") | {"model": section}
    values["training"]["ctc_weight"] = 0.0
    with pytest.raises(ValueError, match=r"decoding\.ctc_weight=0\.4: model\.family=\w+ with model\.ctc=\w+ has no"):
        Recipe.model_validate(values)
