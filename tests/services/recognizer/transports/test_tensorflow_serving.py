import asyncio
import shutil

import grpc
import numpy as np
import pytest
from google.protobuf.wrappers_pb2 import Int64Value
from rigs.babble import RATE_HZ, export_babble, murmur
from rigs.encoded import encoded
from rigs.recognizer import AUDIO, SPEECH, recognizer

from services.recognizer.stream import MonoStream
from services.recognizer_client.client import connect
from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore
from sonorant.v1 import recognizer_pb2, tensorflow_serving_pb2_grpc
from sonorant.v1 import tensorflow_serving_pb2 as pb

LABEL = pb.ModelSpec(name="babble", version_label="stable")
OLDER = pb.ModelSpec(name="babble", version=Int64Value(value=7))

WAV = encoded("WAV", SPEECH[:, None], RATE_HZ)


def files(*of, shape=None):
    sizes = [len(of)] if shape is None else shape
    return pb.TensorProto(dtype=pb.DT_STRING, tensor_shape=shape_of(sizes), string_val=of)


def samples(array, content=True):
    array = np.asarray(array, "<f4")
    values = {"tensor_content": array.tobytes()} if content else {"float_val": array.ravel()}
    return pb.TensorProto(dtype=pb.DT_FLOAT, tensor_shape=shape_of(array.shape), **values)


def shape_of(sizes):
    return pb.TensorShapeProto(dim=[pb.TensorShapeProto.Dim(size=size) for size in sizes])


def predict(audio, **fields):
    return pb.PredictRequest(**({"model_spec": pb.ModelSpec(name="babble"), "inputs": {"audio": audio}} | fields))


def called(store, *requests):
    """What the calls return, or the status and message of their errors."""

    async def run():
        async with recognizer(store) as (_, channel):
            models = tensorflow_serving_pb2_grpc.ModelServiceStub(channel)
            predictions = tensorflow_serving_pb2_grpc.PredictionServiceStub(channel)
            methods = {
                pb.GetModelStatusRequest: models.GetModelStatus,
                pb.ReloadConfigRequest: models.HandleReloadConfigRequest,
                pb.PredictRequest: predictions.Predict,
                pb.GetModelMetadataRequest: predictions.GetModelMetadata,
            }
            found = []
            for request in requests:
                try:
                    found.append(await methods[type(request)](request))
                except grpc.aio.AioRpcError as error:
                    found.append((error.code(), error.details()))
            return found

    return asyncio.run(run())


def heard(store, *contents):
    """The transcripts by the service of our own."""

    async def run():
        async with recognizer(store) as (_, channel):
            stub = connect(channel)
            found = [await stub.Recognize(recognizer_pb2.RecognizeRequest(content=content)) for content in contents]
            return [response.results[0].alternatives[0] for response in found]

    return asyncio.run(run())


def test_files_and_samples_have_the_transcripts_of_their_recordings(store):
    other = murmur(1.5, seed=9)
    wavs = [encoded("WAV", recording[:, None], RATE_HZ) for recording in (SPEECH, other)]
    quantised = [np.round(np.clip(recording, -1, 1) * 32767) / 32768 for recording in (SPEECH, SPEECH[::-1])]
    first, second = heard(store, AUDIO, (other * 32767).round().astype("<i2").tobytes())
    batch, one, rows, row = called(
        store,
        predict(files(*wavs)),
        predict(files(wavs[0], shape=[]), output_filter=["text"]),
        predict(samples(np.stack(quantised))),
        predict(samples(quantised[0], content=False)),
    )
    assert [text.decode() for text in batch.outputs["text"].string_val] == [first.transcript, second.transcript]
    assert first.transcript != second.transcript
    assert list(batch.outputs["confidence"].float_val) == pytest.approx([first.confidence, second.confidence], rel=1e-3)
    assert batch.outputs["text"].tensor_shape == shape_of([2])
    assert (list(one.outputs), one.outputs["text"].string_val) == (["text"], [first.transcript.encode()])
    assert one.outputs["text"].tensor_shape == shape_of([])
    assert rows.outputs["text"].string_val[0] == row.outputs["text"].string_val[0] == first.transcript.encode()
    assert (batch.model_spec.name, batch.model_spec.version.value) == ("babble", 1)


@pytest.mark.parametrize(
    ("request_", "code", "reason"),
    [
        (predict(files(b"no audio")), "INVALID_ARGUMENT", "no WAV, FLAC"),
        (predict(files(WAV, b"no audio", WAV)), "INVALID_ARGUMENT", "audio[1]: begins with b'no a': no WAV, FLAC"),
        (predict(files(shape=[0])), "INVALID_ARGUMENT", "0 recordings, expected 1 to 64"),
        (predict(files(shape=[1 << 62])), "INVALID_ARGUMENT", "expected 1 to 64 in a request"),
        (predict(files(b"a", shape=[2])), "INVALID_ARGUMENT", "1 values in string_val, its shape has 2"),
        (predict(files(b"a", shape=[1, 1])), "INVALID_ARGUMENT", "shape [1, 1], expected [] or [recordings]"),
        (predict(samples(1.0)), "INVALID_ARGUMENT", "shape [], expected [samples] or [recordings, samples]"),
        (predict(samples([np.nan] * 999)), "INVALID_ARGUMENT", "not finite"),
        (
            predict(pb.TensorProto(dtype=pb.DT_FLOAT, tensor_shape=shape_of([1, -1]), float_val=[0.0])),
            "INVALID_ARGUMENT",
            "shape [1, -1]",
        ),
        (
            predict(pb.TensorProto(dtype=pb.DT_FLOAT, tensor_shape=shape_of([3]), float_val=[0.0])),
            "INVALID_ARGUMENT",
            "1 values, its shape has 3",
        ),
        (
            predict(samples(np.zeros(1 << 18), content=False)),
            "INVALID_ARGUMENT",
            "262144 values in float_val; send them as tensor_content",
        ),
        (predict(pb.TensorProto(dtype=3, tensor_shape=shape_of([1]))), "INVALID_ARGUMENT", "dtype=3"),
        (predict(files(b""), inputs={"sound": files(b"")}), "INVALID_ARGUMENT", "['sound'], expected ['audio']"),
        (predict(files(b""), output_filter=["times"]), "INVALID_ARGUMENT", "output_filter: ['times']"),
        (predict(files(b""), model_spec=LABEL), "NOT_FOUND", "label 'stable' is not in service; in service are: 1"),
        (predict(files(b""), model_spec=OLDER), "NOT_FOUND", "version 7 is not in service; in service are: 1"),
        (predict(files(b""), model_spec=pb.ModelSpec(name="other")), "NOT_FOUND", "model 'other': not served"),
        (predict(files(b""), model_spec=pb.ModelSpec(signature_name="x")), "INVALID_ARGUMENT", "signature_name='x'"),
        (pb.GetModelStatusRequest(model_spec=pb.ModelSpec(name="other")), "NOT_FOUND", "model 'other': not served"),
        (pb.GetModelStatusRequest(model_spec=OLDER), "NOT_FOUND", "no version 7"),
        (pb.GetModelStatusRequest(model_spec=LABEL), "NOT_FOUND", "no version 'stable'"),
        (pb.GetModelMetadataRequest(metadata_field=["other"]), "INVALID_ARGUMENT", "expected ['signature_def']"),
        (
            pb.ReloadConfigRequest(config={"model_config_list": {"config": [{"name": "babble", "base_path": "/etc"}]}}),
            "INVALID_ARGUMENT",
            "'babble' has base_path; this server polls its own folder",
        ),
        (
            pb.ReloadConfigRequest.FromString(b"\x0a\x0e\x0a\x0c\x0a\x0a\x0a\x06babble\x3a\x00"),
            "INVALID_ARGUMENT",
            "'babble' has field number 7, which is not supported",
        ),
        (
            pb.ReloadConfigRequest.FromString(b"\x12\x01x"),
            "INVALID_ARGUMENT",
            "ReloadConfigRequest: field number 2, which is not supported",
        ),
        (
            pb.ReloadConfigRequest.FromString(b"\x0a\x02\x12\x00"),
            "INVALID_ARGUMENT",
            "ModelServerConfig: field number 2, which is not supported",
        ),
        (
            pb.ReloadConfigRequest(config={"model_config_list": {"config": [{"name": "babble"}, {"name": "babble"}]}}),
            "INVALID_ARGUMENT",
            "'babble' twice",
        ),
    ],
)
def test_what_a_client_may_not_ask_is_refused_by_name(store, request_, code, reason):
    ((found, details),) = called(store, request_)
    assert (found.name, reason in details) == (code, True), details


def test_a_reload_polls_at_once_and_the_status_names_what_is_in_service_and_what_was_refused(tmp_path):
    export_babble(tmp_path)
    store = ModelStore(tmp_path, load_exported)
    store.refresh()
    export_babble(tmp_path, seed=2)
    damaged = export_babble(tmp_path, seed=3).path
    (damaged / "units.json").write_bytes(b"?")
    asks = [pb.GetModelStatusRequest(model_spec=pb.ModelSpec(name="babble"))]
    reload = pb.ReloadConfigRequest(config={"model_config_list": {"config": [{"name": "babble"}]}})
    labelled, unknown, refused = (
        pb.ReloadConfigRequest(config={"model_config_list": {"config": [{"name": "babble", "version_labels": labels}]}})
        for labels in ({"stable": 1, "canary": 2}, {"stable": 7}, {"stable": 3})
    )
    missing = pb.ReloadConfigRequest(config={"model_config_list": {"config": [{"name": "other"}]}})
    before, done, after, absent = called(store, *asks, reload, *asks, missing)
    kinds = pb.ModelVersionStatus
    assert [(one.version, one.state) for one in before.model_version_status] == [(1, kinds.AVAILABLE)]
    assert (done.status.error_code, absent.status.error_code) == (0, 5)
    assert [(one.version, one.state) for one in after.model_version_status] == [
        (3, kinds.END),
        (2, kinds.AVAILABLE),
        (1, kinds.END),
    ]
    assert "units.json: SHA-256" in after.model_version_status[0].status.error_message
    stable, canary = (
        pb.GetModelStatusRequest(model_spec=pb.ModelSpec(name="babble", version_label=label))
        for label in ("stable", "canary")
    )
    metadata = [
        pb.GetModelMetadataRequest(model_spec=spec, metadata_field=["signature_def"])
        for spec in (LABEL, pb.ModelSpec(name="babble"), pb.ModelSpec(name="babble", version=Int64Value(value=2)))
    ]
    found = called(store, labelled, unknown, refused, stable, canary, *metadata)
    assert [one.status.error_code for one in found[:3]] == [0, 9, 9]
    assert "version 7 is not available: not in the folder" in found[1].status.error_message
    assert "version 3 is not available" in found[2].status.error_message
    assert "units.json: SHA-256" in found[2].status.error_message
    assert [[one.version for one in status.model_version_status] for status in found[3:5]] == [[1], [2]]
    assert [one.model_spec.version.value for one in found[5:]] == [1, 1, 2]


def test_the_metadata_have_the_signature(store):
    (response,) = called(store, pb.GetModelMetadataRequest(metadata_field=["signature_def"]))
    signatures = pb.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    signature = signatures.signature_def["serving_default"]
    assert {name: info.dtype for name, info in signature.inputs.items()} == {"audio": pb.DT_STRING}
    assert set(signature.outputs) == {"text", "confidence"}


def test_words_which_are_not_sent_are_not_computed(store, words_of_recordings):
    (answer,) = called(store, predict(files(WAV)))
    assert answer.outputs["text"].string_val[0]
    assert words_of_recordings == [[]]


def test_a_request_takes_slots_for_its_recordings_but_half_are_left_to_others(store, monkeypatch):
    whole, at_once, most = MonoStream.whole, [0], [0, 0]

    async def run():
        async with recognizer(store, max_streams=5) as (server, channel):

            async def watched(self, audio):
                at_once[0] += 1
                most[:] = max(most[0], at_once[0]), max(most[1], server.engine.admission.active)
                await asyncio.sleep(0.01)
                try:
                    return await whole(self, audio)
                finally:
                    at_once[0] -= 1

            monkeypatch.setattr(MonoStream, "whole", watched)
            predictions = tensorflow_serving_pb2_grpc.PredictionServiceStub(channel)
            return await predictions.Predict(predict(files(*[WAV] * 8)))

    assert len(asyncio.run(run()).outputs["text"].string_val) == 8
    assert most == [3, 3]  # of four free slots beside its own it takes two


def test_a_reload_names_a_model_that_was_refused(tmp_path):
    export_babble(tmp_path)
    shutil.copytree(tmp_path / "babble", tmp_path / "damaged")
    (tmp_path / "damaged/1/units.json").write_bytes(b"?")
    store = ModelStore(tmp_path, load_exported)
    store.refresh()
    (reloaded,) = called(store, pb.ReloadConfigRequest(config={"model_config_list": {"config": [{"name": "damaged"}]}}))
    assert reloaded.status.error_code == 5
