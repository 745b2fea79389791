"""BatchRecognize of Google Speech-to-Text v2: recordings in files of this machine, as a long-running operation."""

import asyncio
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import structlog

from services.coordination.durations import duration, seconds
from services.recognizer.engine import Engine
from services.recognizer.transports.google_config import apply_mask, check_supported, stream_request
from services.recognizer.transports.google_results import recognized
from services.recognizer.transports.operations import Operations, rpc_status
from sonorant.errors import SonorantError
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.errors import FAULT, INTERNAL, BadRequest, TooManyStreams
from sonorant.serving.request import StreamRequest
from sonorant.v1 import google_speech_pb2 as pb
from sonorant.v1 import longrunning_pb2

__all__ = ["BatchRecognizer"]

log = structlog.get_logger()

_MOST_FILES = 15
_TRY_AGAIN_S = 1.0


class BatchRecognizer:
    """Recognizes recordings below the folder `serving.recordings`: one at a time, in a slot that no stream takes."""

    def __init__(self, engine: Engine, serving: ServingRecipe, operations: Operations) -> None:
        self._engine = engine
        self._operations = operations
        self._folder = Path(serving.recordings).resolve()
        self._turn = asyncio.Lock()
        self._most_bytes = int(serving.max_message_mb * 2**20)

    async def begin(self, request: pb.BatchRecognizeRequest) -> longrunning_pb2.Operation:
        """Begin an operation; raises BadRequest, UnknownModel, and TooManyStreams for too many operations."""
        apply_mask(request)
        check_supported(request)
        if request.recognition_output_config.WhichOneof("output") is None:
            raise BadRequest("recognition_output_config.inline_response_config: absent; results are nowhere else")
        if not 1 <= len({file.uri for file in request.files}) == len(request.files) <= _MOST_FILES:
            raise BadRequest(f"files: {len(request.files)}: expected 1 to {_MOST_FILES}, each of them once")
        paths = {file.uri: self._path(file.uri) for file in request.files}
        opening = stream_request(request.recognizer, request.config)
        self._engine.check(opening)  # so that a config that no file can be recognized with is refused at once
        progress = pb.OperationMetadata(
            resource=request.recognizer, method="google.cloud.speech.v2.Speech.BatchRecognize"
        )
        files = progress.batch_recognize_metadata.transcription_metadata
        for uri in paths:
            files[uri].progress_percent = 0
        parent = request.recognizer.rpartition("/recognizers/")[0]
        return self._operations.begin(parent, self._work(paths, request.config, opening, progress), lambda: progress)

    async def _work(
        self,
        paths: dict[str, Path],
        config: pb.RecognitionConfig,
        opening: StreamRequest,
        progress: pb.OperationMetadata,
    ) -> pb.BatchRecognizeResponse:
        response = pb.BatchRecognizeResponse()
        billed_s = 0.0
        for number, (uri, path) in enumerate(paths.items(), start=1):
            found, state = response.results[uri], progress.batch_recognize_metadata.transcription_metadata[uri]
            try:
                one = await self._recognize(path, config, opening)
            except SonorantError as error:
                found.error.CopyFrom(rpc_status(error, self._engine.refuse(error)))
                state.error.CopyFrom(found.error)
            except Exception as error:  # a fault of ours costs this file, and its log has the reason
                log.error("file_failed", exc_info=error)
                found.error.CopyFrom(rpc_status(SonorantError(FAULT), INTERNAL.code))
                state.error.CopyFrom(found.error)
            else:
                found.transcript.CopyFrom(pb.BatchRecognizeResults(results=one.results, metadata=one.metadata))
                found.inline_result.transcript.CopyFrom(found.transcript)
                found.metadata.CopyFrom(one.metadata)
                billed_s += seconds(one.metadata.total_billed_duration)
            state.progress_percent = 100
            progress.progress_percent = 100 * number // len(paths)
        response.total_billed_duration.CopyFrom(duration(billed_s))
        return response

    async def _recognize(
        self, path: Path, config: pb.RecognitionConfig, opening: StreamRequest
    ) -> pb.RecognizeResponse:
        admission = self._engine.admission
        while True:  # until there is a slot for each channel; raises Unavailable while the recognizer shuts down
            async with self._turn:
                try:
                    if admission.fitting > 0 or admission.closed:  # nobody listens to a batch as to a stream
                        content = await asyncio.to_thread(_read, self._folder, path, self._most_bytes)
                        with admission.slot(), self._engine.stream(opening) as stream:
                            return await recognized(stream, content, config, opening.language)
                except TooManyStreams:
                    pass
            await asyncio.sleep(_TRY_AGAIN_S)  # in which others of the key, or of other keys, have their turn

    def _path(self, uri: str) -> Path:
        """Return the file of a URI, without links; raises BadRequest if it is not below the folder."""
        try:
            parts = urlsplit(uri)
        except ValueError as error:
            raise BadRequest(f"uri={uri!r}: {error}") from None
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in unquote(parts.path):
            raise BadRequest(f"uri={uri!r}: expected file:///PATH, below the folder of recordings (serving.recordings)")
        try:
            path = Path(unquote(parts.path)).resolve()
        except (OSError, RuntimeError):  # links in a circle
            raise BadRequest(f"uri={uri!r}: cannot be found") from None
        if not path.is_relative_to(self._folder):
            raise BadRequest(f"uri={uri!r}: not below the folder of recordings (serving.recordings)")
        return path


def _open_itself(path: str, flags: int) -> int:
    """Open a file, but no link, and wait for no pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _read(folder: Path, path: Path, most_bytes: int) -> bytes:
    """Return a file's content; what has been put in its place meanwhile is refused, outside the folder or no file."""
    try:
        with open(path, "rb", opener=_open_itself) as file:
            opened = Path(f"/proc/self/fd/{file.fileno()}")
            if not (opened.is_file() and Path(os.readlink(opened)).is_relative_to(folder)):
                raise BadRequest(f"{path.name}: no such file")
            content = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise BadRequest(f"{path.name}: no such file") from None
    except OSError as error:
        raise BadRequest(f"{path.name}: cannot be read: {error.strerror}") from None
    if len(content) > most_bytes:
        raise BadRequest(f"{path.name}: more than {most_bytes} bytes (serving.max_message_mb)")
    return content
