"""The client that other programs import, against a recognizer in a process of its own."""

import asyncio
import doctest
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
import soundfile
from rigs.babble import RATE_HZ, export_babble, murmur
from rigs.pages import ROOT, blocks
from rigs.recognizer_thread import recognizer_on_a_thread
from rigs.slots import until_free

import sonorant.client
from services.recognizer.process import running_recognizer
from services.recognizer_client.client import pcm16
from sonorant.client import AsyncRecognizer, Recognizer, Wanted
from sonorant.errors import BadAudio
from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore
from sonorant.serving.phrases import scorer_with_phrases
from sonorant.serving.session import Session, SessionOptions

SPEECH = murmur(1.5, seed=4)
AUDIO = pcm16(SPEECH)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    exports = tmp_path_factory.mktemp("run")
    export_babble(exports)
    return exports


@pytest.fixture(scope="module")
def address(exports):
    with running_recognizer(exports) as address:
        yield address


@pytest.fixture(scope="module")
def text(exports):
    session = Session(load_exported(exports / "babble/1"), SessionOptions())
    session.push(AUDIO)
    return session.finish()[-1].alternatives[0].text


def of_the_docstring():
    return "".join(example.source for example in doctest.DocTestParser().get_examples(sonorant.client.__doc__))


@pytest.fixture(params=["PCM_16", "FLOAT"])
def speech(request, tmp_path, monkeypatch):
    """The speech in a file of two channels, whose mean it is, alone in neither."""
    monkeypatch.chdir(tmp_path)
    noise = 0.2 * np.random.default_rng(3).uniform(-1, 1, len(SPEECH))
    soundfile.write("speech.wav", np.stack([SPEECH + noise, SPEECH - noise], axis=1), RATE_HZ, subtype=request.param)


@pytest.mark.usefixtures("speech")
def test_the_loop_of_the_docstring_runs_as_it_stands(address, text, capsys):
    exec(of_the_docstring().replace("localhost:50051", address), {})
    *interim, final = capsys.readouterr().out.splitlines()
    assert interim
    assert all(line.startswith("interim ") for line in interim)
    assert final == f"final {text}"


@pytest.mark.usefixtures("speech")
def test_the_program_of_the_page_runs_as_it_stands(address, text, capsys):
    (program,) = [block for block in blocks(ROOT / "docs/recognizer.md", "python") if "sonorant.client" in block]
    exec(program.replace("FILE.wav", "speech.wav").replace("localhost:50051", address), {})
    *interim, final, whole = capsys.readouterr().out.splitlines()
    assert interim
    assert all(line.startswith("interim ") for line in interim)
    assert final.startswith(f"final {text} (RecognizedWord(")
    assert whole == text


def test_the_asynchronous_client_hears_the_same(address, text):
    async def chunks():
        for at in range(0, len(AUDIO), 1600):
            yield AUDIO[at : at + 1600]

    async def heard():
        async with AsyncRecognizer(address, Wanted(alternatives=3)) as recognizer:
            events = [event async for event in recognizer.stream(chunks(), RATE_HZ)]
            return events, await recognizer.transcribe(SPEECH, RATE_HZ), await recognizer.model()

    events, transcript, model = asyncio.run(heard())
    assert (events[-1].is_final, events[-1].text, transcript.text) == (True, text, text)
    assert len(events[-1].alternatives) == 3
    assert (model.model, model.sample_rate_hz) == ("babble/1", RATE_HZ)


def test_phrases_are_those_of_the_request(address, exports, text):
    model = load_exported(exports / "babble/1")
    session = Session(model, SessionOptions(), scorer_with_phrases(model, [("delta", 15.0)]))
    session.push(AUDIO)
    expected = session.finish()[-1].alternatives[0].text
    with Recognizer(address, Wanted(phrases={"delta": 15.0}, language_model=False)) as recognizer:
        assert recognizer.transcribe(SPEECH, RATE_HZ).text == expected != text


def test_phrases_without_boosts_are_a_type_error():
    with pytest.raises(TypeError, match=r"^phrases=\['three'\]: expected each phrase with its boost, such as \{'new"):
        Wanted(phrases=["three"])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_bad_audio_before_anything_is_sent(value):
    samples = SPEECH.copy()
    samples[7:] = value
    with (
        Recognizer("127.0.0.1:1") as recognizer,
        pytest.raises(BadAudio, match=f"sample 7 is {value}; expected numbers"),
    ):
        recognizer.transcribe(samples, RATE_HZ)

    async def transcribed():
        async with AsyncRecognizer("127.0.0.1:1") as recognizer:
            await recognizer.transcribe(samples, RATE_HZ)

    with pytest.raises(BadAudio, match=f"sample 7 is {value}"):
        asyncio.run(transcribed())


@pytest.mark.parametrize(
    ("samples", "found"),
    [
        (np.zeros((24_000, 2), np.float32), r"shape \(24000, 2\) and type float32"),
        (np.zeros((1, 8000), np.int16), r"shape \(1, 8000\) and type int16"),
        (np.float32(0.5), r"shape \(\) and type float32"),
        (np.zeros(8, np.int32), r"shape \(8,\) and type int32"),
        (np.zeros(8, np.uint16), r"shape \(8,\) and type uint16"),
        (np.zeros(8, np.uint8), r"shape \(8,\) and type uint8"),
        (np.zeros(8, np.complex64), r"shape \(8,\) and type complex64"),
        ([1, 2, 3], r"shape \(3,\) and type int64"),
    ],
)
def test_arrays_of_another_type_or_of_several_channels_are_bad_audio(samples, found):
    reason = rf"samples: an array of {found}; expected \[samples\], of one channel, of int16 or of floats in \[-1, 1\]"
    with Recognizer("127.0.0.1:1") as recognizer, pytest.raises(BadAudio, match=reason):
        recognizer.transcribe(samples, RATE_HZ)


def test_floats_of_the_scale_of_16_bits_are_bad_audio_and_what_is_a_little_too_loud_is_not(address):
    with Recognizer("127.0.0.1:1") as recognizer, pytest.raises(BadAudio, match="divide by 32768, or give int16"):
        recognizer.transcribe(32768 * SPEECH, RATE_HZ)
    with Recognizer(address) as recognizer:
        assert recognizer.transcribe(3 * SPEECH / np.abs(SPEECH).max(), RATE_HZ).model == "babble/1"


@pytest.mark.parametrize("dtype", ["<i2", ">i2", np.float32, np.float64])
def test_16_bit_samples_are_the_same_recording_as_floats(address, text, dtype):
    samples = np.frombuffer(AUDIO, "<i2")
    samples = samples.astype(dtype) if np.dtype(dtype).kind == "i" else samples.astype(dtype) / 32_768
    with Recognizer(address) as recognizer:
        assert recognizer.transcribe(samples, RATE_HZ).text == text
    assert pcm16(samples) == AUDIO


def test_what_the_recognizer_refuses_is_raised_and_the_client_goes_on(address, text):
    with Recognizer(address, Wanted(written="xx")) as recognizer:
        assert recognizer.model().model == "babble/1"
        with pytest.raises(grpc.aio.AioRpcError, match="written='xx'"):
            list(recognizer.stream([], RATE_HZ))
    with Recognizer(address) as recognizer:
        assert recognizer.transcribe(SPEECH, RATE_HZ).text == text
        assert [event.text for event in recognizer.stream([AUDIO], RATE_HZ) if event.is_final] == [text]


def test_outside_of_its_context_a_client_says_what_is_missing():
    with pytest.raises(RuntimeError, match=r"^Recognizer: not connected; use it within `with`$"):
        Recognizer("localhost:1").transcribe(SPEECH, RATE_HZ)
    with pytest.raises(RuntimeError, match=r"not connected; use it within `async with`$"):
        asyncio.run(AsyncRecognizer("localhost:1").model())

    async def left():
        async with AsyncRecognizer("localhost:1") as recognizer:
            pass
        await recognizer.model()

    with pytest.raises(RuntimeError, match="not connected"):
        asyncio.run(left())


@pytest.mark.parametrize("address", ["localhost", "", "http://localhost:50051"])
def test_an_address_without_a_port_or_of_http_is_a_value_error(address):
    with pytest.raises(ValueError, match="expected HOST:PORT, such as localhost:50051"):
        Recognizer(address)


def test_a_loop_that_is_left_frees_its_stream_though_its_source_blocks(exports):
    blocked = threading.Event()

    def source():
        yield AUDIO
        blocked.wait()

    store = ModelStore(exports, load_exported)
    store.refresh()
    with recognizer_on_a_thread(store) as (server, loop, address):
        with Recognizer(address) as recognizer:
            for _ in recognizer.stream(source(), RATE_HZ):
                break
        asyncio.run_coroutine_threadsafe(until_free(server.engine), loop).result(timeout=30)
    blocked.set()


def test_a_stream_that_is_left_open_ends_with_its_client(address):
    with Recognizer(address) as recognizer:
        results = recognizer.stream([AUDIO], RATE_HZ)
        next(results)
    results.close()


def test_where_an_event_loop_runs_the_asynchronous_client_is_named(address):
    async def enter():
        with Recognizer(address):
            pass

    with pytest.raises(RuntimeError, match="use AsyncRecognizer"):
        asyncio.run(enter())


def test_clients_of_several_threads_have_no_errors_of_each_others_events(address, text, caplog):
    def heard(_):
        chunks = (AUDIO[at : at + 160] for at in range(0, len(AUDIO), 160))
        with Recognizer(address) as recognizer:
            return [event.text for event in recognizer.stream(chunks, RATE_HZ) if event.is_final]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(heard, range(8))) == [[text]] * 8
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize(
    ("chunk", "error"),
    [
        (OSError("unplugged"), OSError),
        ("text", TypeError),
        (np.zeros(9), TypeError),
        (np.zeros((9, 2), "<i2"), TypeError),
    ],
)
def test_an_error_of_the_chunks_comes_behind_the_results_before_it(address, text, chunk, error):
    def chunks():
        yield AUDIO
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk

    async def asynchronous():
        for one in chunks():
            yield one

    async def run():
        async with AsyncRecognizer(address) as recognizer:
            async for result in recognizer.stream(asynchronous(), RATE_HZ):
                found.append(result)

    found = []
    with Recognizer(address) as recognizer, pytest.raises(error):
        found.extend(recognizer.stream(chunks(), RATE_HZ))
    assert (found[-1].is_final, found[-1].text) == (True, text)
    found = []
    with pytest.raises(error):
        asyncio.run(run())
    assert (found[-1].is_final, found[-1].text) == (True, text)


def test_chunks_may_be_any_buffers(address, text):
    with Recognizer(address) as recognizer:
        *_, final = recognizer.stream([bytearray(AUDIO), memoryview(b""), np.zeros(8, "<i2")], RATE_HZ)
    assert final.text == text


@pytest.mark.parametrize("rate_hz", [0, -8000])
def test_a_rate_is_above_zero(address, rate_hz):
    with Recognizer(address) as recognizer, pytest.raises(ValueError, match=f"rate_hz={rate_hz}: expected"):
        next(recognizer.stream([AUDIO], rate_hz))
