"""A label-synchronous model that streams, as it is exported: encoder, decoder, search."""

import itertools

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_recipe, murmur
from rigs.tiny_mocha import SECTION, tiny_mocha
from rigs.whole_recording import heard

from services.recognizer_client.client import pcm16
from sonorant.decoding import Heard, MonotonicSearch
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport, read_manifest
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.lm.training import train
from sonorant.models.family import Inputs
from sonorant.models.mocha import Mocha
from sonorant.models.monotonic_decoder import TensorMonotonicDecoder
from sonorant.models.monotonic_functions import monotonic_functions
from sonorant.recipe.schema import Recipe
from sonorant.serving.posteriors import SingleModel
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.steps import alone
from sonorant.tensorflow import of_arrays, tf

RUNNING = {"level": "running", "normalisation": "running", "memory_vectors": 10}
RECIPE = Recipe.model_validate(
    babble_recipe().model_dump(mode="json")
    | {"name": "mocha", "model": SECTION | RUNNING, "decoding": {"length_bonus": 6.0, "end_threshold": None}}
)
BINS = FeatureExtractor(RECIPE.features, RATE_HZ).bins
AUDIO = pcm16(murmur(2.0, seed=4))


LOOK_AHEAD = {"look_ahead": 3, "cells": 4}  # in each direction
DOCUMENT = RECIPE.model_dump(mode="json")


@pytest.fixture(scope="module", params=[{}, LOOK_AHEAD], ids=["past alone", "look-ahead"])
def recipe(request):
    return Recipe.model_validate(DOCUMENT | {"model": DOCUMENT["model"] | request.param})


@pytest.fixture(scope="module")
def trained(recipe):
    model = tiny_mocha(BINS, UNITS.size, **recipe.model.model_dump())
    model.set_normalisation([np.random.default_rng(0).normal(0.5, 0.3, (50, BINS))], lambda moments: moments)
    weights = model.named_weights()
    rng = np.random.default_rng(9)
    weights["decoder/projection"] = rng.normal(0, 2, weights["decoder/projection"].shape).astype(np.float32)
    weights["attention/offset"] = np.float32(2)  # so that heads stop often
    model.assign(weights)
    return model


@pytest.fixture(scope="module")
def exported(trained, recipe, tmp_path_factory):
    return load_exported(export_model(trained, recipe, UNITS, tmp_path_factory.mktemp("exports")).path)


def test_it_is_exported_as_a_stream(exported):
    manifest = read_manifest(exported.folder)
    assert (manifest.signature, manifest.search) == ("stream", "monotonic")
    assert exported.no_frames.shape == (0, SECTION["cells"])
    assert exported.decoder.window == 2


@pytest.mark.parametrize("cuts", [[1], [2, 3, 4], [5, 5, 13], list(range(31))])
def test_a_stream_has_the_bits_of_the_whole_however_it_is_cut(exported, cuts):
    features = np.random.default_rng(3).normal(0.5, 0.3, (31, BINS)).astype(np.float32)

    def encoded(cuts):
        state, parts = exported.initial_state(), []
        for chunk in np.split(features, cuts):
            if len(chunk):
                frames, state = exported.step(chunk, state)
                parts.append(frames)
        return np.concatenate([*parts, exported.finish(state)])

    whole = encoded([])
    assert len(whole) == 16
    np.testing.assert_array_equal(encoded(cuts), whole)


@pytest.mark.parametrize("vectors", [0, 1, 5, 6, 7, 12, 18, 25])
def test_a_stream_of_any_length_has_as_many_frames_as_its_framing_says_and_those_of_the_model(
    trained, exported, vectors
):
    features = np.random.default_rng(vectors).normal(0.5, 0.3, (vectors, BINS)).astype(np.float32)
    frames, state = exported.step(features, exported.initial_state())
    frames = np.concatenate([frames, exported.finish(state)])
    assert len(frames) == exported.framing.frames(vectors) == -(-vectors // 2)
    np.testing.assert_array_equal(exported.outputs([features])[0], frames)
    if vectors:
        encoded, _ = trained.encode(tf.constant(features[np.newaxis]), tf.constant([vectors]))
        np.testing.assert_allclose(frames, encoded[0], atol=1e-5)


def test_what_follows_a_stream_s_end_is_one_of_the_steps_that_streams_take_together(exported):
    stream = SingleModel(exported)
    sound = (np.frombuffer(AUDIO, "<i2") / 32768).astype(np.float32)
    sound = sound[: next(n for n in range(len(sound), 0, -1) if exported.extractor.vectors(n) % 2)]  # half a block more
    frames = alone(stream.push(sound))
    end = stream.finish()
    step = next(end)
    assert step.batched is exported
    found = exported.step(step.inputs, step.state)
    with pytest.raises(StopIteration) as over:
        end.send(found)
    np.testing.assert_array_equal(over.value.value, found[0])  # nothing is left for a call of its own
    np.testing.assert_array_equal(np.concatenate([frames, found[0]]), exported.outputs([exported.extractor(sound)])[0])


def test_the_decoder_of_an_export_is_that_of_the_model(trained, exported):
    rng = np.random.default_rng(1)
    functions = {name: of_arrays(one) for name, one in monotonic_functions(trained).items()}
    decoders = TensorMonotonicDecoder(functions), exported.decoder
    states = [decoder.seek(np.array([4]), decoder.begin()) for decoder in decoders]
    for frames in (1, 2, 2, 0):
        window = rng.normal(size=(frames, 8)).astype(np.float32)
        heard = Heard(window, 2, over=not frames)
        ours, theirs = (d.look(heard, s) for d, s in zip(decoders, states, strict=True))
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-5, rtol=1e-5)
        before, parents = rng.integers(0, 4, 3), rng.integers(0, len(states[0][0]), 3)
        states = [
            d.seek(before, tuple(rows[parents] for rows in after))
            for d, (_, _, after) in zip(decoders, (ours, theirs), strict=True)
        ]


def results(exported, cuts):
    session = Session(exported, SessionOptions(max_alternatives=3))
    edges = [0, *cuts, len(AUDIO)]
    return [one for a, b in itertools.pairwise(edges) for one in session.push(AUDIO[a:b])], session.finish()[-1]


def test_interim_results_come_while_the_stream_runs_and_the_final_one_does_not_depend_on_cuts(exported):
    _, whole = results(exported, [])
    interim, cut = results(exported, range(1600, len(AUDIO), 1600))
    texts = [result.alternatives[0].text for result in interim if result]
    assert len(texts) > 1
    assert all(0 < result.end_s <= 2.1 for result in interim if result)
    assert whole == cut
    assert len(whole.alternatives) == 3
    words = whole.alternatives[0].words
    assert len(words) > 2
    assert all(0 <= word.start_s <= word.end_s <= 2.0 for word in words)
    # What comes of the quiet around the audio has no length.
    assert {word.start_s for word in words if word.start_s == word.end_s} <= {0.0, 2.0}


def test_the_export_has_its_language_model_and_prior_and_the_search_uses_both(trained, recipe, exported, tmp_path):
    (tmp_path / "text.txt").write_text("alpha beta\nbeta beta\ngamma delta beta\n" * 3)
    train([tmp_path / "text.txt"], tmp_path / "lm.arpa", order=2)
    train([tmp_path / "text.txt"], tmp_path / "unigrams.arpa", order=1)
    lm, prior = {"path": str(tmp_path / "lm.arpa"), "alpha": 2.0}, {"path": str(tmp_path / "unigrams.arpa")}
    document = recipe.model_dump(mode="json")
    document["decoding"] |= {"lm": lm, "prior": prior, "phrases": ["delta beta"]}
    model = load_exported(export_model(trained, Recipe.model_validate(document), UNITS, tmp_path / "exports").path)
    _, found = results(model, [])
    features = model.extractor(heard(model, (np.frombuffer(AUDIO, "<i2") / 32768).astype(np.float32)))
    encoded, state = model.step(features, model.initial_state())
    frames = [encoded, model.finish(state)]

    def searched(fusion):
        search = open_monotonic(model, fusion)
        for part in frames:
            search.push(part)
        search.finish()
        return [one.units for one in search.hypotheses(3)]

    assert [one.units for one in found.alternatives] == searched(model.scorer.by_label)
    assert searched(model.scorer.by_label) != searched(None)


def open_monotonic(model, fusion=None, bonus=RECIPE.decoding.length_bonus, ctc_weight=0.0):
    return MonotonicSearch(model.decoder, UNITS, 0.1, RECIPE.decoding.beam, bonus, fusion, ctc_weight=ctc_weight)


def test_an_export_with_joint_ctc_has_its_log_probabilities_and_final_results_use_them(trained, recipe, tmp_path):
    model = tiny_mocha(BINS, UNITS.size, **recipe.model.model_dump() | {"ctc": True})
    kernel = np.random.default_rng(9).normal(0, 2, (SECTION["cells"], UNITS.size + 1)).astype(np.float32)
    model.assign(model.named_weights() | trained.named_weights() | {"ctc/kernel": kernel})
    document = recipe.model_dump(mode="json")
    document["model"]["ctc"], document["training"]["ctc_weight"] = True, 0.3
    document["decoding"] |= {"ctc_weight": 0.4, "length_bonus": 0.0}  # CTC spells no more labels than there are frames
    exported = load_exported(export_model(model, Recipe.model_validate(document), UNITS, tmp_path).path)
    features = exported.extractor(heard(exported, (np.frombuffer(AUDIO, "<i2") / 32768).astype(np.float32)))
    encoded, state = exported.step(features, exported.initial_state())
    encoded = np.concatenate([encoded, exported.finish(state)])
    inputs = Inputs(tf.constant(features[None]), tf.constant([len(features)]))
    (frames,) = exported.decoder.frame_log_probs([encoded])
    np.testing.assert_allclose(frames, model.outputs(inputs).frames[0], atol=1e-4)
    _, found = results(exported, [])

    def searched(ctc_weight):
        search = open_monotonic(exported, bonus=0.0, ctc_weight=ctc_weight)
        search.push(encoded)
        search.finish()
        return [one.units for one in search.hypotheses(3)]

    assert [one.units for one in found.alternatives] == searched(0.4) != searched(0.0)


class Deaf(Mocha):
    """A model whose decoder, frame by frame, never attends before the end."""

    def look(self, frames, state):
        attends, log_probs, state = super().look(frames, state)
        return attends & (tf.shape(frames)[0] == 0), log_probs, state


def test_a_decoder_that_differs_from_the_training_is_not_exported(trained, recipe, tmp_path):
    deaf = Deaf(trained.recipe, BINS, UNITS.size)
    deaf.assign(trained.named_weights())
    with pytest.raises(BadExport, match="differs from the trained one, by teacher forcing"):
        export_model(deaf, recipe, UNITS, tmp_path)
    assert list((tmp_path / "mocha").iterdir()) == []
