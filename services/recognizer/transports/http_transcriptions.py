"""OpenAI's transcriptions and models over the engine: what its clients send, and the answers that they read."""

import json
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import log
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from services.recognizer.engine import Engine
from services.recognizer.stream import Stream
from services.recognizer.transports.http_errors import HttpError, error_answer
from services.recognizer.transports.http_leaving import while_connected
from services.recognizer.transports.http_upload import Fields, read_upload
from services.recognizer.transports.model_status import parse_status_path, rest_status
from sonorant.captions import cues, srt, vtt
from sonorant.decoding import Word
from sonorant.errors import SonorantError
from sonorant.serving.errors import BadRequest, UnknownModel
from sonorant.serving.language import check_language
from sonorant.serving.model_choice import parse_choice
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.results import Result

__all__ = ["list_models", "show_model", "transcribe"]

_FORMATS = ("json", "text", "srt", "vtt", "verbose_json")
_KNOWN = {"model", "language", "response_format", "stream", "temperature", "timestamp_granularities", "written"}
_LEAST_CONFIDENCE = 1e-10  # of which a logarithm is written


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a client asked for."""

    model: str
    language: str
    response_format: str
    granularities: frozenset[str]
    streamed: bool
    written: str

    def stream_request(self) -> StreamRequest:
        """Return the request of the recording's stream; raises BadRequest for the model's name."""
        words = self.response_format not in ("json", "text")
        return StreamRequest(parse_choice(self.model), AudioFormat("AUTO"), words=words, written=self.written)


async def transcribe(engine: Engine, most_bytes: int, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `POST /v1/audio/transcriptions`; its slot is held until the answer is sent. Raises SonorantError."""
    request = Request(scope, receive)
    with engine.admission.slot():
        content, fields = await read_upload(engine, request, most_bytes)
        wanted = _wanted(fields)
        with engine.stream(wanted.stream_request()) as stream:
            _check_language(wanted.language, stream)
            response: Response
            if wanted.streamed:
                response = await while_connected(receive, _begun(_events(engine, stream, content)))
            else:
                response = _answer(wanted, await while_connected(receive, stream.whole(content)), stream)
            await response(scope, receive, send)


def list_models(engine: Engine) -> Response:
    """Answer `GET /v1/models`."""
    return JSONResponse({"object": "list", "data": [_model(name) for name in engine.models]})


def show_model(engine: Engine, path: str) -> Response:
    """Answer `GET /v1/models/NAME`, of a version's name, too, as OpenAI and as TensorFlow Serving, and its paths below.

    Raises BadRequest or UnknownModel.
    """
    if (chosen := parse_status_path(path)) is not None:
        return JSONResponse(rest_status(engine, chosen))
    choice = parse_choice(path)
    status = rest_status(engine, choice)
    with suppress(UnknownModel):  # none of the versions is in service: the status says why
        engine.model(choice)
        status |= _model(path)
    return JSONResponse(status)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sonorant"}


def _wanted(fields: Fields) -> _Wanted:
    """Read the form, in which an empty field is as none; raises HttpError for what is not supported, by name."""
    fields = {name: filled for name, values in fields.items() if (filled := [value for value in values if value])}
    for name in sorted(fields.keys() - _KNOWN):
        raise HttpError(400, f"{name}: not supported; expected any of {', '.join(sorted(_KNOWN))}", name)
    response_format = _one(fields, "response_format") or "json"
    if response_format not in _FORMATS:
        raise HttpError(400, f"response_format={response_format}: expected {', '.join(_FORMATS)}", "response_format")
    if (temperature := _one(fields, "temperature")) and _number(temperature) != 0:
        raise HttpError(400, f"temperature={temperature}: the search does not sample; expected 0", "temperature")
    granularities = frozenset(fields.get("timestamp_granularities", ()))
    if granularities - {"word", "segment"} or (granularities and response_format != "verbose_json"):
        found = ", ".join(sorted(granularities))
        raise HttpError(
            400,
            f"timestamp_granularities={found} with response_format={response_format}: expected word or segment, with "
            "verbose_json",
            "timestamp_granularities",
        )
    streamed = (_one(fields, "stream") or "false").lower()
    if streamed not in ("true", "false", "1", "0"):
        raise HttpError(400, f"stream={streamed}: expected true or false", "stream")
    if streamed in ("true", "1") and response_format not in ("json", "text"):
        raise HttpError(400, f"stream=true with response_format={response_format}: expected json", "stream")
    return _Wanted(
        _one(fields, "model"),
        _one(fields, "language"),
        response_format,
        granularities,
        streamed in ("true", "1"),
        _one(fields, "written"),
    )


def _one(fields: Fields, name: str) -> str:
    values = fields.get(name, [""])
    if len(values) > 1:
        raise HttpError(400, f"{name}: {len(values)} values, expected one", name)
    return values[0]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_language(language: str, stream: Stream) -> None:
    try:
        check_language(language, stream.served)
    except BadRequest as error:
        raise HttpError(400, str(error), "language") from None


def _answer(wanted: _Wanted, finals: list[Result], stream: Stream) -> Response:
    text = _text(finals)
    words = [word for result in finals for word in result.alternatives[0].words]
    match wanted.response_format:
        case "text":
            return PlainTextResponse(text + "\n")
        case "srt":
            return PlainTextResponse(srt(cues(words, stream.audio_s)), media_type="application/x-subrip")
        case "vtt":
            return PlainTextResponse(vtt(cues(words, stream.audio_s)), media_type="text/vtt")
        case "verbose_json":
            return JSONResponse(_verbose(wanted, text, finals, stream))
    return JSONResponse({"text": text, "usage": _usage(stream.audio_s)})


def _verbose(wanted: _Wanted, text: str, finals: list[Result], stream: Stream) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "task": "transcribe",
        "language": stream.language or wanted.language,
        "duration": stream.audio_s,
        "text": text,
        "usage": _usage(stream.audio_s),
    }
    if "segment" in wanted.granularities or not wanted.granularities:
        answer["segments"] = [_segment(number, result) for number, result in enumerate(filter(_has_text, finals))]
    if "word" in wanted.granularities:
        answer["words"] = [_word(word) for result in finals for word in result.alternatives[0].words]
    return answer


def _has_text(result: Result) -> bool:
    return bool(result.alternatives[0].text)


def _segment(number: int, result: Result) -> dict[str, Any]:
    """Return the fields by which OpenAI's clients judge a segment; what the detector called no speech is in none."""
    best = result.alternatives[0]
    written = best.text.encode()
    return {
        "id": number,
        "start": best.words[0].start_s,
        "end": best.words[-1].end_s,
        "text": best.text,
        "avg_logprob": log(max(best.confidence, _LEAST_CONFIDENCE)),
        "compression_ratio": len(written) / len(zlib.compress(written)),
        "no_speech_prob": 0.0,
        "seek": 0,
        "temperature": 0.0,
        "tokens": list(best.units),
    }


def _word(word: Word) -> dict[str, Any]:
    return {"word": word.word, "start": word.start_s, "end": word.end_s}


def _usage(audio_s: float) -> dict[str, Any]:
    return {"type": "duration", "seconds": audio_s}


def _text(finals: Iterable[Result]) -> str:
    return " ".join(text for result in finals if (text := result.alternatives[0].text))


async def _begun(events: AsyncIterator[str]) -> Response:
    """Return a response that has its first event; what is raised before it can have a status of its own yet."""
    first = await anext(events)

    async def every() -> AsyncIterator[str]:
        yield first
        async for event in events:
            yield event

    return StreamingResponse(every(), media_type="text/event-stream")


async def _events(engine: Engine, stream: Stream, content: bytes) -> AsyncIterator[str]:
    """Yield server-sent events: a delta for each final result, then the whole text; an error that comes after one.

    Raises SonorantError before the first event.
    """
    finals: list[Result] = []
    try:
        async for result in stream.results(content):
            if text := result.alternatives[0].text:
                yield _event({"type": "transcript.text.delta", "delta": f" {text}" if finals else text})
                finals.append(result)
    except SonorantError as error:
        if not finals:
            raise
        _, _, content_of = error_answer(engine, error)
        yield _event({"type": "error", **content_of})
    else:
        yield _event({"type": "transcript.text.done", "text": _text(finals), "usage": _usage(stream.audio_s)})


def _event(content: dict[str, Any]) -> str:
    return f"event: {content['type']}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n"
