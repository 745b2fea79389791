import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from rigs.coordinator import ScriptedCoordinator
from rigs.waiting import eventually

from services.trainer.coordination import StageWatch, end_training
from sonorant.errors import Unavailable
from sonorant.training.metrics import MetricsLog
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1 import coordinator_pb2_grpc


@pytest.fixture
def metrics(tmp_path):
    with contextlib.closing(MetricsLog(tmp_path / "metrics.jsonl", 0.0)) as metrics:
        yield metrics


def test_one_question_is_enough_for_a_coordinator_that_is_away_and_comes(metrics, tmp_path):
    written = tmp_path / "metrics.jsonl"
    placeholder = ScriptedCoordinator()
    placeholder.close()
    with contextlib.closing(StageWatch(placeholder.address, metrics)) as watch:
        watch.write_if_due(time_s=1.0, now_s=float("inf"))
        with contextlib.closing(ScriptedCoordinator(placeholder.port)) as coordinator:
            coordinator.status = pb.GetStatusResponse(
                replicas=[
                    pb.ReplicaStatus(stage="vtlp", utilisation=0.5, examples_per_second=3.0),
                    pb.ReplicaStatus(stage="vtlp", utilisation=1.0, examples_per_second=4.0),
                ],
                bottleneck="vtlp",
            )

            def answered():
                watch.write_if_due(time_s=2.0, now_s=0.0)
                return written.stat().st_size

            eventually(answered)
    figures = {"utilisation": {"vtlp": 0.75}, "rate": {"vtlp": 7.0}, "bottleneck": "vtlp"}
    assert json.loads(written.read_text()) == {"kind": "stages", "time_s": 2.0} | figures


class Restarting(coordinator_pb2_grpc.CoordinatorServicer):
    """A coordinator that is lost twice, as a client sees it; once it has answered, the generation is another."""

    def __init__(self):
        self.answers = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE, None]
        self.asked = []

    def EndTraining(self, request, context):
        self.asked.append(request.generation)
        code = self.answers.pop(0) if self.answers else grpc.StatusCode.FAILED_PRECONDITION
        return pb.EndTrainingResponse() if code is None else context.abort(code, "as told")


@pytest.fixture
def restarting():
    server, servicer = grpc.server(ThreadPoolExecutor(1)), Restarting()
    coordinator_pb2_grpc.add_CoordinatorServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, f"127.0.0.1:{port}"
    server.stop(0)


def test_the_end_is_told_again_to_a_coordinator_that_was_lost_meanwhile(restarting):
    servicer, address = restarting
    end_training(address, 4)
    assert servicer.asked == [4, 4, 4]


def test_a_coordinator_that_refuses_is_asked_once(restarting):
    servicer, address = restarting
    servicer.answers.clear()
    with pytest.raises(Unavailable, match="of generation 4"):
        end_training(address, 4)
    assert servicer.asked == [4]
