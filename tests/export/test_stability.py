import shutil
from dataclasses import replace

import numpy as np
import pytest
from rigs.babble import RATE_HZ, export_babble, murmur

from sonorant.corpus.record import Record, encode_audio
from sonorant.export.loading import load_exported
from sonorant.export.manifest import MANIFEST, BadExport, checksums, read_manifest
from sonorant.export.other_decoding import export_with_decoding
from sonorant.export.stability import add_stability, fitted, interim_posteriors
from sonorant.serving.results import Result
from sonorant.serving.session import Session, SessionOptions


def record(seconds, seed):
    return Record(
        f"{seed:03d}", "", "", RATE_HZ, seconds, "pcm16", encode_audio(murmur(seconds, seed), RATE_HZ, "pcm16")
    )


def likelihood(slope, offset, posteriors, targets):
    expected = 1 / (1 + np.exp(-slope * np.log(posteriors / (1 - posteriors)) - offset))
    return float(np.sum(targets * np.log(expected) + (1 - targets) * np.log(1 - expected)))


def targets_of(stood):
    yes, no = np.sum(stood), np.sum(~stood)
    return np.where(stood, (yes + 1) / (yes + 2), 1 / (no + 2))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return export_babble(tmp_path_factory.mktemp("plain")).path


@pytest.fixture(scope="module")
def recordings():
    return [record(1.5, seed) for seed in range(4)]


@pytest.fixture
def measured(plain, recordings, tmp_path):
    """An export with the stability of its interim results, and that."""
    folder = shutil.copytree(plain, tmp_path / "babble/1")
    add_stability(folder, load_exported(folder), recordings)
    return folder, load_exported(folder).stability


@pytest.mark.parametrize("seed", range(5))
def test_no_other_curve_is_likelier(seed):
    rng = np.random.default_rng(seed)
    posteriors = rng.uniform(0.05, 0.999, 300)
    stood = rng.random(300) < posteriors**0.4
    found, targets = fitted(posteriors.tolist(), stood.tolist()), targets_of(stood)
    best = likelihood(found.slope, found.offset, posteriors, targets)
    for slope, offset in rng.normal((found.slope, found.offset), 0.05, (200, 2)):
        assert likelihood(slope, offset, posteriors, targets) <= best + 1e-9


def test_it_is_as_often_right_as_it_says():
    rng = np.random.default_rng(1)
    posteriors = rng.uniform(0.01, 0.99, 4000)
    odds = np.exp(0.6 * np.log(posteriors / (1 - posteriors)) + 1.2)
    stood = rng.random(4000) < odds / (1 + odds)
    found = fitted(posteriors.tolist(), stood.tolist())
    assert (found.slope, found.offset) == (pytest.approx(0.6, abs=0.1), pytest.approx(1.2, abs=0.15))


def test_where_all_have_stood_it_is_almost_sure_of_any():
    found = fitted([0.3, 0.5, 0.9] * 100, [True] * 300)
    assert [found.of(posterior) for posterior in (0.3, 0.9)] == pytest.approx([301 / 302] * 2, abs=1e-6)


def test_of_few_it_is_less_sure():
    assert fitted([0.9], [True]).of(0.9) == pytest.approx(2 / 3, abs=1e-6)


def test_it_does_not_fall_where_the_surer_ones_fell():
    found = fitted([0.2, 0.3, 0.8, 0.9], [True, True, False, False])
    assert found.slope == 0
    assert found.of(0.1) == found.of(0.9) == pytest.approx(0.5)


def test_each_interim_text_counts_and_stands_if_the_final_one_begins_with_it(plain, recordings):
    model = load_exported(plain)
    found = [pair for one in recordings for pair in interim_posteriors(model, one)]
    expected = []
    for one in recordings:
        session = Session(model, SessionOptions(words=False))
        pcm = one.audio
        pieces = [pcm[first : first + RATE_HZ // 10 * 2] for first in range(0, len(pcm), RATE_HZ // 10 * 2)]
        answers = [answer for piece in pieces for answer in session.push(piece)] + session.finish()
        results = [answer for answer in answers if isinstance(answer, Result)]
        for number, result in enumerate(results):
            text = result.alternatives[0].text
            final = next(later for later in results[number:] if later.is_final)
            if text and not result.is_final:
                expected.append((result.alternatives[0].confidence, final.alternatives[0].text.startswith(text)))
    assert found == expected
    assert found


def test_interim_results_have_the_stability_that_was_measured(measured):
    folder, stability = measured
    session = Session(load_exported(folder), SessionOptions())
    waveform = murmur(1.5, 7)
    audio = (waveform * 32767).astype("<i2").tobytes()
    answers = [answer for first in range(0, len(audio), 2000) for answer in session.push(audio[first : first + 2000])]
    interim = [answer for answer in answers if isinstance(answer, Result) and not answer.is_final]
    assert interim
    for result in interim:
        assert result.stability == stability.of(result.alternatives[0].confidence)
    assert session.finish()[-1].stability == 1


def test_without_recordings_it_is_the_posterior(plain, tmp_path):
    folder = shutil.copytree(plain, tmp_path / "babble/1")
    add_stability(folder, load_exported(folder), [])
    assert not (folder / "stability.json").exists()
    assert load_exported(folder).stability.of(0.3) == 0.3


def test_another_decoding_is_measured_anew_where_there_are_recordings(measured, recordings):
    folder, stability = measured
    recipe = load_exported(folder).recipe
    phrases = recipe.decoding.model_copy(update={"phrases": ("delta",), "phrase_boost": 20.0})
    done = export_with_decoding(folder, recipe.model_copy(update={"decoding": phrases}), recordings)
    anew = load_exported(done.path)
    found = zip(*[pair for one in recordings for pair in interim_posteriors(anew, one)], strict=True)
    assert anew.stability == fitted(*found)
    kept = recipe.decoding.model_copy(update={"phrases": ("gamma",), "phrase_boost": 20.0})
    done = export_with_decoding(folder, recipe.model_copy(update={"decoding": kept}))
    assert load_exported(done.path).stability == stability


def test_a_damaged_curve_refuses_the_export(measured):
    folder, _ = measured
    (folder / "stability.json").write_text('{"slope": 1}')
    manifest = replace(read_manifest(folder), files=checksums(folder))
    (folder / MANIFEST).write_text(manifest.to_json())
    with pytest.raises(BadExport, match=r"stability\.json: found no curve"):
        load_exported(folder)
