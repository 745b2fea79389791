import io

import pytest
from google.protobuf.duration_pb2 import Duration
from rich.console import Console

from sonorant.cli.status_view import render_line, render_status
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.example_pb2 import Lineage


def status():
    replica = {
        "utilisation": 0.97,
        "examples_per_second": 31.26,
        "queued": 14,
        "link_faults": 273,
        "heartbeat_age": Duration(nanos=3 * 10**8),
    }
    return pb.GetStatusResponse(
        generation=1,
        replicas=[pb.ReplicaStatus(stage="room", replica="room-0", **replica)],
        epochs=[
            pb.EpochProgress(epoch=0, total=100, committed=99, rejected=1),
            pb.EpochProgress(epoch=1, total=100, committed=40, outstanding=30, reissued=7),
        ],
        rejections=[
            pb.Rejection(lineage=Lineage(epoch=0, shard=1, index=2), stage="shard_reader", reason="CRC differs"),
            pb.Rejection(utterance="u7", stage="vtlp", reason="NaN at sample 3"),
        ],
        figures={"step": 12, "loss": 1.5, "wer": 0.125, "t_session": 0.4, "audio_hours_per_second": 0.05},
        bottleneck="room",
    )


def text(renderable, width=200):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_everything_that_one_wants_to_know_is_shown():
    shown = text(render_status(status(), "digits"))
    for wanted in (
        "step 12, loss 1.500, dev WER 12.50%, 0.050 audio-hours/s, t_session 0.400, held back by room",
        "40/100 settled, 30 on their way, 7 leased again",
        "97%",
        "31.3",
        "273",
        "rejected by vtlp: u7: NaN at sample 3",
        "rejected by shard_reader: epoch 0, shard 1, record 2: CRC differs",
    ):
        assert wanted in shown
    assert "epoch 0 " not in shown  # it is over


def test_a_narrow_terminal_cuts_names_of_replicas_and_not_those_of_stages():
    narrow = status()
    narrow.replicas[0].stage = "example_server"
    narrow.replicas[0].replica = "example_server-words-7679f4954b-mz7dq-e354d6cd"
    shown = text(render_status(narrow, "words"), width=80)
    assert "example_server " in shown
    assert "utilisation" in shown


def test_hidden_rejections_are_counted():
    assert "1 more rejected" in text(render_status(status(), "digits", rejections=1))


def test_one_line_says_how_far_and_what_holds_it_back():
    assert render_line(status()).startswith("epoch 1: 40/100 | step 12")
    assert render_line(pb.GetStatusResponse()) == "starting | the trainer has not begun"


def test_of_a_training_that_is_complete_it_says_so_and_of_none_that_it_has_not_begun():
    """A coordinator that was started again after the end knows no figures; the ranks are gone."""
    complete = pb.GetStatusResponse(finished=True)
    assert render_line(complete) == "training is complete"
    assert "training is complete" in text(render_status(complete, "digits"))
    assert "the trainer is the limit" not in render_line(pb.GetStatusResponse(finished=True, figures={"step": 3}))


def test_a_stage_whose_replicas_make_different_bits_is_named():
    shown = status()
    assert "bits depend" not in text(render_status(shown, "digits"))
    for stage, name, arithmetic in (("room", "r1", "new:1"), ("room", "r2", "new:1"), ("room", "r3", "old:2")):
        shown.replicas.add(stage=stage, replica=name, arithmetic=arithmetic)
    shown.replicas.add(stage="vtlp", replica="v", arithmetic="old:3")
    (line,) = [line for line in text(render_status(shown, "digits")).splitlines() if "bits depend" in line]
    assert "bits depend on the replica of room: 2 x new:1, 1 x old:2" in line


def crowd(count):
    """A stage of `count` replicas, of which two leave, beside one of a single one."""
    shown = status()
    for number in range(count):
        fields = {"examples_per_second": 2.5, "queued": 3, "heartbeat_age": Duration(seconds=number)}
        shown.replicas.add(
            stage="vtlp", replica=f"vtlp-{number}", utilisation=number % 2, draining=number < 2, **fields
        )
    return shown


@pytest.mark.parametrize(("count", "each_replica", "listed"), [(10, False, 10), (450, False, 0), (450, True, 450)])
def test_a_stage_of_several_replicas_is_summed_up_in_one_row(count, each_replica, listed):
    rows = [
        line.split() for line in text(render_status(crowd(count), "digits", each_replica=each_replica)).splitlines()
    ]
    summary = f"vtlp {count} replicas (2 draining) 50% {2.5 * count:.1f} {3 * count} 0 {count - 1:.1f}"
    assert summary.split() in rows
    assert sum(row[0].startswith("vtlp-") for row in rows if row) == listed
    assert ["room", "room-0", "97%", "31.3", "14", "273", "0.3"] in rows
