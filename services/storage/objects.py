"""The objects below one URL of any file system of fsspec: whole files in, whole files out."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import structlog

from services.process.backoff import Backoff
from sonorant.atomic import atomic_file
from sonorant.errors import SonorantError, Unavailable

__all__ = ["BadStore", "MissingObject", "ObjectStore"]

log = structlog.get_logger()

_BLOCK_BYTES = 16 << 20
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
# Object stores have no folders to create; and retries of one layer suffice.
_OPTIONS: dict[str, dict[str, Any]] = {
    "file": {"auto_mkdir": True},
    "s3": {"config_kwargs": {"retries": {"total_max_attempts": 1}}},
}

Answer = TypeVar("Answer")


class BadStore(SonorantError):
    """A URL of no store that can be used here."""

    exit_code = 78


class MissingObject(Unavailable):
    """An object that is not in the store, or not any more."""


class ObjectStore:
    """Objects by their names below `url`, such as `shards/plan.json`.

    S3 writes objects atomically, on which all above relies; files (`file://`) are for trials. Credentials, endpoint and
    region come from the environment, as the scheme's own library reads it: for S3 AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and AWS_DEFAULT_REGION.

    A failure is retried for `patience_s` seconds, with back-off; then, and at once where access is refused, it raises
    Unavailable with URL, reason and advice. Any thread may call.
    """

    def __init__(self, url: str, patience_s: float) -> None:
        """Load the library of the URL's scheme; raises BadStore if there is none here, or the URL holds a password."""
        self._patience_s = patience_s
        scheme, netloc, *_ = urlsplit(url)
        if "@" in netloc:
            raise BadStore(f"{scheme}://…: credentials in the URL end up in logs; give them in the environment")
        try:
            from fsspec.core import url_to_fs

            self.url = url.rstrip("/")
            self._files, root = url_to_fs(self.url, use_listings_cache=False, **_OPTIONS.get(scheme, {}))
        except (ImportError, ValueError) as error:
            install = "`.venv/bin/pip install -e '.[store]'` in sonorant's folder brings what s3:// needs"
            raise BadStore(f"{url}: {error}; {install}") from error
        self._root: str = root.rstrip("/")

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, or None if there is no such object."""
        try:
            return self._tried(name, lambda: bytes(self._files.cat_file(self._path(name))))
        except MissingObject:
            return None

    def read_range(self, name: str, start: int, size: int) -> bytes:
        """Return `size` bytes of an object from `start` on; raises MissingObject."""
        return self._tried(
            name, lambda: bytes(self._files.cat_file(self._path(name), start=start, end=start + size) if size else b"")
        )

    def write(self, name: str, content: bytes) -> None:
        """Write a small object."""
        self._tried(name, lambda: self._files.pipe_file(self._path(name), content))

    def download(self, name: str, path: Path) -> None:
        """Write an object to `path`, atomically; raises MissingObject, and Unavailable when the disk refuses."""
        size = int(self._tried(name, lambda: self._files.info(self._path(name)))["size"])
        with atomic_file(path) as file:
            for start in range(0, size, _BLOCK_BYTES):
                file.write(self.read_range(name, start, min(_BLOCK_BYTES, size - start)))

    def upload(self, path: Path, name: str) -> None:
        """Write a file's content to an object; raises FileNotFoundError if the file is not there."""

        def put() -> None:
            try:
                self._files.put_file(str(path), self._path(name))
            except FileNotFoundError as error:
                if not path.exists():
                    raise _GoneHere from error
                raise

        try:
            self._tried(name, put)
        except _GoneHere as error:
            raise FileNotFoundError(str(path)) from error

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects below `folder`, sorted."""
        found = self._tried(folder, lambda: self._files.find(self._path(folder)))
        return sorted(path[len(self._root) + 1 :] for path in found)

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects, if they exist."""
        if names:
            self._tried(names[0], lambda: self._files.rm([self._path(name) for name in names]))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _tried(self, name: str, call: Callable[[], Answer]) -> Answer:
        """Return the result of `call`, with retries; libraries of stores raise any exception, hence all are caught."""
        deadline_s, backoff = time.monotonic() + self._patience_s, Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            try:
                return call()
            except _GoneHere:
                raise
            except FileNotFoundError as error:
                raise MissingObject(f"{self.url}/{name}: not there; is the bucket?") from error
            except Exception as error:
                reason = _reason(error)
                if _is_refusal(error):
                    raise Unavailable(
                        f"{self.url}/{name}: {reason}; give this process's environment credentials that may read, "
                        "write, list and delete there (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
                    ) from error
                if time.monotonic() + backoff.next_s > deadline_s:
                    raise Unavailable(
                        f"{self.url}/{name}: {reason}; is the store up, and AWS_ENDPOINT_URL its address?"
                    ) from error
                log.warning("store_not_reached", object=f"{self.url}/{name}", reason=reason, again_in_s=backoff.next_s)
            time.sleep(backoff.pause_s())


class _GoneHere(Exception):
    """A local file has vanished, which is no failure of the store."""


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _is_refusal(error: Exception) -> bool:
    """Whether retries with the same credentials are useless; missing ones raise botocore's own type."""
    return isinstance(error, PermissionError) or "Credentials" in type(error).__name__
