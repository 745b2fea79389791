from google.protobuf.duration_pb2 import Duration

from services.autoscaler.measuring import snapshot_of
from sonorant.capacity.measurements import Counters
from sonorant.v1 import coordinator_pb2 as pb

STATUS = pb.GetStatusResponse(
    replicas=[
        pb.ReplicaStatus(stage="room", replica="r", busy=Duration(seconds=2, nanos=500_000_000), examples=10),
        pb.ReplicaStatus(stage="vtlp", replica="v", busy=Duration(seconds=1), examples=11, cpu=Duration(nanos=10**8)),
        pb.ReplicaStatus(stage="trainer", replica="t0", busy=Duration(seconds=9), examples=8, wanted=3),
        pb.ReplicaStatus(stage="trainer", replica="t1", busy=Duration(seconds=8), examples=8, wanted=4),
    ],
    rejected={"room": 2, "vtlp": 5},
)


def test_counters_by_stage_and_rank():
    snapshot = snapshot_of(STATUS, ("vtlp", "room", "featurizer"))
    assert snapshot.stages == {
        "vtlp": {"v": Counters(1.0, 11, 0.1)},
        "room": {"r": Counters(2.5, 10)},
        "featurizer": {},
    }
    assert snapshot.ranks == {"t0": Counters(9.0, 8), "t1": Counters(8.0, 8)}
    assert snapshot.rejected == {"vtlp": 5, "room": 2, "featurizer": 0}
    assert snapshot.wanted == 7


def test_one_process_for_the_chain_rejects_for_all_of_its_stages():
    assert snapshot_of(STATUS, ("example_server",)).rejected == {"example_server": 7}
