from types import SimpleNamespace

import pytest

from sonorant.serving.errors import BadRequest
from sonorant.serving.language import check_language


def model(language):
    return SimpleNamespace(name="babble", recipe=SimpleNamespace(text=SimpleNamespace(language=language)))


@pytest.mark.parametrize(
    ("code", "language"), [("", "en"), ("en", "en"), ("EN-gb", "en"), ("fr-CA", "fr"), ("de", None)]
)
def test_a_code_of_the_model_s_language_passes_whatever_its_region(code, language):
    check_language(code, model(language))


@pytest.mark.parametrize("code", ["fr-FR", "eng", "e"])
def test_another_language_is_named(code):
    with pytest.raises(BadRequest, match=f"language={code}: model 'babble' is of en"):
        check_language(code, model("en"))
