"""Trials of a label-synchronous model, whose decoder each of them drives."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_recipe, murmur
from rigs.tiny_bfa import SECTION, tiny_bfa

from sonorant.decoding import LabelBeam, Scoring
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe import Recipe
from sonorant.tuning import Spoken, Subject, TrialRunner, read_outputs, write_outputs
from sonorant.tuning.trial import _opened

WEIGHTS = [
    {"length_bonus": bonus, "coverage_weight": 0.0, "ctc_weight": ctc} for bonus in (4.0, 6.0) for ctc in (0, 0.4)
]


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    values = babble_recipe("bfa").model_dump(mode="json") | {"model": {**SECTION, "ctc": True}}
    values["training"]["ctc_weight"] = 0.3
    values["decoding"]["end_threshold"] = None  # random weights give the end no place of its own
    recipe = Recipe.model_validate(values)
    model = tiny_bfa(FeatureExtractor(recipe.features, RATE_HZ).bins, UNITS.size, ctc=True)
    weights = model.named_weights()
    rng = np.random.default_rng(9)
    for name in ("decoder/projection", "ctc/kernel"):
        weights[name] = rng.normal(0, 2, weights[name].shape).astype(np.float32)
    model.assign(weights)
    export = export_model(model, recipe, UNITS, folder).path
    spoken = [Spoken("alpha beta", "", lambda n=n: murmur(0.3 + 0.2 * n, n)) for n in range(5)]
    write_outputs(folder / "outputs", "five", load_exported(export), spoken, jitter_ms=0.0, threads=1)
    return Subject(export, folder / "outputs", recipe.model_dump_json())


def test_a_trial_searches_encoded_frames_with_its_weights(subject):
    outputs, decoder = read_outputs(subject.outputs), load_exported(subject.export).decoder
    runner, errors = TrialRunner(subject, map), []
    for weights in WEIGHTS:
        beam = LabelBeam(
            decoder, UNITS.size, 8, Scoring(length_bonus=weights["length_bonus"], ctc_weight=weights["ctc_weight"])
        )
        labels = [beam.search([outputs.frames(i)])[0][0].labels for i in range(5)]
        texts = [UNITS.text(one).split() for one in labels]
        rate = runner.rate(weights)
        assert [count for count, _ in rate.per_utterance] == [distance(text, ["alpha", "beta"]) for text in texts]
        errors.append(rate.errors)
    assert len(set(errors)) > 1


def test_what_is_tuned_is_the_same_whatever_its_weights(subject):
    values = Recipe.model_validate_json(subject.recipe).model_dump(mode="json")
    found = []
    for decoding in ({"end_threshold": 1.5}, {"end_threshold": 2.5, "length_bonus": 3.0}, {"end_threshold": None}):
        recipe = Recipe.model_validate(values | {"decoding": values["decoding"] | decoding})
        found.append(replace(subject, recipe=recipe.model_dump_json()).fingerprint)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("section", "changed"),
    [
        ("text", {"lowercase": False}),
        ("features", {"low_hz": 90}),
        ("model", {"dropout": 0.3}),
        ("decoding", {"beam": 3}),
    ],
)
def test_what_is_tuned_is_another_with_other_text_features_model_or_search(subject, section, changed):
    values = Recipe.model_validate_json(subject.recipe).model_dump(mode="json")
    assert values[section] != values[section] | changed
    recipe = Recipe.model_validate(values | {section: values[section] | changed})
    assert replace(subject, recipe=recipe.model_dump_json()).fingerprint != subject.fingerprint


def test_what_is_tuned_is_another_with_other_outputs(subject, tmp_path):
    shutil.copytree(subject.outputs, tmp_path / "outputs")
    moved = replace(subject, outputs=tmp_path / "outputs")
    assert moved.fingerprint == subject.fingerprint
    document = json.loads((moved.outputs / "utterances.json").read_text())
    (moved.outputs / "utterances.json").write_text(json.dumps(document | {"origin": "six"}))
    assert moved.fingerprint != subject.fingerprint


def distance(found, said):
    """Levenshtein distance, by its recursion."""
    if not found or not said:
        return len(found) + len(said)
    replaced = distance(found[1:], said[1:]) + (found[0] != said[0])
    return min(replaced, 1 + distance(found[1:], said), 1 + distance(found, said[1:]))


def test_an_export_that_lacks_log_probabilities_by_frame_is_refused(subject, monkeypatch):
    recipe = Recipe.model_validate_json(subject.recipe)
    old = SimpleNamespace(recipe=recipe, decoder=SimpleNamespace(joint_ctc=False))
    monkeypatch.setattr("sonorant.tuning.trial.load_exported", lambda folder: old)
    _opened.cache_clear()
    with pytest.raises(BadExport, match="of an earlier version, without log-probabilities by frame"):
        TrialRunner(subject, map).rate(WEIGHTS[0])
