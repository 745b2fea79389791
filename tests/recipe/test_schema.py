import json
from collections.abc import Iterator
from typing import get_args

from sonorant.recipe import Recipe
from sonorant.section import Section


def test_every_field_is_described() -> None:
    undescribed = [
        f"{section.__name__}.{name}"
        for section in _sections(Recipe)
        for name, field in section.model_fields.items()
        if not field.description
    ]
    assert undescribed == []


def test_schema_is_json_and_refuses_unknown_keys_everywhere() -> None:
    schema = json.loads(json.dumps(Recipe.model_json_schema()))
    for name, section in {"Recipe": schema, **schema["$defs"]}.items():
        assert section["additionalProperties"] is False, name


def _sections(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _sections(field.annotation)
    for inner in get_args(annotation):
        yield from _sections(inner)
