"""What a cluster lacks is said, with what to do about it; what it has is not complained of."""

from copy import deepcopy
from dataclasses import replace
from datetime import date

import pytest
from rigs.helm import CHART, digits_values
from ruamel.yaml import YAML

from services.doctor.checks import OLDEST_VERSION, examine
from services.doctor.cluster import Cluster
from services.doctor.nodes import Node, Taint
from services.doctor.permissions import VERBS

MACHINE = {"cpu": 64.0, "memory": 2e11, "ephemeral-storage": 1e12, "pods": 110.0}
ROOMY = Cluster(
    version="1.34.4",
    nodes=(Node("a", MACHINE | {"nvidia.com/gpu": 2.0}), Node("b", MACHINE)),
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
_GATEWAY = {"recognizer__gateway": {"parents": [{"name": "public"}], "authority": "speech-ca"}}
_ROUTE = {"recognizer__gateway": {"parents": [{"name": "public"}], "authority": ""}}
ROUTES_OLD = {("GRPCRoute", "gateway.networking.k8s.io"): frozenset({"v1alpha2"})}
VTLP = {"stage": "vtlp", "alpha": {"low": 0.9, "high": 1.1}}


def values(**changes):
    """The chart's values for the digits recipe, with changes by dotted name: __ stands for the dot."""
    loaded = YAML(typ="safe").load(CHART / "values.yaml") | digits_values(data={"claim": "corpora"})
    for path, value in changes.items():
        *above, last = path.split("__")
        parent = loaded
        for key in above:
            parent = parent[key]
        parent[last] = deepcopy(value)
    return loaded


def failures(cluster, **changes):
    return {f.about: f.says for f in examine(cluster, values(**changes), "speech") if f.level == "failure"}


def test_a_cluster_that_has_everything_is_well():
    assert {finding.level for finding in examine(ROOMY, values(), "speech")} == {"well"}


def test_a_run_in_object_storage_needs_no_volume():
    kept = {"storage__store__url": "s3://bucket", "storage__store__secret": "ledger", "redis__secret": "ledger"}
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
        [capacity] = [f for f in examine(ROOMY, values(**changes), "speech") if f.about == "capacity"]
        return float(capacity.says.split("ask for ")[1].split()[0])

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
        ({}, {"redis__passwordSecret": "pwd"}, "redis.passwordSecret", "no secret 'pwd' in speech"),
        ({}, _GATEWAY, "recognizer.gateway", "no BackendTLSPolicy v1, none; install the Gateway API, 1.4 or later"),
        ({"kinds": ROUTES_OLD}, _ROUTE, "recognizer.gateway", "no GRPCRoute v1, only v1alpha2; install the Gateway"),
        ({}, {"keys__secrets__links": "lniks"}, "keys.secrets.links", "no secret 'lniks' in speech"),
        ({}, {"storage__store__secret": "bukcet"}, "storage.store.secret", "no secret 'bukcet' in speech"),
        ({}, {"image__pullSecrets": [{"name": "x"}]}, "image.pullSecrets[0]", "no secret 'x'"),
        ({}, {"trainer__gpus": 3}, "gpus", "asks for 3 nvidia.com/gpu, the nodes offer 2: ask for fewer ranks"),
        ({}, {"trainer__gpus": 1, "trainer__gpuResource": "amd.com/gpu"}, "gpus", "device plugin"),
        ({}, {"trainer__launcher": "mpijob"}, "trainer.launcher", "no MPIJob v1; it has none; install"),
        ({"kinds": MPI_V1}, MPI_V2, "trainer.launcher", "no MPIJob v2beta1; it has v1"),
        ({"kinds": {}}, {"autoscaling__mode": "hpa"}, "autoscaling", "needs metrics-server"),
        ({}, {"metrics__podMonitors": True}, "metrics", "no PodMonitor"),
        ({}, {"trainer__resources": {"requests": {"cpu": "65"}}}, "capacity", "the largest node has 64"),
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
    "ingresses": {"recognizer__ingress__host": "speech.example.org"},
    "grpcroutes": _GATEWAY,
    "backendtlspolicies": _GATEWAY,
}


@pytest.mark.parametrize("verb", VERBS)
def test_each_permission_is_asked_for(verb):
    found = failures(replace(ROOMY, forbidden=frozenset({verb})), **_ONLY_IF.get(verb.resource, {}))
    assert f"you may not create {verb.resource}" in found["permissions"]


def test_permissions_that_nothing_needs_are_not_missed():
    autoscaler = {"roles", "rolebindings", "leases"}
    rest = {"jobs", "networkpolicies", "persistentvolumeclaims", "priorityclasses", "serviceaccounts"}
    unused = frozenset(v for v in VERBS if v.resource in {*rest, *autoscaler, *_ONLY_IF})
    off = {"autoscaling__mode": "none", "autoscaling__rest": False, "serviceAccount__name": "default"}
    off |= {"priorities": {"create": False, "serving": "urgent", "training": ""}, "prepare__enabled": False}
    off |= {"storage__runs__claim": "corpora", "redis__secret": "ledger", "networkPolicies__enabled": False}
    assert not failures(replace(ROOMY, forbidden=unused), **off)
    for back in ({"autoscaling__mode": "planner"}, {"autoscaling__rest": True}):
        found = examine(replace(ROOMY, forbidden=unused), values(**off | back), "speech")
        assert autoscaler <= {f.says.split()[4].split(".")[0].rstrip(":") for f in found if f.about == "permissions"}


def test_a_recipe_that_asks_for_more_cores_than_there_are_is_a_warning():
    recipe = RECIPE | {"stages": [VTLP], "pipeline": {"replicas": {"vtlp": 200}}, "training": {"ranks": 3}}
    fixed = values(recipe=recipe, autoscaling__mode="none")
    [capacity] = [f for f in examine(ROOMY, fixed, "speech") if f.about == "capacity"]
    asked = 200 + 2 + 0.25 + 0.1 + 0.05 + 1 + 3 * 2 + 1  # vtlp, two more, coordinator, Redis, what ends training, …
    assert capacity.level == "warning"
    assert f"all pods ask for {asked:g} cores and" in capacity.says
    assert "the nodes have 128 and 400 free" in capacity.says


def test_a_fused_chain_asks_for_its_one_stage():
    recipe = RECIPE | {"pipeline": {"layout": "fused", "replicas": {"example_server": 7}}}
    fixed = values(recipe=recipe, autoscaling__mode="none")
    [capacity] = [f for f in examine(ROOMY, fixed, "speech") if f.about == "capacity"]
    assert f"all pods ask for {7 + 0.25 + 0.1 + 0.05 + 1 + 2 + 1:g} cores" in capacity.says


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
    [capacity] = [f for f in examine(ROOMY, values(trainer__ranks=70), "speech") if f.about == "capacity"]
    assert "all pods ask for 150.4 cores" in capacity.says
    strict = RECIPE | {"pipeline": {"order": "strict"}, "training": {"batch_vectors": 1000}}
    assert "strict" in failures(ROOMY, recipe=strict, trainer__ranks=2)["recipe"]


def test_each_fault_of_a_recipe_is_a_finding():
    recipe = RECIPE | {"seed": -1, "trainig": {}}
    assert [f.about for f in examine(ROOMY, values(recipe=recipe), "speech") if f.level == "failure"] == ["recipe"] * 2


def test_stages_that_are_scaled_begin_with_their_fewest():
    recipe = RECIPE | {"stages": [VTLP], "pipeline": {"replicas": {"vtlp": 200}}}
    scaled = values(recipe=recipe, autoscaling__each={"vtlp": {"minReplicas": 3}})
    [capacity] = [f for f in examine(ROOMY, scaled, "speech") if f.about == "capacity"]
    assert capacity.level == "well"
    assert f"ask for {3 + 2 + 0.25 + 0.05 + 0.1 + 1 + 2 + 1:g} cores" in capacity.says


def test_what_may_not_be_seen_is_not_taken_for_missing():
    blind = replace(ROOMY, nodes=(), claims=None, secrets=None, labels=None)
    assert not failures(blind, redis__secret="ledger")
    warned = {f.about for f in examine(blind, values(redis__secret="ledger"), "speech") if f.level == "warning"}
    assert warned == {"namespace", "data", "redis.secret", "capacity"}


def only(about, cluster, **changes):
    [finding] = [f for f in examine(cluster, values(**changes), "speech") if f.about == about and f.level != "well"]
    return finding.level, finding.says


def nodes(*made):
    return replace(ROOMY, nodes=made)


def test_room_is_what_running_pods_leave():
    full = nodes(Node("a", MACHINE, used={"cpu": 62.0}), Node("b", MACHINE, used={"cpu": 62.0}))
    level, says = only("capacity", full)
    assert level == "warning"
    assert "the nodes have 4 and" in says
    assert "of trainer" in says or "of room" in says


def test_memory_and_storage_of_a_node_count_too():
    small = Node("a", MACHINE | {"memory": 2e9})
    assert only("capacity", nodes(small, small)) == (
        "failure", "trainer: one asks for 2.15 GB of memory; the largest node has 2 GB of memory",
    )  # fmt: skip
    asks = {"prepare__resources": {"requests": {"ephemeral-storage": "2Ti"}}}
    assert "prepare: one asks for 2,199 GB of ephemeral-storage" in only("capacity", ROOMY, **asks)[1]
    crowded = nodes(Node("a", MACHINE, used={"memory": 1.99e11}))
    assert only("capacity", crowded)[0] == "warning"


def test_each_pod_asks_for_the_disk_that_the_values_say():
    small = nodes(Node("a", MACHINE | {"ephemeral-storage": 1e8}))
    assert "0.268 GB of ephemeral-storage; the largest node has 0.1 GB" in failures(small)["capacity"]
    assert not failures(small, pods__ephemeralStorage="50Mi")
    own = {"requests": {"ephemeral-storage": "1Ti"}}
    assert "trainer: one asks for 1,100 GB" in failures(nodes(Node("a", MACHINE)), trainer__resources=own)["capacity"]


def test_a_pod_is_on_one_node_however_many_there_are():
    many = nodes(*(Node(str(n), MACHINE | {"cpu": 1.5}) for n in range(40)))
    level, says = only("capacity", many)
    assert (level, says) == ("failure", "trainer: one asks for 2 cores; the largest node has 1.5 cores")


def test_nodes_that_are_cordoned_or_tainted_have_no_room_but_for_who_tolerates_that():
    cordoned = Node("a", MACHINE, taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),))
    gpu = Node("b", MACHINE, taints=(Taint("gpu", "yes", "NoSchedule"),))
    found = [f for f in examine(nodes(cordoned, gpu), values(), "speech") if f.about == "capacity"]
    assert {f.level for f in found} == {"failure"}
    assert "no node takes it; of 2 all are cordoned, tainted" in found[0].says
    tolerates = [{"key": "gpu", "operator": "Equal", "value": "yes"}]
    sections = ("redis", "prepare", "coordinator", "stages", "autoscaling", "trainer", "recognizer")
    changed = {f"{section}__tolerations": tolerates for section in sections}
    assert [f.level for f in examine(nodes(cordoned, gpu), values(**changed), "speech") if f.about == "capacity"] == [
        "well"
    ]


def test_gpus_of_a_rank_are_on_one_node():
    scattered = nodes(*(Node(str(n), MACHINE | {"nvidia.com/gpu": 1.0}) for n in range(4)))
    level, says = only("gpus", scattered, trainer__gpus=2, trainer__ranks=2)
    assert level == "failure"
    assert "those of a rank are on one node, and 0 ranks find 2" in says
    assert not failures(scattered, trainer__gpus=1, trainer__ranks=4)


def test_a_node_selector_is_looked_for():
    assert "without the labels" in failures(ROOMY, trainer__nodeSelector={"disk": "fast"})["capacity"]
    fast = Node("c", MACHINE, labels={"disk": "fast"})
    assert not failures(nodes(*ROOMY.nodes, fast), trainer__nodeSelector={"disk": "fast"})


def test_where_pods_may_not_be_seen_it_says_that_they_are_not_counted():
    [capacity] = [f for f in examine(replace(ROOMY, pods_seen=False), values(), "speech") if f.about == "capacity"]
    assert "you may not list pods" in capacity.says


@pytest.mark.parametrize(
    ("changes", "about", "says"),
    [
        ({"autoscaling__each": {"room": {"minReplicas": 30}}}, "autoscaling", "room: minReplicas 30 are more than max"),
        ({"autoscaling__each": {"rom": {}}}, "autoscaling.each", "rom: the recipe has no such stage; it has shard"),
        ({"stages__each": {"rom": {}}}, "stages.each", "rom: the recipe has no such stage"),
        ({"keys__secrets__client": "s"}, "keys.secrets", "give all three, or none"),
        ({"storage__runs__size": "0"}, "storage.runs", "size: found 0, expected more than 0"),
        (
            {"coordinator__resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "500m"}}},
            "coordinator.resources", "requests.cpu: 2 is more than its limit, 500m",
        ),
        (
            {"stages__each": {"room": {"resources": {"requests": {"memory": "4Gi"}}}}},
            "stages.each.room.resources", "requests.memory: 4Gi is more than its limit, 1Gi",
        ),
    ],
)  # fmt: skip
def test_values_that_contradict_each_other_fail(changes, about, says):
    assert says in failures(replace(ROOMY, secrets=None), **changes)[about]


def test_an_entry_of_pull_secrets_without_a_name_is_no_traceback():
    assert not failures(ROOMY, image__pullSecrets=[{}])
