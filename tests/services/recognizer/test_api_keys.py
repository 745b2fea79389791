"""API keys at both ports of a recognizer, over real sockets."""

import asyncio
import json
import ssl
from contextlib import suppress
from functools import partial

import grpc
import httpx2 as httpx
import openai
import pytest
import websockets
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_status import rpc_status
from prometheus_client import CollectorRegistry
from rigs.babble import RATE_HZ
from rigs.encoded import encoded
from rigs.keyed import api_keys, keyed
from rigs.recognizer import AUDIO, SPEECH, audio, interim, opening
from rigs.slots import until_free
from structlog.testing import capture_logs

from services.recognizer.key_file import append_key
from services.recognizer.transports import google
from services.recognizer_client.client import ask_model, connect, stream_recording
from sonorant.client import AsyncRecognizer
from sonorant.v1 import google_speech_pb2, longrunning_pb2, tensorflow_serving_pb2
from sonorant.v1 import recognizer_pb2 as pb

WRONG = "sonorant-" + "A" * 43
OPERATIONS = "google.longrunning.Operations"
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without the system's certificates, which take long to load
SERVED = (pb, google_speech_pb2, tensorflow_serving_pb2, reflection_pb2)


@pytest.fixture
def given(tmp_path):
    return api_keys(tmp_path, few=1, many=None)


def on(store, file, ask, **limits):
    """What `ask` returns of a recognizer with keys."""

    async def run():
        async with asyncio.timeout(60), keyed(store, file, **limits) as server:
            return await ask(server)

    return asyncio.run(run())


def channel(server):
    return grpc.aio.insecure_channel(f"127.0.0.1:{server.port}")


async def refusal(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def test_the_clients_of_grpc_are_recognized_with_their_key(store, given, monkeypatch):
    file, secrets = given

    async def ask(server):
        address = f"127.0.0.1:{server.port}"
        async with AsyncRecognizer(address, api_key=secrets["many"]) as client:
            texts = [(await client.transcribe(SPEECH, RATE_HZ)).text]
        monkeypatch.setenv("SONORANT_API_KEY", secrets["few"])
        async with channel(server) as plain:
            texts.append((await stream_recording(connect(plain), SPEECH, RATE_HZ)).text)
            metadata = (("x-goog-api-key", secrets["many"]),)  # as Google's client sends it
            whole = await connect(plain, api_key="").Recognize(pb.RecognizeRequest(content=AUDIO), metadata=metadata)
            return [*texts, whole.results[0].alternatives[0].transcript]

    first, *others = on(store, file, ask)
    assert first
    assert others == [first, first]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ((), "no API key: expected `authorization: Bearer KEY`, or `x-goog-api-key: KEY`"),
        ((("authorization", "Basic YTpi"),), "no API key"),
        ((("authorization", "Bearer "),), "no API key"),
        ((("authorization", f"Bearer {WRONG}"),), "unknown API key"),
        ((("x-goog-api-key", WRONG),), "unknown API key"),
    ],
)
def test_a_call_of_grpc_without_a_key_is_refused(store, given, metadata, reason):
    async def ask(server):
        async with channel(server) as plain:
            unary, stream = connect(plain), plain.stream_stream("/google.cloud.speech.v2.Speech/StreamingRecognize")
            one = await refusal(unary.Recognize(pb.RecognizeRequest(content=AUDIO), metadata=metadata))
            other = await refusal(stream(iter([b"", b""]), metadata=metadata).read())
            return one, other, server.engine.admission.active

    *errors, active = on(store, given[0], ask)
    for error in errors:
        assert error.code() == grpc.StatusCode.UNAUTHENTICATED
        assert error.details().startswith(reason)
    assert active == 0


def test_every_method_asks_for_a_key_but_health(store, given):
    services = [s for m in SERVED for s in m.DESCRIPTOR.services_by_name.values()]
    methods = [
        (f"/{service.full_name}/{method.name}", method.client_streaming)
        for service in services
        for method in service.methods
    ]
    assert len(methods) > 10
    methods += [(f"/{OPERATIONS}/GetOperation", False)]
    methods += [(f"/{google.SERVICE}/{name}", False) for name in ("CreateRecognizer", "BatchRecognize")]

    async def ask(server):
        async with channel(server) as plain:
            codes = set()
            for path, streaming in methods:
                if streaming:
                    codes.add((await refusal(plain.stream_stream(path)(iter([b""])).read())).code())
                else:
                    codes.add((await refusal(plain.unary_unary(path)(b""))).code())
            health = await health_pb2_grpc.HealthStub(plain).Check(health_pb2.HealthCheckRequest())
            return health.status, codes

    status, codes = on(store, given[0], ask)
    assert status == health_pb2.HealthCheckResponse.SERVING
    assert codes == {grpc.StatusCode.UNAUTHENTICATED}


def test_a_key_has_its_own_limit_of_streams_on_both_ports_and_a_series_of_metrics(store, given):
    file, secrets = given
    metrics = CollectorRegistry()

    def read(name, key):
        return metrics.get_sample_value(f"sonorant_recognizer_{name}", {"key": key})

    async def ask(server):
        async with channel(server) as plain, channel(server) as other:
            held = connect(plain, secrets["few"]).StreamingRecognize()
            await interim(held)
            error = await refusal(connect(other, secrets["few"]).StreamingRecognize(iter([opening(), audio()])).read())
            async with httpx.AsyncClient(verify=PLAIN) as http:
                answer = await http.post(
                    f"http://127.0.0.1:{server.http_port}/v1/audio/transcriptions",
                    headers={"Authorization": f"Bearer {secrets['few']}"},
                    files={"file": ("a.wav", b"")},
                )
            metadata = await ask_model(connect(other, secrets["few"]))  # which takes no slot
            text = (await stream_recording(connect(other, secrets["many"]), SPEECH, RATE_HZ)).text
            during = read("key_sessions", "few"), read("key_sessions", "many"), read("key_refusals_total", "few")
            held.cancel()
            await until_free(server.engine)
            return error, answer, metadata, text, during

    error, answer, metadata, text, during = on(store, file, ask, metrics=metrics)
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.details().startswith("API key 'few': 1 streams, no more than 1 at once")
    info = RetryInfo()
    assert rpc_status.from_call(error).details[0].Unpack(info)
    assert info.retry_delay.ToMilliseconds() > 0
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "resource_exhausted")
    assert int(answer.headers["Retry-After"]) >= 1
    assert metadata.model == "babble/1"
    assert text
    assert during == (1, 0, 2)
    assert read("key_sessions", "few") == 0
    labels = {s.labels["key"] for m in metrics.collect() for s in m.samples if "key" in s.labels}
    assert labels == {"few", "many"}


def test_openai_s_client_is_told_by_its_own_exception(store, given):
    file, secrets = given
    speech = ("speech.wav", encoded("WAV", SPEECH, RATE_HZ))

    async def ask(server):
        url = f"http://127.0.0.1:{server.http_port}/v1"
        own = partial(openai.AsyncOpenAI, base_url=url, max_retries=0)
        async with (
            httpx.AsyncClient(verify=PLAIN) as http,
            own(api_key=secrets["many"], http_client=http) as client,
        ):
            found = await client.audio.transcriptions.create(file=speech, model="babble")
        async with httpx.AsyncClient(verify=PLAIN) as http, own(api_key=WRONG, http_client=http) as client:
            refused = []
            for call in (client.models.list, lambda: client.audio.transcriptions.create(file=speech, model="babble")):
                with pytest.raises(openai.AuthenticationError) as caught:
                    await call()
                refused.append(caught.value)
        return found.text, refused

    text, refused = on(store, file, ask)
    assert text
    for error in refused:
        assert (error.status_code, error.code) == (401, "invalid_api_key")
        assert error.response.headers["WWW-Authenticate"] == "Bearer"
        assert "unknown API key" in error.message


async def spoken(connection):
    """The text of a stream over a WebSocket, or the error that ends it, with the close code and the subprotocol."""
    async with connection as call:
        told = []
        with suppress(websockets.ConnectionClosed):
            await call.send(AUDIO)
            await call.send(json.dumps({"type": "CloseStream"}))
        with suppress(websockets.ConnectionClosed):
            while True:
                told.append(json.loads(await call.recv()))
        return told, call.close_code, call.subprotocol


def test_a_websocket_has_its_key_in_a_header_or_as_browsers_can_in_a_subprotocol(store, given):
    file, secrets = given

    async def ask(server):
        url = f"ws://127.0.0.1:{server.http_port}/v1/stream"
        header = {"Authorization": f"Bearer {secrets['many']}"}
        return [
            await spoken(websockets.connect(url, additional_headers=header)),
            await spoken(websockets.connect(url, subprotocols=["token", secrets["many"]])),
        ]

    for (told, code, subprotocol), expected in zip(on(store, file, ask), (None, "token"), strict=True):
        assert [told[0]["type"], told[-1]["type"], code] == ["Ready", "Closed", 1000]
        assert subprotocol == expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subprotocols": ["token", WRONG]},
        {"additional_headers": {"Authorization": f"Bearer {WRONG}"}},
    ],
)
def test_a_websocket_without_a_key_is_told_why_and_closed(store, given, options):
    def ask(server):
        return spoken(websockets.connect(f"ws://127.0.0.1:{server.http_port}/v1/stream", **options))

    ((error,), code, _) = on(store, given[0], ask)
    assert (error["type"], error["code"], code) == ("Error", "UNAUTHENTICATED", 4401)


def test_operations_are_those_of_their_own_key(store, given, tmp_path):
    file, secrets = given
    (tmp_path / "pcm").write_bytes(AUDIO)
    config = google_speech_pb2.RecognitionConfig(
        explicit_decoding_config=google_speech_pb2.ExplicitDecodingConfig(
            encoding="LINEAR16", sample_rate_hertz=RATE_HZ, audio_channel_count=1
        )
    )
    batch = google_speech_pb2.BatchRecognizeRequest(
        recognizer="projects/p/locations/l/recognizers/_",
        config=config,
        files=[google_speech_pb2.BatchRecognizeFileMetadata(uri=f"file://{tmp_path}/pcm")],
        recognition_output_config=google_speech_pb2.RecognitionOutputConfig(
            inline_response_config=google_speech_pb2.InlineOutputConfig()
        ),
    )

    async def ask(server):
        async with channel(server) as plain:

            def call(key, method, request):
                metadata = (("authorization", f"Bearer {secrets[key]}"),)
                return plain.unary_unary(method)(request.SerializeToString(), metadata=metadata)

            begun = await call("few", f"/{google.SERVICE}/BatchRecognize", batch)
            name = longrunning_pb2.Operation.FromString(begun).name
            wait = longrunning_pb2.WaitOperationRequest(name=name)
            error = await refusal(call("many", f"/{OPERATIONS}/WaitOperation", wait))
            done = longrunning_pb2.Operation.FromString(await call("few", f"/{OPERATIONS}/WaitOperation", wait))
            listing = longrunning_pb2.ListOperationsRequest(name="projects/p/locations/l")
            counts = [
                len(
                    longrunning_pb2.ListOperationsResponse.FromString(
                        await call(key, f"/{OPERATIONS}/ListOperations", listing)
                    ).operations
                )
                for key in ("few", "many")
            ]
            return error, done.done, counts

    error, done, counts = on(store, file, ask, recordings=str(tmp_path))
    assert error.details().endswith("unknown here: forgotten, deleted, or begun on another replica")
    assert (done, counts) == (True, [1, 0])


def test_a_key_in_a_url_is_no_key(store, given):
    file, secrets = given

    async def ask(server):
        async with httpx.AsyncClient(verify=PLAIN) as http:
            return await http.get(f"http://127.0.0.1:{server.http_port}/v1/models", params={"key": secrets["many"]})

    assert on(store, file, ask).status_code == 401


def test_a_browser_that_offers_a_key_where_none_is_asked_for_is_served(store):
    def ask(server):
        return spoken(websockets.connect(f"ws://127.0.0.1:{server.http_port}/v1/stream", subprotocols=["token", WRONG]))

    told, code, subprotocol = on(store, "", ask)
    assert (told[-1]["type"], code, subprotocol) == ("Closed", 1000, "token")


def test_no_key_is_logged(store, given, caplog):
    file, secrets = given
    caplog.set_level(0)

    async def ask(server):
        for secret in (secrets["many"], WRONG):
            async with channel(server) as plain:
                with suppress(grpc.aio.AioRpcError):
                    await connect(plain, secret).Recognize(pb.RecognizeRequest(content=AUDIO))
            url = f"127.0.0.1:{server.http_port}/v1"
            await spoken(websockets.connect(f"ws://{url}/stream", subprotocols=["token", secret]))
            async with httpx.AsyncClient(verify=PLAIN) as http:
                await http.get(f"http://{url}/models", headers={"Authorization": f"Bearer {secret}"})

    with capture_logs() as logs:
        on(store, file, ask)
    ours = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith(("websockets.client", "http"))
    )
    assert "request_refused" in str(logs)
    for secret in (*secrets.values(), WRONG):
        assert secret not in str(logs)
        assert secret not in ours


def test_models_are_reloaded_by_operators_alone(store, tmp_path):
    path = tmp_path / "api.keys"
    secrets = {name: append_key(path, name, admin=name == "operator") for name in ("operator", "client")}
    path_of = "/tensorflow.serving.ModelService/HandleReloadConfigRequest"

    async def ask(server):
        async with channel(server) as plain:
            reload = plain.unary_unary(path_of)
            await reload(b"", metadata=(("authorization", f"Bearer {secrets['operator']}"),))
            return await refusal(reload(b"", metadata=(("authorization", f"Bearer {secrets['client']}"),)))

    error = on(store, str(path), ask)
    assert error.code() == grpc.StatusCode.PERMISSION_DENIED
    assert error.details().startswith("API key 'client': no operator's")
