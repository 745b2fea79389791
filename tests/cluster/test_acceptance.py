"""What the chart renders, sent to an API server that checks it as if it were installed, and keeps nothing."""

import pytest
from rigs.cluster import Namespace, kubectl
from rigs.value_sets import SETS, render_set

# Of operators, which a cluster need not have; each with a set of values that renders it.
OPTIONAL = {
    ("monitoring.coreos.com/v1", "PodMonitor"): "watched",
    ("gateway.networking.k8s.io/v1", "GRPCRoute"): "a gateway",
    ("gateway.networking.k8s.io/v1", "BackendTLSPolicy"): "a gateway",
    ("kubeflow.org/v1", "MPIJob"): "mpijob v1",
    ("kubeflow.org/v2beta1", "MPIJob"): "mpijob v2beta1",
}


@pytest.fixture(scope="module")
def space():
    space = Namespace("sonorant-acceptance-test")
    yield space
    space.close()


def api_of(document):
    return document["apiVersion"], document["kind"]


def offer(space, documents):
    """Have documents checked; what the server warns of, such as pods that are not restricted, fails too."""
    checked = ("apply", "--warnings-as-errors", "--filename=-")
    # A pod by itself, that of the test, is taken only where its account and its class are, and a dry run leaves none.
    if asked_for := [d for d in documents if d["kind"] in ("ServiceAccount", "PriorityClass")]:
        space.kubectl(*checked, documents=asked_for)
    space.kubectl(*checked, "--dry-run=server", documents=documents)


@pytest.mark.parametrize("name", SETS)
def test_what_values_render_is_accepted(space, helm, name):
    offer(space, [d for d in render_set(helm, name, space.name).values() if api_of(d) not in OPTIONAL])


@pytest.mark.parametrize("api", OPTIONAL, ids="/".join)
def test_what_is_an_operator_s_is_accepted_where_there_is_one(space, helm, api):
    version, kind = api
    if version not in kubectl("api-versions").split():
        pytest.skip(f"{kind} was not held against an API server: the cluster does not serve {version}")
    documents = [d for d in render_set(helm, OPTIONAL[api], space.name).values() if api_of(d) == api]
    assert documents
    offer(space, documents)


def test_what_kubernetes_does_not_know_is_not_accepted(space, helm):
    deployment = render_set(helm, "defaults", space.name)["Deployment", "words-room"]
    deployment["spec"]["replica"] = 1
    with pytest.raises(AssertionError, match=r'unknown field "(spec\.)?replica"'):
        offer(space, [deployment])
