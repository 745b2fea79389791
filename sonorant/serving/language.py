"""The language that a client speaks, against a model's."""

from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel

__all__ = ["check_language"]


def check_language(code: str, model: ServedModel) -> None:
    """Raise BadRequest if a BCP 47 code is of another language than `model`, where both are known."""
    spoken = model.recipe.text.language
    if code and spoken and code.partition("-")[0].lower() != spoken:
        raise BadRequest(f"language={code}: model {model.name!r} is of {spoken}; leave it out")
