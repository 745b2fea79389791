import json

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

from sonorant.training.alignment_view import Alignment
from sonorant.training.checkpoints import Progress
from sonorant.training.metrics import MetricsLog
from sonorant.training.reporting import Reporter


def test_an_alignment_that_is_not_finite_is_left_out(tmp_path):
    reporter = Reporter(MetricsLog(tmp_path / "metrics.jsonl", 0), tmp_path / "tensorboard")
    for weight in (0.5, np.nan):
        reporter.dev(Progress(dev=1.0), "wer", 0.5, Alignment(np.full((1, 2), weight, np.float32), ("one",)))
    reporter.close()
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert kinds == ["dev", "alignment", "dev"]


def test_tensorboard_has_each_figure_of_the_log_at_its_step(tmp_path):
    reporter = Reporter(MetricsLog(tmp_path / "metrics.jsonl", 0), tmp_path / "tensorboard")
    for step, wer in ((5, 0.75), (9, 0.25)):
        reporter.dev(Progress(step=step, dev=wer), "wer", 0.5 + step)
    reporter.close()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert events.Tags()["tensors"] == ["dev/wer", "dev/seconds"]
    for name in ("wer", "seconds"):
        found = [(event.step, float(make_ndarray(event.tensor_proto))) for event in events.Tensors(f"dev/{name}")]
        assert found == [(line["step"], pytest.approx(line[name])) for line in lines]
    assert events.SummaryMetadata("dev/wer").plugin_data.plugin_name == "scalars"
