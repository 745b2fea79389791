import pytest
from hypothesis import given
from hypothesis import strategies as st
from rigs.made_up_results import SETS, system, write_list, write_report

from sonorant.results.kept import keep, read_kept
from sonorant.results.page import render_page
from sonorant.results.systems import read_systems

WERS = {"tones-small-1": 0.1, "tones-small-2": 0.2, "tones-small-3": 0.6, "tones-large-1": 0.05}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    systems = [system(folder, "small", seeds=[1, 2, 3]), system(folder, "large", about="twice as large")]
    return read_systems(write_list(folder, systems, a={}))


@pytest.fixture(scope="module")
def reports(corpora, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for row in corpora[0].rows:
        keep(row, write_report(folder / "run", wer=WERS[row.name]), folder)
    return {row.name: read_kept(row, folder) for row in corpora[0].rows}


def line_of(page, start, table=0):
    return [line for line in page.splitlines() if line.startswith(f"| `{start}`")][table]


@given(order=st.permutations(sorted(WERS)), count=st.integers(0, len(WERS)))
def test_the_order_in_which_reports_came_does_not_matter(corpora, reports, order, count):
    came = {name: reports[name] for name in order[:count]}
    page = render_page(corpora, came)
    assert page == render_page(corpora, dict(sorted(came.items())))
    missing = [row.name for row in corpora[0].rows if row.name not in came]
    assert (f"Not run yet: {', '.join(f'`{name}`' for name in missing)}." in page) == bool(missing)


def test_one_seed_has_an_interval_and_several_have_mean_least_and_greatest(corpora, reports):
    page = render_page(corpora, reports)
    assert line_of(page, "large") == (
        "| `large`, twice as large | 1 " + 2 * "| 5.0 % (2.5 to 10.0) | 1.2 % (0.6 to 5.0) " + "|"
    )
    assert line_of(page, "small") == "| `small` | 3 " + 2 * "| 30.0 % (10.0 to 60.0) | 7.5 % (2.5 to 15.0) " + "|"
    assert "Not run yet" not in page


def test_a_character_rate_of_before_it_had_an_interval_stands_alone(corpora, reports):
    errors = reports["tones-large-1"]["errors"]["noisy"]
    before = {key: value for key, value in errors.items() if key != "cer_interval_95"}
    came = {"tones-large-1": reports["tones-large-1"] | {"errors": dict.fromkeys(SETS, before)}}
    assert line_of(render_page(corpora, came), "large").endswith("| 5.0 % (2.5 to 10.0) | 1.2 % |")


def test_what_training_took_is_told_in_minutes(corpora, reports):
    line = line_of(render_page(corpora, reports), "small", table=1)
    assert line.endswith("| yes | yes | no | no | 1,000 | 1.5 | 1,234 | 0.0123 | 0.88 | epochs |")


def test_a_report_of_an_earlier_recipe_is_marked(corpora, reports):
    came = {"tones-large-1": reports["tones-large-1"] | {"digest": "another"}}
    page = render_page(corpora, came)
    assert line_of(page, "large").startswith("| `large`†, twice as large |")
    assert "† of an earlier recipe; to be run again." in page
    assert "†" not in render_page(corpora, reports)


def test_a_set_that_a_system_was_not_measured_on_stays_empty(corpora, reports):
    other = reports["tones-large-1"]
    came = reports | {"tones-large-1": other | {"wer": {"noisy": 0.5}}}
    assert line_of(render_page(corpora, came), "large") == (
        "| `large`, twice as large | 1 |  |  | 50.0 % (2.5 to 10.0) | 1.2 % (0.6 to 5.0) |"
    )


def test_a_set_without_a_word_has_a_dash(corpora, reports):
    errors = {"noisy": {"interval_95": None, "cer": None, "cer_interval_95": None}}
    came = reports | {"tones-large-1": reports["tones-large-1"] | {"wer": {"noisy": None}, "errors": errors}}
    assert line_of(render_page(corpora, came), "large") == "| `large`, twice as large | 1 |  |  | – | – |"
