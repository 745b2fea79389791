"""The chart's values and their schema."""

import json
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "sonorant"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = YAML(typ="safe", pure=True).load((CHART / "values.yaml").read_text())


def resolved(node):
    for branch in node.get("anyOf", [node]):
        if "$ref" in branch:
            return SCHEMA["$defs"][branch["$ref"].rsplit("/", 1)[1]]
    return node


def test_every_value_is_described_and_every_section_refuses_what_it_does_not_know():
    def walk(section, path):
        assert section["additionalProperties"] is False, path
        for key, node in section["properties"].items():
            assert node.get("description"), f"{path}{key} has no description"
            if "properties" in resolved(node) and key != "recipe":
                walk(resolved(node), f"{path}{key}.")

    walk(SCHEMA, "")


def test_values_and_schema_have_the_same_keys():
    def walk(values, section, path):
        assert set(values) == set(section["properties"]), path
        for key, value in values.items():
            inner = resolved(section["properties"][key])
            if isinstance(value, dict) and "properties" in inner:
                walk(value, inner, f"{path}{key}.")

    walk(VALUES, SCHEMA, "")


def test_the_recipe_in_it_is_the_recipes_own_schema():
    recipe = json.loads((ROOT / "docs" / "recipe.schema.json").read_text())
    inside = SCHEMA["$defs"]["Recipe"]
    assert inside == {key: value for key, value in recipe.items() if key != "$defs"}
    assert all(SCHEMA["$defs"][name] == definition for name, definition in recipe["$defs"].items())
