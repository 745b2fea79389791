import json

import pytest

from sonorant.errors import BadRun
from sonorant.report.outcomes import outcomes_rate, read_evaluation
from sonorant.run_folder import RunFolder

OUTCOME = {"utterance": "u", "reference": "one two", "hypothesis": "one", "first_interim_ms": None, "final_ms": 3.5}
WHOLE = {"model": "tiny/1", "subjects": {}, "streams": {"heldout": 4}, "sets": {"heldout": [OUTCOME]}}


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path)


def test_what_was_written_is_read(run):
    run.evaluation.write_text(json.dumps(WHOLE))
    assert read_evaluation(run) == WHOLE


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"sets": {"heldout": [{**OUTCOME, "hypothesis": None}]}}, "sets.heldout.0.hypothesis: .*string, found None"),
        ({"sets": {"heldout": [OUTCOME, {}]}}, "sets.heldout.1.utterance: Field required, found {}"),
        ({"sets": {"heldout": [{**OUTCOME, "utterance": 3}]}}, "sets.heldout.0.utterance: .*string, found 3"),
        ({"sets": {"heldout": "all"}}, "sets.heldout: .*list, found 'all'"),
        ({"sets": {"heldout": [{**OUTCOME, "final_ms": "soon"}]}}, "final_ms: .*number, found 'soon'"),
        ({"definitions": []}, "definitions: .*dictionary, found \\[\\]"),
        ({"model": 1}, "model: .*string, found 1"),
        ({"streams": {}}, "streams.heldout: missing, expected a number"),
    ],
)
def test_damage_is_named_with_its_place(run, change, fault):
    run.evaluation.write_text(json.dumps(WHOLE | change))
    with pytest.raises(BadRun, match=rf"evaluation\.json: damaged: .*{fault}; remove it, and run `sonorant evaluate"):
        read_evaluation(run)


def test_one_of_before_is_asked_for_again(run):
    run.evaluation.write_text(json.dumps({key: value for key, value in WHOLE.items() if key != "subjects"}))
    with pytest.raises(BadRun, match="of an earlier version; remove it"):
        read_evaluation(run)


def test_error_rates_are_of_words_or_characters():
    assert outcomes_rate([OUTCOME]).rate == 0.5
    assert outcomes_rate([OUTCOME], "character").rate == 4 / 7
