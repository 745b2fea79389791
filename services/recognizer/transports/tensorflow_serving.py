"""ModelService and PredictionService of TensorFlow Serving over the engine, so that its clients work here."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack

import grpc
from google.protobuf.unknown_fields import UnknownFieldSet
from google.protobuf.wrappers_pb2 import Int64Value

from services.recognizer.callers import CALLER
from services.recognizer.engine import Engine
from services.recognizer.stream import Stream
from services.recognizer.transports.grpc_methods import unary
from services.recognizer.transports.model_status import model_status
from services.recognizer.transports.tensors import floats, recordings, strings
from sonorant.decoding import Hypothesis
from sonorant.errors import BadAudio
from sonorant.serving.errors import BadRequest, Forbidden, UnknownModel
from sonorant.serving.labels import BadLabels
from sonorant.serving.model import ServedModel
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.request import AudioFormat, StreamRequest
from sonorant.serving.results import Result
from sonorant.v1 import tensorflow_serving_pb2 as pb

__all__ = ["SERVICES", "ModelServicer", "PredictionServicer"]

_MODEL, _PREDICTION = (pb.DESCRIPTOR.services_by_name[name] for name in ("ModelService", "PredictionService"))
SERVICES = (_MODEL.full_name, _PREDICTION.full_name)

_SIGNATURE = "serving_default"
_METADATA = "signature_def"
_INPUT, _TEXT, _CONFIDENCE = "audio", "text", "confidence"
_NOT_FOUND = 5  # of google.rpc.Code
_FAILED_PRECONDITION = 9
_NOTHING = Hypothesis((), "", (), 1.0)


class ModelServicer:
    """The versions of models, and polls for new ones."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the service's methods, for a server."""
        methods = {
            "GetModelStatus": unary(pb.GetModelStatusRequest, self._status, self._engine.refuse),
            "HandleReloadConfigRequest": unary(pb.ReloadConfigRequest, self._reload, self._engine.refuse),
        }
        return grpc.method_handlers_generic_handler(_MODEL.full_name, methods)

    async def _status(self, request: pb.GetModelStatusRequest) -> pb.GetModelStatusResponse:
        return model_status(self._engine, _choice(request.model_spec))

    async def _reload(self, request: pb.ReloadConfigRequest) -> pb.ReloadConfigResponse:
        """Poll now, with these labels; the status is an error if a model or a label of the request cannot be had."""
        caller = CALLER.get()
        if caller is not None and not caller.admin:
            raise Forbidden(f"API key {caller.name!r}: no operator's; `admin` in its line of the file makes it one")
        configs = request.config.model_config_list.config
        _check_reload(request)
        response = pb.ReloadConfigResponse(status=pb.StatusProto())
        status = response.status
        try:
            await self._engine.refresh({config.name: dict(config.version_labels) for config in configs})
        except UnknownModel as error:
            status.error_code, status.error_message = _NOT_FOUND, str(error)
        except BadLabels as error:
            status.error_code, status.error_message = _FAILED_PRECONDITION, str(error)
        return response


def _check_reload(request: pb.ReloadConfigRequest) -> None:
    """Raise BadRequest for what would have no effect."""
    configs = request.config.model_config_list.config
    for message in (request, request.config, request.config.model_config_list):
        for unknown in UnknownFieldSet(message):
            raise BadRequest(f"{message.DESCRIPTOR.name}: field number {unknown.field_number}, which is not supported")
    for config in configs:
        _check_config(config)
    if twice := [name for name, count in Counter(config.name for config in configs).items() if count > 1]:
        raise BadRequest(f"model_config_list: {twice[0]!r} twice: expected a config for each model")


def _check_config(config: pb.ModelConfig) -> None:
    if config.base_path:
        raise BadRequest(f"model_config_list: {config.name!r} has base_path; this server polls its own folder")
    for unknown in UnknownFieldSet(config):
        raise BadRequest(
            f"model_config_list: {config.name!r} has field number {unknown.field_number}, which is not supported; "
            "versions with labels are in service, and a default one"
        )


class PredictionServicer:
    """Recordings to texts, by the signature `serving_default`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the service's methods, for a server."""
        methods = {
            "Predict": unary(pb.PredictRequest, self._predict, self._engine.refuse),
            "GetModelMetadata": unary(pb.GetModelMetadataRequest, self._metadata, self._engine.refuse),
        }
        return grpc.method_handlers_generic_handler(_PREDICTION.full_name, methods)

    async def _predict(self, request: pb.PredictRequest) -> pb.PredictResponse:
        if list(request.inputs) != [_INPUT]:
            raise BadRequest(f"inputs: {sorted(request.inputs)}, expected [{_INPUT!r}]")
        if unknown := set(request.output_filter) - {_TEXT, _CONFIDENCE}:
            raise BadRequest(f"output_filter: {sorted(unknown)}, expected {_TEXT!r} or {_CONFIDENCE!r}")
        with self._engine.admission.slot(), ExitStack() as streams:
            first = streams.enter_context(self._open(request.model_spec))
            files, shape = recordings(_INPUT, request.inputs[_INPUT], first.rate_hz)
            others = [streams.enter_context(self._open(request.model_spec, first)) for _ in files[1:]]
            more = min(len(others), self._engine.admission.fitting // 2)  # the other half is for other clients
            for _ in range(more):
                streams.enter_context(self._engine.admission.slot())
            found = await _recognized([first, *others], files, at_once=1 + more)
        outputs = {
            _TEXT: strings([hypothesis.text for hypothesis in found], shape),
            _CONFIDENCE: floats([hypothesis.confidence for hypothesis in found], shape),
        }
        chosen = request.output_filter or outputs
        return pb.PredictResponse(outputs={name: outputs[name] for name in chosen}, model_spec=_spec_of(first.served))

    def _open(self, spec: pb.ModelSpec, beside: Stream | None = None) -> AbstractContextManager[Stream]:
        _check_signature(spec)
        request = StreamRequest(_choice(spec), AudioFormat("AUTO"), words=False, utterances=False)
        return self._engine.stream(request, beside)

    async def _metadata(self, request: pb.GetModelMetadataRequest) -> pb.GetModelMetadataResponse:
        if set(request.metadata_field) != {_METADATA}:
            raise BadRequest(f"metadata_field: {list(request.metadata_field)}, expected [{_METADATA!r}]")
        _check_signature(request.model_spec)
        response = pb.GetModelMetadataResponse(model_spec=_spec_of(self._engine.model(_choice(request.model_spec))))
        response.metadata[_METADATA].Pack(pb.SignatureDefMap(signature_def={_SIGNATURE: _signature()}))
        return response


async def _recognized(streams: Sequence[Stream], files: Sequence[bytes], at_once: int) -> list[Hypothesis]:
    """Return the best hypothesis of each recording; raises the first error when all have ended."""
    turns = asyncio.Semaphore(at_once)

    async def recognize(stream: Stream, file: bytes) -> list[Result]:
        async with turns:
            return await stream.whole(file)

    ended = await asyncio.gather(*map(recognize, streams, files), return_exceptions=True)
    found = []
    for number, result in enumerate(ended):
        if isinstance(result, BadAudio) and len(files) > 1:
            raise BadAudio(f"{_INPUT}[{number}]", result.reason)
        if isinstance(result, BaseException):
            raise result
        found.append(result[0].alternatives[0] if result else _NOTHING)
    return found


def _check_signature(spec: pb.ModelSpec) -> None:
    if spec.signature_name not in ("", _SIGNATURE):
        raise BadRequest(f"signature_name={spec.signature_name!r}: expected {_SIGNATURE!r}, or nothing")


def _choice(spec: pb.ModelSpec) -> ModelChoice:
    return ModelChoice(spec.name, spec.version.value if spec.HasField("version") else None, spec.version_label)


def _spec_of(model: ServedModel) -> pb.ModelSpec:
    return pb.ModelSpec(name=model.name, version=Int64Value(value=model.version), signature_name=_SIGNATURE)


def _signature() -> pb.SignatureDef:
    batch = pb.TensorShapeProto(dim=[pb.TensorShapeProto.Dim(size=-1)])

    def info(name: str, dtype: pb.DataType.ValueType) -> pb.TensorInfo:
        return pb.TensorInfo(name=f"{name}:0", dtype=dtype, tensor_shape=batch)

    return pb.SignatureDef(
        inputs={_INPUT: info(_INPUT, pb.DT_STRING)},
        outputs={_TEXT: info(_TEXT, pb.DT_STRING), _CONFIDENCE: info(_CONFIDENCE, pb.DT_FLOAT)},
        method_name="tensorflow/serving/predict",
    )
