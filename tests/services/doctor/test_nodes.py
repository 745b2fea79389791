"""What nodes have, as the API server describes them and the pods that run there."""

import pytest

from services.doctor.nodes import Taint, nodes_of


def node(**spec):
    allocatable = {"cpu": "3920m", "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "2"}
    return {"metadata": {"name": "a"}, "spec": spec, "status": {"allocatable": allocatable}}


def asks(cpu, **more):
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def pod(*containers, phase="Running", node_name="a", labels=None, namespace="speech", **spec):
    metadata = {"labels": labels, "namespace": namespace}
    return {
        "metadata": metadata,
        "spec": {"containers": containers, "nodeName": node_name, **spec},
        "status": {"phase": phase},
    }


def used(*pods, own=None):
    [found] = nodes_of([node()], pods, own or {}, "speech")
    return found.used.get("cpu", 0.0)


def test_free_is_allocatable_less_what_pods_ask_for():
    [found] = nodes_of([node()], [pod(asks("1"), asks("250m")), pod({})], {}, "speech")
    assert found.free == pytest.approx({"cpu": 2.67, "memory": 8 * 2**30, "pods": 108, "nvidia.com/gpu": 2})


def test_pods_that_have_ended_or_have_no_node_use_nothing():
    assert used(pod(asks("1"), phase="Succeeded"), pod(asks("1"), phase="Failed"), pod(asks("1"), node_name=None)) == 0
    assert used(pod(asks("1"), node_name="b")) == 0


def test_init_containers_count_by_the_largest_and_sidecars_with_all_others():
    assert used(pod(asks("1"), initContainers=[asks("3"), asks("2")])) == 3
    assert used(pod(asks("1"), initContainers=[asks("0.5", restartPolicy="Always")])) == 1.5
    assert used(pod(asks("1"), initContainers=[asks("0.5", restartPolicy="Always"), asks("2")])) == 2.5
    assert used(pod(asks("1"), overhead={"cpu": "100m"})) == pytest.approx(1.1)
    assert used(pod(asks("1"), resources={"requests": {"cpu": "2"}})) == 2


def test_the_pods_of_the_release_itself_take_no_room():
    own = {"app.kubernetes.io/instance": "words"}
    mine, other = pod(asks("1"), labels=own), pod(asks("1"), labels=own, namespace="elsewhere")
    assert used(mine, other, own=own) == 1
    assert used(mine, other) == 2


def test_a_cordoned_node_and_taints_that_only_advise():
    taints = [{"key": "old", "effect": "PreferNoSchedule"}, {"key": "gpu", "value": "yes", "effect": "NoExecute"}]
    [found] = nodes_of([node(unschedulable=True, taints=taints)], [], {}, "speech")
    cordoned = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    assert set(found.taints) == {Taint("gpu", "yes", "NoExecute"), cordoned}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "value": "yes", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({}, False),
    ],
)
def test_tolerations_are_those_of_kubernetes(toleration, tolerated):
    assert Taint("gpu", "yes", "NoSchedule").tolerated([toleration]) is tolerated
