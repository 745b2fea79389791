"""What a cluster lacks is said, with what to do about it; what it has is not complained of."""

from copy import deepcopy
from dataclasses import replace
from datetime import date

import pytest
from helm_rig import CHART, digits_values
from ruamel.yaml import YAML

from services.doctor.checks import OLDEST_VERSION, VERBS, examine
from services.doctor.cluster import Cluster, Node

ROOMY = Cluster(
    version="1.34.4",
    nodes=(Node("a", 64.0, 2e11, {"nvidia.com/gpu": 2}), Node("b", 64.0, 2e11, {})),
    kinds={("PodMetrics", "metrics.k8s.io"): frozenset({"v1beta1"})},
    storage_classes={"fast": False, "slow": True},
    priority_classes=frozenset({"urgent"}),
    claims=frozenset({"corpora"}),
    secrets=frozenset({"ledger"}),
    forbidden=frozenset(),
    labels={"pod-security.kubernetes.io/enforce": "restricted"},
)


RECIPE = digits_values()["recipe"]
MPI_V1 = {("MPIJob", "kubeflow.org"): frozenset({"v1"})}
MPI_V2 = {"trainer__launcher": "mpijob", "trainer__mpiVersion": "v2beta1"}
VTLP = {"stage": "vtlp", "alpha": {"low": 0.9, "high": 1.1}}


def values(**changes):
    """The chart's values for the digits recipe, with changes by dotted name: __ stands for the dot."""
    loaded = YAML(typ="safe").load(CHART / "values.yaml") | digits_values(data={"claim": "corpora"})
    for path, value in changes.items():
        *above, last = path.split("__")
        place = loaded
        for key in above:
            place = place[key]
        place[last] = deepcopy(value)
    return loaded


def failures(cluster, **changes):
    return {f.about: f.says for f in examine(cluster, values(**changes), "speech") if f.level == "failure"}


def test_a_cluster_that_has_everything_is_well():
    assert {finding.level for finding in examine(ROOMY, values(), "speech")} == {"well"}


def test_a_run_in_object_storage_needs_no_volume():
    kept = {"storage__store__url": "s3://bucket", "redis__secret": "ledger"}
    assert not failures(replace(ROOMY, storage_classes={}), **kept)


def test_the_oldest_version_is_the_chart_s():
    oldest = YAML(typ="safe").load(CHART / "Chart.yaml")["kubeVersion"]
    assert oldest == f">={'.'.join(map(str, OLDEST_VERSION))}.0-0"


@pytest.mark.parametrize(
    ("changes", "fewer"),
    [
        ({"stages__each": {"room": {"resources": {"limits": {"cpu": "500m"}}}}}, 0),
        ({"stages__each": {"room": {"resources": {"requests": {"memory": "1Gi"}}}}}, 0),
        ({"stages__each": {"room": {"resources": {"requests": {"cpu": "250m"}}}}}, 0.75),
        ({"stages__each": {"room": {"resources": None}, "gain": None}}, 0),
        ({"trainer__resources__requests": None}, 2),
        ({"trainer__resources": None}, 2),
    ],
)
def test_what_one_stage_does_not_set_is_as_for_all(changes, fewer):
    def asked(**changes):
        [room] = [f for f in examine(ROOMY, values(**changes), "speech") if f.about == "room"]
        return float(room.says.split("ask for ")[1].split()[0])

    assert asked(**changes) == pytest.approx(asked() - fewer)


@pytest.mark.parametrize(
    ("lacks", "changes", "about", "says"),
    [
        ({"version": "1.26.9"}, {}, "version", "must be 1.27 or later"),
        ({"storage_classes": {"fast": False}}, {}, "storage.runs", "storageClass to one of fast"),
        ({"storage_classes": {}}, {}, "storage.redis", "bind a volume by hand"),
        ({}, {"storage__runs__storageClass": "fats"}, "storage.runs", "no storage class 'fats'; there are: fast, slow"),
        ({}, {"storage__runs__claim": "mine"}, "storage.runs", "no claim 'mine' in speech; there are: corpora"),
        ({}, {"data__claim": ""}, "data", "name the claim"),
        ({}, {"redis__secret": "legder"}, "redis.secret", "no secret 'legder' in speech"),
        ({}, {"keys__secrets__links": "lniks"}, "keys.secrets.links", "no secret 'lniks' in speech"),
        ({}, {"storage__store__secret": "bukcet"}, "storage.store.secret", "no secret 'bukcet' in speech"),
        ({}, {"image__pullSecrets": [{"name": "x"}]}, "image.pullSecrets[0]", "no secret 'x'"),
        ({}, {"trainer__gpus": 3}, "gpus", "asks for 3 nvidia.com/gpu, the nodes offer 2: ask for fewer ranks"),
        ({}, {"trainer__gpus": 1, "trainer__gpuResource": "amd.com/gpu"}, "gpus", "device plugin"),
        ({}, {"trainer__launcher": "mpijob"}, "trainer.launcher", "no MPIJob v1; it has none; install"),
        ({"kinds": MPI_V1}, MPI_V2, "trainer.launcher", "no MPIJob v2beta1; it has v1"),
        ({"kinds": {}}, {"autoscaling__mode": "hpa"}, "autoscaling", "needs metrics-server"),
        ({}, {"metrics__podMonitors": True}, "metrics", "no PodMonitor"),
        ({}, {"trainer__resources": {"requests": {"cpu": "65"}}}, "room", "the largest node has 64"),
        ({}, {"priorities": {"create": False, "serving": "first", "training": ""}}, "priorities", "there are: urgent"),
    ],
)  # fmt: skip
def test_what_is_lacking_fails_with_what_to_do(lacks, changes, about, says):
    found = failures(replace(ROOMY, **lacks), **changes)
    assert says in found[about]
    assert about not in failures(ROOMY)


_ONLY_IF = {
    "horizontalpodautoscalers": {"autoscaling__mode": "hpa"},
    "podmonitors": {"metrics__podMonitors": True},
    "mpijobs": {"trainer__launcher": "mpijob"},
}


@pytest.mark.parametrize("verb", VERBS)
def test_each_permission_is_asked_for(verb):
    found = failures(replace(ROOMY, forbidden=frozenset({verb})), **_ONLY_IF.get(verb.resource, {}))
    assert f"you may not create {verb.resource}" in found["permissions"]


def test_permissions_that_nothing_needs_are_not_missed():
    planner = {"roles", "rolebindings", "leases", "serviceaccounts"}
    unused = frozenset(v for v in VERBS if v.resource in {"priorityclasses", *planner, *_ONLY_IF})
    off = {"autoscaling__mode": "none", "priorities": {"create": False, "serving": "urgent", "training": ""}}
    assert not failures(replace(ROOMY, forbidden=unused), **off)


def test_a_recipe_that_asks_for_more_cores_than_there_are_is_a_warning():
    recipe = RECIPE | {"stages": [VTLP], "pipeline": {"replicas": {"vtlp": 200}}, "training": {"ranks": 3}}
    fixed = values(recipe=recipe, autoscaling__mode="none")
    [room] = [f for f in examine(ROOMY, fixed, "speech") if f.about == "room"]
    asked = 200 + 2 + 0.25 + 0.1 + 1 + 3 * 2  # vtlp, reader and featurizer, coordinator, Redis, recognizer, ranks
    assert room.level == "warning"
    assert f"all pods ask for {asked:g} cores, the nodes have 128" in room.says


def test_a_fused_chain_asks_for_its_one_stage():
    recipe = RECIPE | {"pipeline": {"layout": "fused", "replicas": {"example_server": 7}}}
    fixed = values(recipe=recipe, autoscaling__mode="none")
    [room] = [f for f in examine(ROOMY, fixed, "speech") if f.about == "room"]
    assert f"all pods ask for {7 + 0.25 + 0.1 + 1 + 2:g} cores" in room.says


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        (None, "found null, expected keys such as `version: 1`"),
        ([1], "found [1], expected keys"),
        (RECIPE | {"version": 2}, "version: 2 is newer than this sonorant reads"),
        (RECIPE | {"trainig": {"ranks": 2}}, "trainig: unknown key; did you mean training?"),
        (RECIPE | {"stages": [{"stage": "vtlp", "alpha": "1"}]}, "stages[0].alpha"),
        (RECIPE | {"seed": date(2026, 1, 1)}, "seed"),
        (RECIPE | {"pipeline": {"replicas": {"room_simulator": 2}}}, "pipeline.replicas names ['room_simulator']"),
    ],
)
def test_a_wrong_recipe_is_one_of_the_findings(recipe, says):
    assert says in failures(ROOMY, recipe=recipe, redis__secret="legder")["recipe"]
    assert {"recipe", "redis.secret"} == failures(ROOMY, recipe=recipe, redis__secret="legder").keys()


def test_an_mpijob_that_is_served_is_well_where_its_launcher_may_be():
    served, security = replace(ROOMY, kinds=MPI_V1), "pod-security.kubernetes.io/enforce"
    baseline = replace(served, labels={security: "baseline"})
    assert {f.level for f in examine(baseline, values(trainer__launcher="mpijob"), "speech")} == {"well"}
    assert f"{security}=baseline" in failures(served, trainer__launcher="mpijob")["namespace"]
    [advice] = [f for f in examine(baseline, values(), "speech") if f.about == "namespace"]
    assert (advice.level, f"{security}=restricted" in advice.says) == ("warning", True)


def test_the_ranks_of_the_values_count():
    [room] = [f for f in examine(ROOMY, values(trainer__ranks=70), "speech") if f.about == "room"]
    assert "all pods ask for 14" in room.says
    strict = RECIPE | {"pipeline": {"order": "strict"}, "training": {"batch_vectors": 1000}}
    assert "strict" in failures(ROOMY, recipe=strict, trainer__ranks=2)["recipe"]


def test_each_fault_of_a_recipe_is_a_finding():
    recipe = RECIPE | {"seed": -1, "trainig": {}}
    assert [f.about for f in examine(ROOMY, values(recipe=recipe), "speech") if f.level == "failure"] == ["recipe"] * 2


def test_stages_that_are_scaled_begin_with_their_fewest():
    recipe = RECIPE | {"stages": [VTLP], "pipeline": {"replicas": {"vtlp": 200}}}
    scaled = values(recipe=recipe, autoscaling__each={"vtlp": {"minReplicas": 3}})
    [room] = [f for f in examine(ROOMY, scaled, "speech") if f.about == "room"]
    assert room.level == "well"
    assert f"ask for {3 + 2 + 0.25 + 0.05 + 0.1 + 1 + 2:g} cores" in room.says


def test_what_may_not_be_seen_is_not_taken_for_missing():
    blind = replace(ROOMY, nodes=(), claims=None, secrets=None, labels=None)
    assert not failures(blind, redis__secret="ledger")
    warned = {f.about for f in examine(blind, values(redis__secret="ledger"), "speech") if f.level == "warning"}
    assert warned == {"namespace", "data", "redis.secret", "room"}
