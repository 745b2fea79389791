"""A multipart upload: one file and fields, within the limits of size and idle time."""

from collections.abc import AsyncGenerator, AsyncIterator

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from services.recognizer.engine import Engine
from services.recognizer.transports.http_errors import HttpError
from sonorant.serving.errors import IdleStream

__all__ = ["Fields", "read_upload"]

_MOST_FIELDS = 50
_LEAST_RATE = 4096  # bytes a second; the slot of an upload is held from its beginning

Fields = dict[str, list[str]]


async def read_upload(engine: Engine, request: Request, most_bytes: int) -> tuple[bytes, Fields]:
    """Return the content of the field `file`, and the other fields.

    Raises HttpError for a body that is no such form, is cut off, too large or empty; IdleStream and Draining.
    """
    _check_type(request.headers.get("content-type", ""))
    try:
        form = await _Parser(request.headers, _chunks(engine, request, most_bytes), most_bytes).parse()
    except MultiPartException as error:
        raise HttpError(400, f"multipart form: {error.message}") from None
    except ClientDisconnect:
        raise HttpError(400, "multipart form: cut off") from None
    fields: Fields = {}
    content: bytes | None = None
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields.setdefault(name.removesuffix("[]"), []).append(value)
        elif name == "file":
            content = await value.read()
    await form.close()
    if content is None:
        raise HttpError(400, "no field `file`: expected the recording, with a file name", "file")
    if not content:
        raise HttpError(400, "file: 0 bytes: expected a recording", "file")
    return content, fields


def _check_type(kind: str) -> None:
    if kind.partition(";")[0].strip().lower() != "multipart/form-data":
        raise HttpError(415, f"content type {kind or 'missing'}: expected multipart/form-data")
    _, options = parse_options_header(kind)
    charset = options.get(b"charset", b"utf-8").decode("latin-1")
    if charset.lower() not in ("utf-8", "utf8"):  # the parser would decode the fields by any codec that Python has
        raise HttpError(400, f"multipart form: charset={charset[:40]}: expected utf-8")


class _Parser(MultiPartParser):
    """A parser that refuses a form without its last boundary."""

    def __init__(self, headers: Headers, chunks: AsyncIterator[bytes], most_bytes: int) -> None:
        super().__init__(headers, self._whole(chunks), max_files=1, max_fields=_MOST_FIELDS)
        self.spool_max_size = most_bytes  # in memory: a pod may have no disk to write on
        self._ended = False

    def on_end(self) -> None:
        """Note the last boundary."""
        self._ended = True

    async def _whole(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for chunk in chunks:
            yield chunk
        if not self._ended:  # raised here, so that the parser closes its files
            raise HttpError(400, "multipart form: cut off before its last boundary")


async def _chunks(engine: Engine, request: Request, most_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body; a client that sends it at less than the least rate over the idle limit is ended as idle."""
    _check(int(request.headers.get("content-length", 0)), most_bytes)
    came = counted = 0
    least = int(_LEAST_RATE * engine.idle_s)
    async with engine.inbox(request.stream()) as inbox:
        try:
            while (chunk := await inbox.next()) is not None:
                came += len(chunk)
                _check(came, most_bytes)
                if came >= counted + least:
                    counted = came
                    inbox.heard()
                yield chunk
        except IdleStream:
            reason = (
                f"an upload of {came - counted} bytes in {engine.idle_s:g} s: expected {least} at least, or its end"
            )
            raise IdleStream(reason) from None


def _check(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise HttpError(413, f"an upload of {size} bytes: expected {most_bytes} at most; send it in parts", "file")
