import pytest

from sonorant.serving.errors import BadRequest
from sonorant.serving.model_choice import ModelChoice, parse_choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("", ModelChoice()),
        ("digits", ModelChoice("digits")),
        ("digits@canary", ModelChoice("digits", label="canary")),
        ("digits@3", ModelChoice("digits", 3)),
        ("digits/3", ModelChoice("digits", 3)),
        ("@canary", ModelChoice("", label="canary")),
        ("digits/three", ModelChoice("digits/three")),
        ("digits/" + "9" * 20, ModelChoice("digits/" + "9" * 20)),
        ("a@b@0", ModelChoice("a@b", 0)),
    ],
)
def test_a_name_says_model_and_version(text, choice):
    assert parse_choice(text) == choice


@pytest.mark.parametrize("choice", [ModelChoice("a"), ModelChoice("a", 0), ModelChoice("a", label="x"), ModelChoice()])
def test_a_choice_is_written_as_it_is_read(choice):
    assert parse_choice(str(choice)) == choice


@pytest.mark.parametrize("text", ["digits@", "digits@" + "9" * 20, "digits@٣"])
def test_neither_label_nor_version_is_a_bad_request(text):
    with pytest.raises(BadRequest, match="expected MODEL, MODEL@LABEL or MODEL@VERSION"):
        parse_choice(text)
