"""A run in object storage instead of on a volume."""

import json

import pytest
from rigs.helm import component, container, digits_values, edges, pods
from rigs.value_sets import SERVED, SETS, STORE

from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order

CHAIN = stage_order(Recipe.model_validate(digits_values()["recipe"]))
HOLDERS = {component(stage) for stage in CHAIN} | {"coordinator", "trainer", "recognizer", "test"}


def stored_values(store=(), **changes):
    return digits_values(storage={"store": STORE | dict(store)}, **changes)


@pytest.fixture(scope="module")
def stored(helm):
    return helm.render(stored_values())


def holders(manifests):
    """Components whose pods are told of a store."""
    return {n for n in pods(manifests) if "SONORANT_STORE" in {e["name"] for e in container(manifests, n)["env"]}}


def prepare_of(manifests):
    return next(name for name in pods(manifests) if name.startswith("prepare-"))


def test_those_that_have_a_run_know_the_store_and_have_its_keys_and_no_other(stored):
    assert holders(stored) == HOLDERS | {prepare_of(stored)}
    for name in pods(stored):
        own = container(stored, name)
        told = {entry["name"]: entry.get("value") for entry in own["env"]}
        if name in holders(stored):
            assert told["SONORANT_STORE"] == "s3://bucket/runs/digits"
            assert told["AWS_ENDPOINT_URL"] == "http://10.1.2.3:7070"
            assert told["AWS_DEFAULT_REGION"] == "eu-west-3"
            assert own["envFrom"] == [{"secretRef": {"name": "bucket-keys"}}]
        else:
            assert "envFrom" not in own


def test_each_has_a_folder_of_its_own_and_no_claim_is_made(stored):
    for name in holders(stored):
        (runs,) = (v for v in pods(stored)[name]["spec"]["volumes"] if v["name"] == "runs")
        assert runs == {"name": "runs", "emptyDir": {"sizeLimit": "50Gi"}}
        (mount,) = (m for m in container(stored, name)["volumeMounts"] if m["name"] == "runs")
        assert mount == {"name": "runs", "mountPath": "/runs"}
    assert {name for kind, name in stored if kind == "PersistentVolumeClaim"} == {"words-redis"}


def test_policies_let_those_and_no_other_reach_it(stored, manifests):
    (into, out_of), (into_others, out_of_others) = edges(stored), edges(manifests)
    assert out_of == out_of_others | {(name, "*", port) for name in holders(stored) for port in (7070, 53)}
    assert into == into_others


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [("", 443), ("https://s3.example.com", 443), ("http://minio/", 80), ("https://minio:9000", 9000)],
)
def test_policies_open_the_port_of_the_endpoint(helm, endpoint, port):
    manifests = helm.render(stored_values({"endpoint": endpoint}))
    rules = manifests["NetworkPolicy", "words-recognizer"]["spec"]["egress"]
    assert {"ports": [{"port": port, "protocol": "TCP"}]} in rules
    told = {entry["name"]: entry.get("value") for entry in container(manifests, "recognizer")["env"]}
    assert told.get("AWS_ENDPOINT_URL", "") == endpoint.rstrip("/")


def test_without_one_nobody_is_told_of_any(manifests):
    assert holders(manifests) == set()
    assert "envFrom" not in json.dumps(list(manifests.values()))
    assert ("PersistentVolumeClaim", "words-runs") in manifests


def test_another_store_prepares_again(helm, stored):
    assert prepare_of(helm.render(stored_values({"url": "s3://other"}))) != prepare_of(stored)


@pytest.mark.parametrize(
    "changes",
    [
        {"storage": {"runs": {"claim": "mine"}}},
        {"data": {"claim": "others"}},
        {"image": {"tag": "2"}},
        {"priorities": {"create": False}},
        {"prepare": {"nodeSelector": {"disk": "fast"}}},
        *SETS.values(),
    ],
    ids=str,
)
def test_what_would_be_another_pod_of_the_job_is_another_job_since_nobody_may_change_one(helm, manifests, changes):
    def jobs(manifests):
        return {name: document["spec"] for (kind, name), document in manifests.items() if kind == "Job"}

    before, after = jobs(manifests), jobs(helm.render(digits_values(**changes), *SERVED))
    assert all(before[name] == after[name] for name in before.keys() & after.keys())


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_ranks_of_an_mpijob_get_it_by_the_way_that_their_environment_comes(helm, version):
    trainer = {"launcher": "mpijob", "mpiVersion": version}
    manifests = helm.render(stored_values(trainer=trainer), "--api-versions", f"kubeflow.org/{version}/MPIJob")
    (job,) = (document for (kind, _), document in manifests.items() if kind == "MPIJob")
    launcher, worker = (
        job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0] for role in ("Launcher", "Worker")
    )
    assert worker["envFrom"] == [{"secretRef": {"name": "bucket-keys"}}]
    handed_on = {launcher["args"][i + 1] for i, word in enumerate(launcher["args"]) if word == "-x"}
    wanted = {"SONORANT_STORE", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    if version == "v2beta1":
        assert handed_on >= wanted
        assert launcher["envFrom"] == worker["envFrom"]
    else:
        assert not handed_on & wanted
        assert "envFrom" not in launcher


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ({"store": STORE | {"secret": ""}}, "storage.store.secret: not given"),
        ({"store": STORE | {"url": ""}}, "storage.store.url: not given"),
        ({"store": STORE, "runs": {"claim": "runs"}}, "give one of them up"),
        ({"store": STORE | {"url": "s3://key:word@bucket"}}, "url"),
        ({"store": STORE | {"url": "/a/folder"}}, "url"),
        ({"store": STORE | {"endpoint": "minio:9000"}}, "endpoint"),
        ({"store": STORE | {"sizeLimit": "much"}}, "sizeLimit"),
        ({"store": STORE | {"bucket": "b"}}, "bucket"),
    ],
)
def test_values_that_contradict_are_refused_in_words(helm, storage, said):
    assert said in helm.refusal(digits_values(storage=storage))
