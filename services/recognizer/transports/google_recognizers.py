"""Recognizers of Google Speech-to-Text v2: the models in service, by name."""

from services.recognizer.engine import Engine
from services.recognizer.transports.google_config import PARENT, check_supported, model_name
from sonorant.serving.errors import BadRequest
from sonorant.serving.model import ServedModel
from sonorant.serving.model_choice import ModelChoice, parse_choice
from sonorant.v1 import google_speech_pb2 as pb

__all__ = ["get_recognizer", "list_recognizers"]


def get_recognizer(engine: Engine, request: pb.GetRecognizerRequest) -> pb.Recognizer:
    """Return a model in service; raises BadRequest for another kind of name, UnknownModel."""
    check_supported(request)
    name = model_name(request.name)
    model = engine.model(parse_choice(name))
    return _recognizer(engine, request.name.rpartition("/recognizers/")[0], name or model.name, model)


def list_recognizers(engine: Engine, request: pb.ListRecognizersRequest) -> pb.ListRecognizersResponse:
    """Return a page of the models in service, by name; raises BadRequest for a parent that is none.

    A page's token is the last name on the page before; models may come and go in between.
    """
    check_supported(request)
    if not PARENT.fullmatch(request.parent):
        raise BadRequest(f"parent={request.parent!r}: expected projects/PROJECT/locations/LOCATION")
    if request.page_size < 0:
        raise BadRequest(f"page_size={request.page_size}: expected 1 or more, or 0 for all")
    names = [name for name in engine.models if name > request.page_token]
    page = names[: request.page_size or None]
    return pb.ListRecognizersResponse(
        recognizers=[_recognizer(engine, request.parent, name, engine.model(ModelChoice(name))) for name in page],
        next_page_token=page[-1] if len(page) < len(names) else "",
    )


def _recognizer(engine: Engine, parent: str, name: str, model: ServedModel) -> pb.Recognizer:
    states = engine.versions(model.name)
    labels = next((state.labels for state in states if state.version == model.version), ())
    language = model.recipe.text.language
    languages = [language] if language else []
    audio = pb.ExplicitDecodingConfig(
        encoding=pb.ExplicitDecodingConfig.LINEAR16, sample_rate_hertz=model.sample_rate_hz, audio_channel_count=1
    )
    return pb.Recognizer(
        name=f"{parent}/recognizers/{name}",
        display_name=name,
        model=name,
        language_codes=languages,
        default_recognition_config=pb.RecognitionConfig(
            explicit_decoding_config=audio, model=name, language_codes=languages
        ),
        annotations={"version": str(model.version), "labels": " ".join(labels)},
        state=pb.Recognizer.ACTIVE,
    )
