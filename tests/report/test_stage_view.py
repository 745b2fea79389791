import numpy as np
import pytest
from rigs.small_corpus import digits_recipe, record

from sonorant.corpus.shards import shard_name, write_shard
from sonorant.delivery.example import Lineage, WordSpan
from sonorant.errors import RejectedExample
from sonorant.recipe.schema import Recipe
from sonorant.report.plots import stages_plot
from sonorant.report.stage_view import changed_views, pass_through, view_stages
from sonorant.run_folder import RunFolder


def test_the_report_shows_an_utterance_that_every_stage_changes_and_its_words_at_each(tmp_path):
    run = RunFolder(tmp_path)
    write_shard(run.shards / shard_name("train", 0, 1), [record(number) for number in range(4)])
    stages = [{"stage": "gain", "probability": 0.3}, {"stage": "speed", "probability": 0.3}]
    recipe = Recipe.model_validate(digits_recipe().model_dump() | {"stages": stages})
    views = view_stages(recipe, run, tmp_path)
    assert [view.stage for view in views] == ["recording", "gain", "speed"]
    recording, louder, faster = views
    assert recording.words == louder.words
    ratio = len(faster.waveform) / len(recording.waveform)
    assert ratio != 1
    assert faster.words[1].end_s == pytest.approx(ratio * recording.words[1].end_s)
    assert "<svg" in stages_plot(views)


def test_what_changed_is_seen_at_the_first_microphone():
    example = record(0).example(Lineage(0, 0, 0))
    chain = {
        "pair": lambda e, rng: e._replace(waveform=np.stack([0.5 * e.waveform, e.waveform])),
        "rest": lambda e, rng: e,
        "featurizer": lambda e, rng: e._replace(waveform=None, features=np.ones((2, 2), np.float32)),
    }
    passed = dict(pass_through(chain, example, 0))
    assert list(passed) == ["recording", "pair", "rest", "featurizer"]
    views = changed_views(passed)
    assert [view.stage for view in views] == ["recording", "pair"]
    np.testing.assert_array_equal(views[1].waveform, 0.5 * example.waveform)


def test_who_rejects_what_is_said():
    def refuse(example, rng):
        raise RejectedExample("it is Sunday")

    with pytest.raises(RejectedExample, match="church rejects utterance u0: it is Sunday"):
        list(pass_through({"church": refuse}, record(0).example(Lineage(0, 0, 0)), 0))


def test_silence_and_single_samples_can_be_plotted():
    views = changed_views({"recording": record(0).example(Lineage(0, 0, 0))._replace(words=(WordSpan("a", 0, 0.1),))})
    silent = views[0]._replace(waveform=np.zeros(4000, np.float32))
    assert "<svg" in stages_plot([*views, silent])
