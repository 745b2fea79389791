"""A stream over a WebSocket: binary audio in, JSON results out; text messages configure, finalize, close."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, MutableMapping, Sequence
from typing import Any

import structlog
from starlette.websockets import WebSocket, WebSocketDisconnect

from services.recognizer.engine import Engine
from services.recognizer.gathering import gathered
from services.recognizer.inbox import Inbox
from services.recognizer.stream import Stream
from services.recognizer.suspending import end_stream
from services.recognizer.transports.http_errors import retry_after_s
from sonorant.decoding import Hypothesis
from sonorant.errors import SonorantError
from sonorant.serving.errors import FAULT, INTERNAL, STREAM_ENDS, BadRequest, IdleStream, Status, status_of
from sonorant.serving.model_choice import parse_choice
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.results import Answer, Result
from sonorant.serving.resume_token import ResumeToken, parse_token

__all__ = ["refuse_stream", "serve_stream"]

_NUMBERS = ("sample_rate", "channels", "alternatives")
_SWITCHES = ("interim_results", "words", "multichannel", "without_language_model")
_CONFIG = ("model", "encoding", *_NUMBERS, *_SWITCHES, "phrases", "resume_token", "written")
_COMMANDS = ("KeepAlive", "Finalize", "CloseStream")
_MOST_TEXT = 1 << 16
_GREATEST_FLOAT = sys.float_info.max

_Message = bytes | dict[str, Any]

log = structlog.get_logger()


async def serve_stream(engine: Engine, socket: WebSocket) -> None:
    """Recognize one client's stream; an error is named, and closes the socket."""
    await socket.accept()
    try:
        with engine.admission.slot():
            async with engine.inbox(_messages(socket)) as inbox:
                await _serve(engine, socket, inbox)
    except SonorantError as error:
        await refuse_stream(engine, socket, error)
    except WebSocketDisconnect:
        raise
    except Exception as error:
        log.error("stream_failed", exc_info=error)
        told = {"type": "Error", "code": INTERNAL.code, "message": FAULT}
        await _end(engine, socket, INTERNAL, told)
    else:
        await _within_limit(engine, socket.close(1000))


async def refuse_stream(engine: Engine, socket: WebSocket, error: SonorantError) -> None:
    """Count and name an error, and close the socket; raises WebSocketDisconnect if its client reads nothing."""
    told: dict[str, Any] = {"type": "Error", "code": engine.refuse(error), "message": str(error)}
    if (seconds := retry_after_s(error)) is not None:
        told["retry_after_s"] = seconds
    await _end(engine, socket, status_of(error), told)


async def _end(engine: Engine, socket: WebSocket, status: Status, told: dict[str, Any]) -> None:
    """Name an error, and close the socket."""
    await _within_limit(engine, socket.send_json(told))
    await _within_limit(engine, socket.close(status.websocket, status.code))


async def _within_limit(engine: Engine, sending: Awaitable[None]) -> None:
    """Send; a client that does not read in time is as good as gone: raises WebSocketDisconnect."""
    try:
        await engine.in_time(sending)
    except IdleStream as error:
        engine.refuse(error)
        raise WebSocketDisconnect(status_of(error).websocket) from None


async def _serve(engine: Engine, socket: WebSocket, inbox: Inbox[_Message]) -> None:
    configured = await _configured(inbox)
    request = _request(_parameters(socket) | configured)
    with engine.stream(request) as stream:
        writer = _Writer(engine, socket, stream, with_words=request.words)
        await writer.ready()
        try:
            await _recognize(inbox, stream, writer)
        except STREAM_ENDS as error:
            if stream.audio_s:
                await writer.suspended(*await end_stream(stream, error))
            raise


def _parameters(socket: WebSocket) -> dict[str, Any]:
    """Return those of the query; raises BadRequest for one that is there twice."""
    parameters: dict[str, Any] = {}
    for key, value in socket.query_params.multi_items():
        if key in parameters:
            raise BadRequest(f"{key[:40]}: twice in the query; expected one")
        parameters[key] = value
    return parameters


async def _configured(inbox: Inbox[_Message]) -> dict[str, Any]:
    """Return the keys of the first message if that is Configure; another one is left to the stream."""
    first = await inbox.next()
    if isinstance(first, dict) and first.get("type") == "Configure":
        return {key: value for key, value in first.items() if key != "type"}
    if first is not None:
        inbox.put_back(first)
    return {}


async def _recognize(inbox: Inbox[_Message], stream: Stream, writer: "_Writer") -> None:
    """Recognize messages until CloseStream; raises SonorantError, and WebSocketDisconnect."""
    while (message := await inbox.next()) is not None:
        if isinstance(message, bytes):
            if message:
                await writer.write(await stream.push(*await gathered(inbox, stream, message, bytes)))
                stream.check()
                inbox.heard()
        elif message.get("type") == "KeepAlive":
            inbox.heard()
        elif message.get("type") == "Finalize":
            await writer.write(await stream.finalize(), finalized=True)
        elif message.get("type") == "CloseStream":
            break
        else:
            raise BadRequest(
                f"a message of type {str(message.get('type'))[:40]!r}: expected {', '.join(_COMMANDS)}; or Configure, "
                "as the first one"
            )
        del message  # an idle stream keeps none
    await writer.write(await stream.finish())
    await writer.closed()


async def _messages(socket: WebSocket) -> AsyncIterator[_Message]:
    """Yield audio and text messages; raises as `_content`."""
    while True:
        yield _content(await socket.receive())


def _content(message: MutableMapping[str, Any]) -> _Message:
    """Return audio, or the JSON object of a text; raises BadRequest for another text, and WebSocketDisconnect."""
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    audio: bytes | None = message.get("bytes")
    if audio is not None:
        return audio
    text = message.get("text") or ""
    if len(text) > _MOST_TEXT:
        raise BadRequest(f"a text message of {len(text)} characters: expected {_MOST_TEXT} at most")
    return _parsed(text)


def _parsed(text: str) -> dict[str, Any]:
    """Return the object of a text; raises BadRequest for what is none, or has a text that UTF-8 cannot encode."""
    try:
        parsed = json.loads(text)
        json.dumps(parsed, ensure_ascii=False).encode()  # an escape may be of a lone surrogate, RFC 8259, section 8.2
    except UnicodeEncodeError as error:
        found = f"a text message with a lone surrogate, \\u{ord(error.object[error.start]):04x}"
        raise BadRequest(f"{found}: expected Unicode text in its JSON") from None
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise BadRequest(f"a text message that begins with {text[:40]!r}: expected a JSON object; audio is binary")
    return parsed


def _request(config: dict[str, Any]) -> StreamRequest:
    """Return the request of a query or a Configure message; raises BadRequest."""
    for key in config:
        if key not in _CONFIG:
            raise BadRequest(f"{key[:40]}: unknown; expected any of {', '.join(_CONFIG)}")
    rate_hz, channels, alternatives = (_whole(config, key) for key in _NUMBERS)
    interim_results, words, apart, without_lm = (_switch(config, key) for key in _SWITCHES)
    audio = AudioFormat(_text(config, "encoding").upper(), rate_hz, channels, apart)
    resume = parse_token(_text(config, "resume_token"))
    return StreamRequest(
        parse_choice(_text(config, "model")),
        audio,
        alternatives,
        interim_results,
        words,
        tuple(_phrases(config)),
        written=_text(config, "written"),
        language_model=not without_lm,
        resume=resume,
    )


def _text(config: dict[str, Any], key: str) -> str:
    if not isinstance(value := config.get(key, ""), str):
        raise BadRequest(f"{key}={value!r}: expected a text")
    return value


def _whole(config: dict[str, Any], key: str) -> int:
    value = config.get(key, 0)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f"{key}={str(value)[:40]}: expected a whole number")
    return value


def _phrases(config: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield phrases with their boosts, 0 where there is none."""
    expected = 'phrases: expected a list of {"value": TEXT, "boost": NUMBER} in Configure'
    if not isinstance(phrases := config.get("phrases", []), list):
        raise BadRequest(expected)
    for phrase in phrases:
        match phrase:
            case {"value": str(value), **others} if others.keys() <= {"boost"}:
                boost = others.get("boost", 0)
            case _:
                raise BadRequest(f"{expected}; found {str(phrase)[:40]}")
        if not isinstance(boost, int | float) or isinstance(boost, bool) or abs(boost) > _GREATEST_FLOAT:
            raise BadRequest(f"{expected}; found a boost of {str(boost)[:40]!r}")
        yield value, boost


def _switch(config: dict[str, Any], key: str) -> bool:
    value = config.get(key, False)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise BadRequest(f"{key}={str(value)[:40]}: expected true or false")
    return value


class _Writer:
    """Writes one stream's messages."""

    def __init__(self, engine: Engine, socket: WebSocket, stream: Stream, *, with_words: bool) -> None:
        self._engine = engine
        self._socket = socket
        self._stream = stream
        self._with_words = with_words

    async def ready(self) -> None:
        """Tell the model, and the limits."""
        stream = self._stream
        told = {"type": "Ready", "model": stream.model, "sample_rate": stream.rate_hz, "max_s": stream.max_s}
        await self._send(told)

    async def write(self, answers: Sequence[Answer], finalized: bool = False) -> None:
        """Write results; finalized: of a Finalize message."""
        for answer in answers:
            if isinstance(answer, Result):
                message = self._results(answer)
                await self._send(message | {"from_finalize": True} if finalized else message)

    async def suspended(self, answers: Sequence[Answer], token: ResumeToken) -> None:
        """Write the last results of a stream that the recognizer ends; the last one says where the audio goes on."""
        *earlier, last = answers
        await self.write(earlier)
        assert isinstance(last, Result), "a stream ends with a final result"
        await self._send(self._results(last) | {"resume_token": str(token), "resume_s": token.begin_s})

    def _results(self, result: Result) -> dict[str, Any]:
        message: dict[str, Any] = {
            "type": "Results",
            "is_final": result.is_final,
            "stability": result.stability,
            "start_s": result.start_s,
            "end_s": result.end_s,
            "alternatives": [self._alternative(one) for one in result.alternatives],
        }
        if result.channel:
            message["channel_index"] = [result.channel - 1, self._stream.channels]
        return message

    async def closed(self) -> None:
        """Tell the end of the stream."""
        await self._send({"type": "Closed", "model": self._stream.model, "audio_s": self._stream.heard_s})

    async def _send(self, told: dict[str, Any]) -> None:
        await _within_limit(self._engine, self._socket.send_json(told))

    def _alternative(self, hypothesis: Hypothesis) -> dict[str, Any]:
        told: dict[str, Any] = {"transcript": hypothesis.text, "confidence": hypothesis.confidence}
        if self._with_words:
            told["words"] = [
                {"word": word.word, "start_s": word.start_s, "end_s": word.end_s, "confidence": word.confidence}
                for word in hypothesis.words
            ]
        return told
