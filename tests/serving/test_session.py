import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, UNITS, babble_recipe, murmur
from rigs.mean_free import MeanFree

from services.recognizer_client.client import pcm16
from sonorant.audio.comfort_noise import after_speech, before_speech
from sonorant.decoding import CtcBeamSearch
from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.serving.errors import AudioTooLong, BadRequest
from sonorant.serving.results import Result, clamped, later
from sonorant.serving.session import Session, SessionOptions, SpeechEvent
from sonorant.serving.steps import alone
from sonorant.serving.word_places import WordPlaces

AUDIO = pcm16(murmur(2.0, seed=4))
CHUNK = RATE_HZ // 10 * 2  # bytes of 100 ms


def recognized(session, audio, cuts):
    for start, end in zip([0, *cuts], [*cuts, len(audio)], strict=True):
        session.push(audio[start:end])
    (final,) = session.finish()
    return final


def chunks(audio):
    return [audio[at : at + CHUNK] for at in range(0, len(audio), CHUNK)]


@given(cuts=st.sets(st.integers(0, len(AUDIO) // 2), max_size=12))
@settings(max_examples=20)
def test_chunks_of_any_size_give_the_result_of_the_whole(model, cuts):
    options = SessionOptions(max_alternatives=5)
    whole = recognized(Session(model, options), AUDIO, [])
    assert recognized(Session(model, options), AUDIO, sorted(2 * cut for cut in cuts)) == whole
    assert len(whole.alternatives[0].words) > 3


def test_single_samples_give_the_result_of_the_whole(model):
    audio = AUDIO[:8000]
    whole = recognized(Session(model, SessionOptions()), audio, [])
    assert recognized(Session(model, SessionOptions()), audio, range(2, len(audio), 2)) == whole


def offline(model, audio, lead, tail, most):
    """Return the N-best of a whole recording with `lead` and `tail` samples around its speech, from features on."""
    samples = (np.frombuffer(audio, "<i2") / 32768).astype(np.float32)
    quiet = before_speech(lead, RATE_HZ), after_speech(tail, RATE_HZ)
    line = np.concatenate([quiet[0], samples, quiet[1]])
    log_probs, _ = model.step(model.extractor(line), model.initial_state())
    search = CtcBeamSearch(model.units, model.extractor.vector_seconds, model.recipe.decoding.beam)
    search.push(log_probs)
    starts = WordPlaces(RATE_HZ, 0.0)
    starts.push(line)
    corrected = (later(one, -len(quiet[0]) / RATE_HZ) for one in starts.corrected(search.hypotheses(most)))
    return [clamped(one, 0.0, len(samples) / RATE_HZ) for one in corrected]


def test_the_stream_gives_what_features_model_and_search_give_offline(model):
    answered = answers(Session(model, SessionOptions(speech_events=True, interim_results=False)), AUDIO)
    begin_s, end_s = (event.time_s for event in answered if isinstance(event, SpeechEvent))
    session = Session(model, SessionOptions(max_alternatives=3))
    found = list(recognized(session, AUDIO, [1600, 1610]).alternatives)
    assert found == offline(model, AUDIO, round(begin_s * RATE_HZ), round((2.0 - end_s) * RATE_HZ), 3)


def test_an_utterance_that_is_finalized_has_the_quiet_of_one_that_ends(model):
    session = Session(model, SessionOptions(speech_events=True, interim_results=False))
    *_, end, final = [*session.push(AUDIO), *alone(session.finalize_steps())]
    assert [*final.alternatives] == offline(model, AUDIO, 0, round((2.0 - end.time_s) * RATE_HZ), 1)
    later_on = Session(model, SessionOptions(interim_results=False))
    later_on.push(AUDIO)
    (first,) = alone(later_on.finalize_steps())
    second = answers(later_on, AUDIO)[-1]
    assert second.start_s >= first.end_s == 2.0
    assert [*second.alternatives] == [later(one, 2.0) for one in first.alternatives]


def test_interim_results_come_when_the_text_changes_and_end_in_the_final_one(model):
    session = Session(model, SessionOptions())
    interim = [result for chunk in chunks(AUDIO) for result in session.push(chunk)]
    texts = [result.alternatives[0].text for result in interim]
    assert len(texts) > 3
    assert all(one != next_ for one, next_ in itertools.pairwise(texts))
    assert not any(result.is_final for result in interim)
    assert all(0 <= result.stability <= 1 for result in interim)
    ends = [result.end_s for result in interim]
    assert ends == sorted(ends)
    (final,) = session.finish()
    assert final.is_final
    assert final.end_s == pytest.approx(2.0)


@pytest.mark.parametrize("written", ["", "en"])
def test_without_words_results_have_the_same_text_and_words_only_where_they_are_written(model, written):
    found = {}
    for words in (True, False):
        session = Session(model, SessionOptions(max_alternatives=3, words=words, written=written))
        results = [result for chunk in chunks(AUDIO) for result in session.push(chunk)] + session.finish()
        found[words] = [one for result in results for one in result.alternatives]
    assert [(one.text, one.confidence) for one in found[True]] == [(one.text, one.confidence) for one in found[False]]
    assert any(one.words for one in found[True])
    assert any(one.words for one in found[False]) == bool(written)


def test_an_n_best_list_may_be_longer_than_the_recipe_s_beam(model):
    assert model.recipe.decoding.beam < 30
    session = Session(model, SessionOptions(max_alternatives=30))
    session.push(AUDIO)
    alternatives = session.finish()[-1].alternatives
    assert len({one.text for one in alternatives}) == len(alternatives) == 30
    assert sum(one.confidence for one in alternatives) <= 1 + 1e-6


def test_no_interim_results_unless_wanted(model):
    session = Session(model, SessionOptions(interim_results=False))
    assert [session.push(chunk) for chunk in chunks(AUDIO)] == [[]] * 20


def test_an_interim_result_stands_for_the_stability_time(model):
    def first_s(stability_ms):
        decoding = model.recipe.decoding.model_copy(update={"stability_ms": stability_ms})
        patient = _with_recipe(model, model.recipe.model_copy(update={"decoding": decoding}))
        session = Session(patient, SessionOptions())
        return next(session.audio_s for chunk in chunks(AUDIO) if session.push(chunk))

    assert first_s(150.0) >= first_s(0.0) + 0.1


def _with_recipe(model, recipe):
    class Same:
        def __getattr__(self, name):
            return recipe if name == "recipe" else getattr(model, name)

    return Same()


PAUSE = bytes(2 * RATE_HZ)
NOISE = pcm16(np.random.default_rng(3).standard_normal(20 * RATE_HZ).astype(np.float32) * 0.1)
TWO = AUDIO + PAUSE + pcm16(murmur(1.5, seed=9)) + PAUSE


def answers(session, audio, cuts=()):
    found = []
    for start, end in itertools.pairwise([0, *cuts, len(audio)]):
        found += session.push(audio[start:end])
    return [*found, *session.finish()]


def test_no_result_begins_before_the_one_before_has_ended(model):
    """Beyond 20 s a pause of 0.2 s ends an utterance, and the next one's audio begins with that pause."""
    parts = [one for seed in range(14) for one in (murmur(1.8, seed=seed), np.zeros(RATE_HZ // 4, np.float32))]
    audio = pcm16(np.concatenate(parts))
    cuts = range(1600, len(audio), 1600)
    results = [one for one in answers(Session(model, SessionOptions()), audio, cuts) if isinstance(one, Result)]
    finals = [result for result in results if result.is_final]
    assert len(finals) > 1
    ended_s = 0.0
    for result in results:
        assert ended_s <= result.start_s <= result.end_s
        ended_s = result.end_s if result.is_final else ended_s
    assert ended_s == len(audio) / 2 / RATE_HZ


def test_each_utterance_has_a_final_result_with_the_times_of_the_stream(model):
    first, second, rest = answers(Session(model, SessionOptions(interim_results=False)), TWO)
    assert len(first.alternatives[0].words) > 3
    assert len(second.alternatives[0].words) > 3
    assert first.end_s - 0.8 < second.start_s < 3.0 < second.alternatives[0].words[0].start_s + 0.3
    assert 4.5 < second.end_s == rest.start_s < 5.5
    assert (rest.alternatives[0].text, rest.is_final, rest.end_s) == ("", True, 5.5)


@given(cuts=st.sets(st.integers(0, len(TWO) // 2), max_size=12))
@settings(max_examples=10)
def test_several_final_results_and_events_are_those_of_the_whole(model, cuts):
    options = SessionOptions(max_alternatives=3, interim_results=False, speech_events=True)
    whole = answers(Session(model, options), TWO)
    assert answers(Session(model, options), TWO, sorted(2 * cut for cut in cuts)) == whole
    kinds = [answer.kind if isinstance(answer, SpeechEvent) else "final" for answer in whole]
    assert kinds == ["begin", "end", "final", "begin", "end", "final", "final"]


@pytest.mark.parametrize("options", [SessionOptions(), SessionOptions(utterances=False), SessionOptions(written="en")])
def test_words_are_in_order_across_utterances_that_share_a_pause(model, options, monkeypatch):
    """Where a model emits the last word late in the pause, which belongs to both."""
    corrected = WordPlaces.corrected
    monkeypatch.setattr(WordPlaces, "corrected", lambda self, found: [late(one) for one in corrected(self, found)])
    audio = b"".join(pcm16(murmur(1.5, seed=seed)) + bytes(2 * RATE_HZ) for seed in range(4))
    found = answers(Session(model, options), audio, range(CHUNK, len(audio), CHUNK))
    before = []
    for answer in found:
        times = [*before, *(time for word in answer.alternatives[0].words for time in (word.start_s, word.end_s))]
        assert times == sorted(times)
        if answer.is_final:
            before = times
    assert len(before) > 40


def late(hypothesis):
    *words, last = hypothesis.words or [None]
    words += [dataclasses.replace(last, end_s=last.end_s + 1.2)] if last else []
    return dataclasses.replace(hypothesis, words=tuple(words))


def test_one_result_of_all_utterances_is_their_results_joined(model):
    each = answers(Session(model, SessionOptions(interim_results=False)), TWO)
    session = Session(model, SessionOptions(utterances=False))
    *interim, final = answers(session, TWO, range(CHUNK, len(TWO), CHUNK))
    assert not any(result.is_final for result in interim)
    assert final.alternatives[0].text == " ".join(r.alternatives[0].text for r in each if r.alternatives[0].text)
    assert final.alternatives[0].words == tuple(word for r in each for word in r.alternatives[0].words)
    assert final.end_s == 5.5
    assert interim[-1].alternatives[0].text.startswith(each[0].alternatives[0].text + " ")


def test_silence_and_noise_reach_neither_model_nor_search(model):
    class Deaf:
        def __getattr__(self, name):
            if name == "members":
                raise AssertionError("the model is asked")
            return getattr(model, name)

    for nothing in (bytes(2 * 60 * RATE_HZ), NOISE):
        assert [r.alternatives[0].text for r in answers(Session(Deaf(), SessionOptions()), nothing)] == [""]


def test_without_endpointing_the_whole_stream_is_searched(model):
    decoding = model.recipe.decoding.model_copy(update={"endpointing": None})
    undivided = _with_recipe(model, model.recipe.model_copy(update={"decoding": decoding}))
    (final,) = answers(Session(undivided, SessionOptions(interim_results=False)), TWO)
    assert list(final.alternatives) == offline(model, TWO, 0, 0, 1)


def test_results_found_before_the_limit_are_returned_at_the_end(model):
    session = Session(model, SessionOptions(interim_results=False, max_seconds=4.0))
    with pytest.raises(AudioTooLong):
        session.push(TWO)
    first, second = session.finish()
    assert first == answers(Session(model, SessionOptions(interim_results=False)), TWO)[0]
    assert second.end_s == 4.0


def test_a_stream_that_ends_as_speech_may_begin_says_where_to_go_on(model):
    audio = bytes(2 * RATE_HZ) + AUDIO
    for seconds in np.arange(1.0, 1.3, 0.01):
        *_, final = answers(
            Session(model, SessionOptions(interim_results=False)), audio[: 2 * round(seconds * RATE_HZ)]
        )
        if final.end_s < seconds:
            break
    assert final.alternatives[0].text == ""
    assert 0.75 <= final.end_s < 1.0 <= seconds


def test_a_limit_within_which_no_speech_can_be_told_does_not_hold_a_client_up(model):
    session = Session(model, SessionOptions(interim_results=False, max_seconds=0.2))
    with pytest.raises(AudioTooLong):
        session.push(AUDIO)
    assert [result.end_s for result in session.finish()] == [0.2]


def test_silence_is_an_empty_text_and_no_error(model):
    session = Session(model, SessionOptions())
    assert session.push(bytes(2 * RATE_HZ)) == []
    (final,) = session.finish()
    assert (final.alternatives[0].text, final.alternatives[0].words, final.end_s) == ("", (), 1.0)


@pytest.mark.parametrize("audio", [b"", bytes(2), bytes(100)])
def test_audio_too_short_for_one_vector_is_an_empty_text(model, audio):
    session = Session(model, SessionOptions())
    assert session.push(audio) == []
    assert session.finish()[-1].alternatives[0].text == ""


def test_an_odd_byte_count_is_refused(model):
    with pytest.raises(BadRequest, match="3 bytes"):
        Session(model, SessionOptions()).push(b"abc")


def test_audio_beyond_the_limit_is_refused_and_up_to_it_is_not(model):
    session = Session(model, SessionOptions(max_seconds=1.0))
    session.push(bytes(2 * RATE_HZ))
    with pytest.raises(AudioTooLong, match="may have 1 s"):
        session.push(bytes(2))


def test_sessions_share_a_model_and_not_their_state(model):
    ours, theirs = Session(model, SessionOptions()), Session(model, SessionOptions())
    other = pcm16(murmur(2.0, seed=9))
    for mine, yours in zip(chunks(AUDIO), chunks(other), strict=True):
        ours.push(mine)
        theirs.push(yours)
    assert ours.finish()[-1] == recognized(Session(model, SessionOptions()), AUDIO, [])
    assert theirs.finish()[-1] == recognized(Session(model, SessionOptions()), other, [])


def test_a_model_of_whole_utterances_has_its_result_at_the_end(tmp_path):
    recipe = babble_recipe()
    bins = FeatureExtractor(recipe.features, RATE_HZ).bins
    model = load_exported(export_model(MeanFree(bins, UNITS.size), recipe, UNITS, tmp_path).path)
    session = Session(model, SessionOptions())
    assert [session.push(chunk) for chunk in chunks(AUDIO)] == [[]] * 20
    (final,) = session.finish()
    assert final == recognized(Session(model, SessionOptions()), AUDIO, [])
    assert len(final.alternatives[0].words) > 3
    assert Session(model, SessionOptions()).finish()[-1].alternatives[0].text == ""
