"""`sonorant transcribe` and recognizers that end streams, go, or answer no more."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
import soundfile
from rigs.babble import RATE_HZ, murmur
from rigs.command_line import sonorant

from sonorant.v1 import recognizer_pb2 as pb
from sonorant.v1 import recognizer_pb2_grpc


@pytest.fixture
def path(tmp_path):
    soundfile.write(tmp_path / "a.wav", murmur(1.0), RATE_HZ)
    return tmp_path / "a.wav"


def transcribe(*arguments):
    return sonorant("transcribe", *arguments)


@contextmanager
def serving(servicer):
    """Yield the address of a server of it."""
    server = grpc.server(ThreadPoolExecutor(2))
    recognizer_pb2_grpc.add_RecognizerServicer_to_server(servicer, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield address
    server.stop(None)


class Refusing(recognizer_pb2_grpc.RecognizerServicer):
    """A recognizer that says what it serves, and ends every stream with a status, once it was heard.

    If it ended one before, grpc.aio might say of a write that it failed, and not the status.
    """

    refuses_questions_after = 100

    def __init__(self, code):
        self.code = code
        self.questions = 0

    def Recognize(self, request, context):
        self.questions += 1
        if self.questions > self.refuses_questions_after:
            context.abort(self.code, "so it is")
        metadata = pb.RecognitionResponseMetadata(model="babble/1", sample_rate_hertz=RATE_HZ)
        return pb.RecognizeResponse(metadata=metadata)

    def StreamingRecognize(self, requests, context):
        for _ in requests:
            pass
        context.abort(self.code, "so it is")


@pytest.mark.parametrize(
    ("code", "said", "exit_code"),
    [
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED: so it is", 65),
        (grpc.StatusCode.UNAVAILABLE, "UNAVAILABLE: so it is", 69),
    ],
)
def test_a_recognizer_that_ends_a_stream_is_said_in_one_line_a_recording(path, code, said, exit_code):
    with serving(Refusing(code)) as address:
        done = transcribe("--server", address, "--streams", 2, path, path)
    failed = f"sonorant: {path}: {address}: {said}\n"
    total = "sonorant: 2 of 2 recordings could not be transcribed\n"
    assert (done.returncode, done.stdout, done.stderr) == (exit_code, "", 2 * failed + total)


class Going(Refusing):
    """A recognizer that goes in the midst of the first streams: they end behind half of their results."""

    def __init__(self, going):
        super().__init__(grpc.StatusCode.UNAVAILABLE)
        self.going = going

    def StreamingRecognize(self, requests, context):
        next(requests)
        said = [pb.SpeechRecognitionAlternative(transcript=text) for text in ("one", "two")]
        yield pb.StreamingRecognizeResponse(
            results=[pb.StreamingRecognitionResult(alternatives=said[:1], is_final=True)]
        )
        for _ in requests:
            pass
        self.going -= 1
        if self.going >= 0:
            context.abort(self.code, "Socket closed")
        yield pb.StreamingRecognizeResponse(
            results=[pb.StreamingRecognitionResult(alternatives=said[1:], is_final=True)]
        )


@pytest.mark.parametrize(("going", "code", "out"), [(2, 0, "one two\n"), (3, 69, "")])
def test_a_recording_whose_recognizer_goes_is_sent_again_to_the_one_that_answers(path, going, code, out):
    with serving(Going(going)) as address:
        done = transcribe("--server", address, path)
    assert (done.returncode, done.stdout) == (code, out)
    assert (f"sonorant: {path}: {address}: UNAVAILABLE: Socket closed\n" in done.stderr) == bool(code)


def test_a_recognizer_that_goes_is_said_once(path):
    servicer = Refusing(grpc.StatusCode.UNAVAILABLE)
    servicer.refuses_questions_after = 1
    with serving(servicer) as address:
        done = transcribe("--server", address, path, path)
    said = f"sonorant: {address}: no recognizer answers: so it is; is it running?\n"
    assert (done.returncode, done.stdout, done.stderr) == (69, "", said)
