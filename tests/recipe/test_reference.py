"""The page of all keys: none is left out, and what it says of one is what the schema holds it to."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from sonorant.augment.table import STAGES
from sonorant.cli.recipe import command
from sonorant.corpus.readers import READERS
from sonorant.recipe import Recipe
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.recipe.reference import reference

PAGE = reference(Recipe.model_json_schema())


def rows(title):
    """Return key → cells of a section's table."""
    (table,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


@pytest.mark.parametrize(
    ("title", "section"),
    [("The whole", Recipe), ("`pipeline`", PipelineRecipe)]
    + [(f"stage `{name}`", stage.section) for name, stage in STAGES.items()],
)
def test_a_section_has_all_its_keys_with_their_meaning(title, section):
    found = rows(title)
    assert list(found) == list(section.model_fields)
    assert [cells[-1] for cells in found.values()] == [f.description for f in section.model_fields.values()]


def test_every_section_of_the_schema_has_a_table_and_every_link_a_heading():
    sections = [name for name in Recipe.model_json_schema()["$defs"] if name != "Interval"]
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert len(headings) == len(sections) + 1
    anchors = {re.sub(r"[^\w-]", "", heading.replace(" ", "-")) for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= anchors


def test_types_defaults_and_ranges_are_those_of_the_schema():
    assert rows("`corpus`")["reader"][:3] == [", ".join(f"`{name}`" for name in READERS), "", ""]
    assert rows("`corpus`")["sample_rate_hz"][:3] == ["integer", "`16000`", "≥ 4000, ≤ 96000"]
    assert rows("model `lstm_ctc`")["memory_vectors"][2] == "≥ 1, ≤ 1000000"
    assert rows("`corpus`")["channel"][:3] == ["integer or `mean`", "`0`", "≥ 0"]
    assert rows("`corpus`")["strings"][:2] == ["[`corpus.strings`](#corpusstrings) or null", "`null`"]
    assert rows("`pipeline`")["replicas"][:3] == ["map of string to integer", "`{}`", "each ≥ 1"]
    assert rows("`corpus.strings`")["pause_ms"][:2] == ["interval", "`{low: 50, high: 400}`"]
    assert rows("`model.convolution_2d`")["layers"][2] == "at least 1, at most 16"
    assert rows("stage `room`")["noise_sources"][:2] == ["list of integer, integer", "`[1, 3]`"]
    assert rows("model `lstm_ctc`")["dropout"][:3] == ["number", "`0.1`", "≥ 0, < 1"]


def test_a_union_told_apart_by_family_has_a_table_for_each_member():
    families = {
        name: {
            "description": name,
            "properties": {"family": {"const": name, "description": "Family.", "type": "string"}},
        }
        for name in ("a", "b")
    }
    union = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in families], "description": "The model."}
    page = reference({"description": "Whole.", "properties": {"model": union}, "$defs": families})
    assert "| `model` | [model `a`](#model-a) or [model `b`](#model-b) |" in page
    assert "## model `a`" in page
    assert "## model `b`" in page


def test_the_command_prints_the_page():
    assert CliRunner().invoke(command, ["reference"], catch_exceptions=False).output == PAGE


def test_the_page_in_docs_is_the_printed_one():
    assert (Path(__file__).parents[2] / "docs/recipe.md").read_text() == PAGE
