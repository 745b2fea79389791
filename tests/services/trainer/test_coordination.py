import contextlib
import json

import pytest
from coordinator_rig import ScriptedCoordinator
from links_rig import eventually

from services.trainer.coordination import StageWatch
from sonorant.training.metrics import MetricsLog
from sonorant.v1 import coordinator_pb2 as pb


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
