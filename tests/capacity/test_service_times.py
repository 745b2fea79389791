import itertools

import numpy as np
import pytest

from benchmarks.rigs.corpus import write_corpus
from sonorant.augment.chain import StageResources, build_chain
from sonorant.capacity.service_times import (
    BadMeasurement,
    ServiceTimes,
    StageTimes,
    StepTime,
    Utterances,
    drawing,
    measure_stages,
)
from sonorant.corpus.shards import ShardSet
from sonorant.errors import RejectedExample
from sonorant.recipe.schema import Recipe


def _times(**stages):
    return ServiceTimes(
        recipe="tiny",
        utterances=Utterances(source="here", seconds=2.0, stored_bytes=1000, vectors=50),
        stages=tuple(StageTimes(stage=n, seconds=s, bytes_out=2000) for n, s in stages.items()),
        memory_mb=100,
        step=StepTime(seconds=0.5, examples=32, source="given"),
    )


@pytest.fixture(scope="module")
def recipe():
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "tiny",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": 8000},
            "stages": [{"stage": "gain"}],
        }
    )


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    write_corpus(folder, 20, 0.5, 8000)
    return ShardSet.open(folder, "train")


def _ticking():
    """A clock that advances by one at each look, so that each stage takes one."""
    counter = itertools.count()
    return lambda: float(next(counter))


def test_each_stage_is_timed_on_as_many_utterances_as_the_budget_allows(recipe, shards):
    chain = build_chain(recipe, StageResources(shards, shards.paths[0].parent))
    stages, utterances = measure_stages(shards, chain, 1, recipe.pipeline.payload, _ticking(), budget_s=60)
    assert [stage.stage for stage in stages] == ["shard_reader", "gain", "featurizer"]
    assert {len(stage.seconds) for stage in stages} == {8}  # 7 looks an utterance, three of them to be warm: 10 in 60
    assert {s for stage in stages for s in stage.seconds} == {1.0}
    assert utterances.seconds == pytest.approx(0.5)
    samples = 0.5 * 8000 * 4
    assert samples < stages[1].bytes_out < samples + 500
    assert 0.2 * samples / 2 < utterances.stored_bytes < samples / 2


def test_utterances_that_a_stage_rejects_are_passed_over(recipe, shards):
    def reject_some(example, rng):
        if int(example.utterance[1:]) % 2:
            raise RejectedExample("odd")
        return example

    stages, _ = measure_stages(shards, {"picky": reject_some}, 1, recipe.pipeline.payload, _ticking(), budget_s=1e9)
    assert 5 <= len(stages[0].seconds) <= 15
    with pytest.raises(BadMeasurement, match="every utterance was rejected"):
        measure_stages(shards, {"never": _reject}, 1, recipe.pipeline.payload, _ticking(), budget_s=1e9)


def _reject(example, rng):
    raise RejectedExample("no")


def test_a_file_gives_back_what_was_measured(tmp_path):
    times = _times(shard_reader=(0.001, 0.002), room=(0.1, 0.2))
    times.save(tmp_path / "measured.json")
    assert ServiceTimes.load(tmp_path / "measured.json") == times


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"stage":"room"', '"stadium":"room"', "stages.1.stage: Field required"),
        ("[0.1,0.2]", "[0.1]", "need as many for each stage"),
        ("{", "", "the file: Invalid JSON"),
    ],
)
def test_a_file_that_is_not_one_of_measurements_is_refused_by_field(tmp_path, old, new, says):
    path = tmp_path / "measured.json"
    _times(shard_reader=(0.001, 0.002), room=(0.1, 0.2)).save(path)
    text = "".join(path.read_text().split())
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadMeasurement, match=says) as caught:
        ServiceTimes.load(path)
    assert str(path) in str(caught.value)


def test_a_running_trainings_means_take_the_place_of_those_measured_here():
    scaled = _times(shard_reader=(1.0, 3.0), room=(2.0, 4.0)).scaled({"room": 6.0, "unknown": 1.0})
    assert scaled.stages[0].seconds == (1.0, 3.0)
    assert scaled.stages[1].seconds == (4.0, 8.0)
    assert [stage.whole for stage in scaled.stages] == [False, True]


def test_drawn_rows_stay_together():
    rows = drawing(np.array([[1.0, 10.0], [2.0, 20.0]]))(np.random.default_rng(0), 100)
    assert {tuple(row) for row in rows.tolist()} == {(1.0, 10.0), (2.0, 20.0)}
