"""The recognizer's web page, `services/recognizer/web`: static files, read once, with a strict content policy."""

import hashlib
from collections.abc import Iterator
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["page_routes"]

_INDEX = "index.html"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Nothing but this server's own files; connections to it alone; the page is in no frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-cache",  # kept, but asked for again, by its ETag: files of one version go together
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page_routes() -> list[Route]:
    """Return the routes of the page `/`, and of its files `/web/NAME`."""
    pages = dict(_read())

    def answer(request: Request) -> Response:
        page = pages.get(request.path_params.get("name", _INDEX))
        if page is None:
            raise HTTPException(404)
        return page.answer(request)

    return [Route("/", answer), Route("/web/{name}", answer)]


class _Page:
    """One file."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self._content = content
        etag = hashlib.sha256(content).hexdigest()[:32]
        self._headers = {**_HEADERS, "Content-Type": media_type, "ETag": f'"{etag}"'}

    def answer(self, request: Request) -> Response:
        """Return the content; nothing, if the client has it already."""
        if self._headers["ETag"] in request.headers.get("If-None-Match", ""):
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers)


def _read() -> Iterator[tuple[str, _Page]]:
    """Yield the page's files by name."""
    for file in files("services.recognizer").joinpath("web").iterdir():
        if media_type := _TYPES.get(file.name.rpartition(".")[2]):
            yield file.name, _Page(file.read_bytes(), media_type)
