"""The status of a model's versions, as TensorFlow Serving's gRPC and REST APIs have it."""

from typing import Any

import grpc

from services.recognizer.engine import Engine
from sonorant.serving.errors import UnknownModel
from sonorant.serving.model_choice import ModelChoice, is_version
from sonorant.serving.model_store import VersionState
from sonorant.v1 import tensorflow_serving_pb2 as pb

__all__ = ["model_status", "parse_status_path", "rest_status"]

_REFUSED = grpc.StatusCode.FAILED_PRECONDITION


def model_status(engine: Engine, choice: ModelChoice) -> pb.GetModelStatusResponse:
    """Return the status of each version that is chosen, of a name alone all; raises UnknownModel if there is none."""
    return pb.GetModelStatusResponse(model_version_status=map(_version_status, _chosen(engine, choice)))


def rest_status(engine: Engine, choice: ModelChoice) -> dict[str, Any]:
    """Return `model_status` as JSON, in which an int64 is a string; raises UnknownModel likewise."""
    return {"model_version_status": [_rest_version_status(state) for state in _chosen(engine, choice)]}


def parse_status_path(path: str) -> ModelChoice | None:
    """Return what `MODEL/versions/VERSION` or `MODEL/labels/LABEL` means, None for another; raises UnknownModel."""
    match path.rsplit("/", 2):
        case [name, "versions", version]:
            if not is_version(version):
                raise UnknownModel(f"model {name!r}: no version {version[:80]!r}")
            return ModelChoice(name, int(version))
        case [name, "labels", label] if label:
            return ModelChoice(name, label=label)
    return None


def _chosen(engine: Engine, choice: ModelChoice) -> list[VersionState]:
    found = [
        state
        for state in engine.versions(choice.name)
        if choice.version in (None, state.version) and (not choice.label or choice.label in state.labels)
    ]
    if not found:
        raise UnknownModel(f"model {choice.name!r}: no version {choice.label or choice.version!r}")
    return found


def _version_status(state: VersionState) -> pb.ModelVersionStatus:
    status = pb.StatusProto()
    if state.refusal:
        status = pb.StatusProto(error_code=_REFUSED.value[0], error_message=state.refusal)
    kinds = pb.ModelVersionStatus
    return kinds(version=state.version, state=kinds.State.Value(state.state), status=status)


def _rest_version_status(state: VersionState) -> dict[str, Any]:
    code = _REFUSED if state.refusal else grpc.StatusCode.OK
    status = {"error_code": code.name, "error_message": state.refusal}
    return {"version": str(state.version), "state": state.state, "status": status}
