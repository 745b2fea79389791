from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from rigs.babble import RATE_HZ, UNITS, babble_model, babble_recipe, export_babble, murmur
from rigs.tiny_bfa import SECTION

from sonorant.decoding.section import LanguageModelRecipe
from sonorant.errors import BadLanguageModel
from sonorant.export.loading import load_exported, load_member
from sonorant.export.manifest import MANIFEST, BadExport, checksums, read_manifest
from sonorant.export.other_decoding import export_with_decoding
from sonorant.export.saved_ensemble import export_ensemble
from sonorant.export.saved_model import export_model
from sonorant.export.weights import exported_weights
from sonorant.features.front_end import FeatureExtractor
from sonorant.lm.training import train
from sonorant.models.registry import build_model
from sonorant.recipe import Recipe
from sonorant.serving.posteriors import no_posteriors, open_posteriors
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.steps import alone
from sonorant.text.units import Units

AUDIO = murmur(1.5, seed=3)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def others(exports):
    return [export_babble(exports, name, seed).path for name, seed in (("second", 2), ("third", 3))]


@pytest.fixture(scope="module")
def ensemble(exports, others):
    recipe = babble_recipe("three")
    return export_ensemble(babble_model(recipe), others, recipe, UNITS, exports).path


def posteriors(model, parts=1):
    opened = open_posteriors(model, jitter_ms=0.0)
    pushed = [alone(opened.push(part)) for part in np.array_split(AUDIO, parts)]
    return np.concatenate([*pushed, alone(opened.finish())])


def test_probabilities_are_the_mean_of_the_members_however_audio_is_cut(exports, ensemble, others):
    first = export_babble(exports, "first").path
    members = [np.exp(np.float64(posteriors(load_member(path)))) for path in (first, *others)]
    served = load_exported(ensemble)
    np.testing.assert_allclose(np.exp(posteriors(served)), np.mean(members, axis=0), atol=1e-6)
    np.testing.assert_array_equal(posteriors(served, parts=17), posteriors(served))
    assert np.abs(members[0] - members[1]).max() > 0.1


def test_it_is_served_as_one_model(ensemble):
    session = Session(load_exported(ensemble), SessionOptions())
    session.push((AUDIO * 32767).astype("<i2").tobytes())
    assert session.finish()[-1].alternatives[0].text
    assert (session.model.name, session.model.version) == ("three", 1)


def test_a_member_with_other_features_may_join(exports):
    wide = Recipe.model_validate(babble_recipe("wide").model_dump(mode="json") | {"features": {"mel_bins": 24}})
    model = build_model(wide.model, FeatureExtractor(wide.features, RATE_HZ).bins, UNITS.size)
    second = export_model(model, wide, UNITS, exports).path
    first = babble_recipe("mixed")
    served = load_exported(export_ensemble(babble_model(first), [second], first, UNITS, exports).path)
    assert [member.extractor.bins for member in served.members] == [3 * 40, 3 * 24]
    assert len(posteriors(served)) > 0


@pytest.fixture
def arpa(tmp_path):
    (tmp_path / "text").write_text("alpha beta delta gamma\n" * 9)
    train([tmp_path / "text"], tmp_path / "lm.arpa", order=2)
    return tmp_path / "lm.arpa"


def fused(recipe, arpa):
    lm = LanguageModelRecipe(path=str(arpa), unknown=-9.0)
    return recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"lm": lm})})


def test_the_language_model_is_the_ensemble_s_alone(exports, others, arpa):
    recipe = fused(babble_recipe("fused"), arpa)
    folder = export_ensemble(babble_model(recipe), others, recipe, UNITS, exports).path
    assert load_exported(folder).scorer.fusion is not None
    assert len(list(folder.rglob("lm.arpa"))) == 1


def test_no_language_model_of_a_member_is_loaded(exports, arpa):
    """It cannot be read here, but has the right checksum: whatever loads it fails."""
    recipe = fused(babble_recipe("scored"), arpa)
    scored = export_model(babble_model(recipe), recipe, UNITS, exports).path
    assert load_exported(scored).scorer.fusion is not None
    copy = next(scored.rglob("lm.arpa"))
    copy.write_text("no model")
    manifest = read_manifest(scored)
    (scored / MANIFEST).write_text(replace(manifest, files=checksums(scored)).to_json())
    with pytest.raises(BadLanguageModel):
        load_exported(scored)
    first = babble_recipe("of-two")
    served = load_exported(export_ensemble(babble_model(first), [scored], first, UNITS, exports).path)
    assert len(served.members) == 2


def test_members_that_cannot_be_averaged_are_refused_by_name(exports, others, ensemble):
    recipe = babble_recipe("refused")
    units = Units("words", ("alpha", "beta", "delta", "omega"))
    renamed = export_model(babble_model(recipe), babble_recipe("renamed"), units, exports).path
    slower = recipe.model_dump(mode="json") | {"name": "slower"}
    slower["features"] = {"stride": 2}
    slower = Recipe.model_validate(slower)
    slow = export_model(babble_model(slower), slower, UNITS, exports).path
    bfa = Recipe.model_validate(recipe.model_dump(mode="json") | {"name": "bfa", "model": SECTION})
    bins = load_exported(slow).extractor.bins
    label_synchronous = export_model(build_model(bfa.model, bins, UNITS.size), bfa, UNITS, exports).path
    for other, why in (
        (renamed, "renamed/1: units .*omega.* expected .*gamma"),
        (slow, "slower/1: a frame each 0.0"),
        (label_synchronous, "search labels; expected ctc"),
        (ensemble, "an ensemble of 3; expected an export of one model"),
        (exports / "nothing/1", "expected an exported model"),
    ):
        with pytest.raises(BadExport, match=why):
            export_ensemble(babble_model(recipe), [others[0], other], recipe, UNITS, exports)
    assert not (exports / "refused/1").exists()


def attending(name, section, seed):
    """Return a recipe and a model of it that attends to frames."""
    given = {"name": name, "model": section, "training": {"ctc_weight": 0.3 if section.get("ctc") else 0.0}}
    recipe = Recipe.model_validate(babble_recipe().model_dump(mode="json") | given)
    return recipe, build_model(recipe.model, FeatureExtractor(recipe.features, RATE_HZ).bins, UNITS.size, seed)


def first_label(model, frames):
    """Return the probabilities of the first label."""
    before = np.full((1, 1), UNITS.size, np.int32)
    log_probs, _, _ = model.decoder.next(before, np.zeros((1, 1), np.int32), model.decoder.begin([frames]))
    return np.exp(log_probs)


def test_models_with_attention_are_averaged_label_by_label(exports):
    recipe, first = attending("bfa-first", SECTION | {"ctc": True}, seed=1)
    other, model = attending("bfa-other", SECTION | {"ctc": True, "cells": 6}, seed=2)
    second = export_model(model, other, UNITS, exports).path
    served = load_exported(export_ensemble(first, [second], recipe, UNITS, exports).path)
    frames = posteriors(served)
    loaded = [load_member(path) for path in (exports / "bfa-first/1/members/0", second)]
    members = [posteriors(member) for member in loaded]
    np.testing.assert_array_equal(frames, np.concatenate(members, axis=1))
    of_members = [first_label(member, own) for member, own in zip(loaded, members, strict=True)]
    np.testing.assert_allclose(first_label(served, frames), np.mean(of_members, axis=0), atol=1e-6)
    assert np.abs(of_members[0] - of_members[1]).max() > 0.01
    np.testing.assert_array_equal(posteriors(served, parts=17), frames)
    assert no_posteriors(served).shape == (0, frames.shape[1])
    assert served.decoder.joint_ctc
    session = Session(served, SessionOptions())
    session.push((AUDIO * 32767).astype("<i2").tobytes())
    assert session.finish()[-1].is_final


def test_a_member_without_joint_ctc_is_refused_where_the_first_has_it(exports):
    recipe, first = attending("bfa-joint", SECTION | {"ctc": True}, seed=1)
    other, model = attending("bfa-alone", SECTION, seed=2)
    second = export_model(model, other, UNITS, exports).path
    with pytest.raises(BadExport, match=r"bfa-alone/1: model\.ctc False; expected True"):
        export_ensemble(first, [second], recipe, UNITS, exports)


def test_a_member_that_is_there_twice_is_refused(exports, others):
    recipe = babble_recipe("twice")
    own = export_babble(exports, "twice", 5).path
    tuned = babble_recipe().decoding.model_copy(update={"beam": 3})
    otherwise = export_with_decoding(own, recipe.model_copy(update={"decoding": tuned})).path
    for again in ([own], [otherwise], [others[0], others[0]]):
        with pytest.raises(BadExport, match=f"{again[-1]}: the same model as an ensemble's member before it"):
            export_ensemble(babble_model(recipe, 5), again, recipe, UNITS, exports)


def heads_of(name, seed, **changed):
    section = {"family": "mocha", "layers": 2, "cells": 8, "decoder_cells": 10, "embedding": 5, "attention": 7}
    recipe, model = attending(name, section | {"energy_offset": 2.0} | changed, seed=seed)  # heads stop often
    talkative = recipe.decoding.model_copy(update={"length_bonus": 6.0, "end_threshold": None})
    return recipe.model_copy(update={"decoding": talkative}), model


def results(served, cuts):
    session = Session(served, SessionOptions(max_alternatives=3))
    sound = (AUDIO * 32767).astype("<i2").tobytes()
    edges = [0, *cuts, len(sound)]
    return [one for a, b in pairwise(edges) for one in session.push(sound[a:b])], session.finish()[-1]


def test_models_with_heads_of_their_own_stream_as_one_however_audio_is_cut(exports):
    recipe, first = heads_of("heads", 1, ctc=True)
    other, model = heads_of("other-heads", 2, cells=6, ctc=True)
    late = other.training.model_copy(update={"head_weight": 0.5, "head_delay_frames": 2})
    other = other.model_copy(update={"training": late})
    second = export_model(model, other, UNITS, exports).path
    served = load_exported(export_ensemble(first, [second], recipe, UNITS, exports).path)
    loaded = [load_member(path) for path in (exports / "heads/1/members/0", second)]
    assert served.frame_lag_s == loaded[1].frame_lag_s < loaded[0].frame_lag_s
    np.testing.assert_array_equal(posteriors(served), np.concatenate([posteriors(one) for one in loaded], axis=1))
    _, whole = results(served, [])
    interim, cut = results(served, range(1600, 2 * len(AUDIO), 1600))
    assert whole == cut
    assert whole.alternatives[0].words
    assert sum(result is not None for result in interim) > 1
    alone = [results(load_exported(folder), [])[1] for folder in (exports / "heads/1/members/0", second)]
    assert whole.alternatives[0] not in [result.alternatives[0] for result in alone]


def test_members_of_another_search_are_refused_by_name(exports):
    recipe, first = attending("no-heads", SECTION, seed=1)
    other, model = heads_of("heads-alone", 2)
    second = export_model(model, other, UNITS, exports).path
    with pytest.raises(BadExport, match="heads-alone/1: search monotonic; expected labels"):
        export_ensemble(first, [second], recipe, UNITS, exports)


def test_a_damaged_member_is_refused_by_name(ensemble):
    path = ensemble / "members/1/units.json"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"alpha", b"alphA"))
    try:
        with pytest.raises(BadExport, match=r"members/1/units\.json: SHA-256"):
            load_exported(ensemble)
    finally:
        path.write_bytes(before)


def test_a_member_has_weights_to_begin_with_and_the_ensemble_has_not(ensemble):
    assert exported_weights(ensemble / "members/0")
    with pytest.raises(BadExport, match=r"no weights of one model; name a member, .*members/0"):
        exported_weights(ensemble)
