"""What Helm makes of the chart."""

import copy
from itertools import pairwise
from typing import get_args

import pytest
import yaml
from rigs.helm import CHART, ROOT, component, container, digits_values, edges, pods
from rigs.value_sets import render_set

from services.stage.wiring import program
from sonorant.augment.table import StageRecipe
from sonorant.recipe import Recipe
from sonorant.recipe.layout import TRAINER, stage_before, stage_order
from sonorant.recipe.loading import load_recipe

CHAIN = stage_order(Recipe.model_validate(digits_values()["recipe"]))


def test_lint_is_content(helm):
    done = helm.run("lint", "--strict", str(CHART), "--values", helm.values(digits_values()))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_service_of_a_training_is_there_and_starts_the_program_of_the_laptop(manifests):
    started = {name: template["spec"]["containers"][0]["command"] for name, template in pods(manifests).items()}
    prepare = next(name for name in started if name.startswith("prepare-"))
    others = {prepare, "redis", "coordinator", "autoscaler", "trainer", "recognizer", "test"}
    assert set(started) == {component(stage) for stage in CHAIN} | others
    for stage in CHAIN:
        assert started[component(stage)] == ["python", "-m", *program(stage)]
    assert started["coordinator"] == ["python", "-m", "services.coordinator"]
    assert started["trainer"] == ["python", "-m", "services.launcher"]
    assert container(manifests, "trainer")["args"][4:8] == ["--", "python", "-m", "services.trainer"]


def test_pods_pass_the_restricted_standard(manifests):
    for name, template in pods(manifests).items():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is (name == "autoscaler"), name
        kinds = {key for volume in spec["volumes"] for key in volume if key != "name"}
        assert kinds <= {"emptyDir", "configMap", "secret", "projected", "persistentVolumeClaim"}, name
        for one in spec["containers"]:
            assert one["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert {"cpu", "memory"} <= set(one["resources"]["requests"]), name
            assert "memory" in one["resources"]["limits"], name


def test_policies_allow_the_edges_of_the_list_and_no_other(manifests):
    recipe = Recipe.model_validate(digits_values()["recipe"])
    expected = {(component(stage), "coordinator", 7100) for stage in CHAIN}
    expected |= {(component(s), component(stage_before(recipe, s)), 7000) for s in (*CHAIN[1:], TRAINER)}
    expected |= {("trainer", "coordinator", 7100), ("trainer", "redis", 6379), ("coordinator", "redis", 6379)}
    expected |= {("test", "recognizer", 50051), ("trainer", "trainer", 0), ("autoscaler", "coordinator", 7100)}
    expected |= {("recognizer", "recognizer", 50051)}  # does another serve, while this one waits for a model?
    into, out_of = edges(manifests)
    outside = {(who, "*", 53) for who, _, _ in expected} | {("autoscaler", "*", port) for port in (443, 6443)}
    assert out_of == expected | outside
    assert into == expected | {("*", "recognizer", 50051)}  # its users
    deny = manifests["NetworkPolicy", "words-deny"]["spec"]
    assert deny["policyTypes"] == ["Ingress", "Egress"]
    assert not {"ingress", "egress"} & set(deny)


def test_each_stage_that_a_recipe_may_have_is_before_or_after_the_featurizer_as_in_the_recipe(helm):
    """What the chart knows of stages is a file that the library printed, since a template cannot ask the recipe."""
    sections = sorted(get_args(get_args(StageRecipe)[0]), key=lambda section: section.works_on == "features")
    values = digits_values()
    values["recipe"]["stages"] = [{"stage": get_args(s.model_fields["stage"].annotation)[0]} for s in sections]
    chain = stage_order(Recipe.model_validate(values["recipe"]))
    assert len(chain) == len(sections) + 2
    pulls = {(who, whom) for who, whom, port in edges(helm.render(values))[1] if port == 7000}
    assert pulls == {(component(stage), component(before)) for before, stage in pairwise((*chain, TRAINER))}


def test_what_runs_for_long_has_probes_and_a_budget(manifests):
    for kind, name in manifests:
        if kind in ("Deployment", "StatefulSet"):
            own = container(manifests, name.removeprefix("words-"))
            assert {"livenessProbe", "readinessProbe"} <= set(own), name
            assert ("PodDisruptionBudget", name) in manifests


def test_another_recipe_restarts_what_reads_it_and_prepares_again(helm, manifests):
    values = digits_values()
    values["recipe"]["training"]["epochs"] = 3
    changed = helm.render(values)

    def checksum(manifests, name):
        return pods(manifests)[name]["metadata"]["annotations"]["checksum/recipe"]

    for name in ("room", "coordinator", "trainer"):
        assert checksum(manifests, name) != checksum(changed, name)
    jobs = [{name for kind, name in m if kind == "Job" and "prepare" in name} for m in (manifests, changed)]
    assert jobs[0].isdisjoint(jobs[1])
    assert pods(manifests)["recognizer"] == pods(changed)["recognizer"]


def test_a_fused_chain_is_one_deployment(helm):
    values = digits_values()
    values["recipe"]["pipeline"] |= {"layout": "fused", "replicas": {"example_server": 3}}
    values["autoscaling"] = {"mode": "none"}
    manifests = helm.render(values)
    assert manifests["Deployment", "words-example-server"]["spec"]["replicas"] == 3
    assert ("trainer", "example-server", 7000) in edges(manifests)[1]
    assert not {component(stage) for stage in CHAIN} & set(pods(manifests))
    assert "topologySpreadConstraints" in pods(manifests)["example-server"]["spec"]


def test_a_redis_outside_takes_the_place_of_ones_own(helm):
    manifests = helm.render(digits_values(redis={"secret": "ledger", "port": 7777}))
    assert "redis" not in pods(manifests)
    assert ("Secret", "words-redis") not in manifests
    environment = {entry["name"]: entry for entry in container(manifests, "trainer")["env"]}
    assert environment["SONORANT_REDIS"]["valueFrom"]["secretKeyRef"] == {"name": "ledger", "key": "url"}
    assert {who for who, whom, port in edges(manifests)[1] if (whom, port) == ("*", 7777)} == {"coordinator", "trainer"}


@pytest.mark.parametrize(
    ("url", "port"),
    [("redis://:secret@ledger:7777/0", 7777), ("rediss://ledger", 6379), ("redis://:p@10.0.0.9:6380", 6380)],
)
def test_a_redis_outside_is_reached_where_its_url_says(helm, url, port):
    manifests = helm.render(digits_values(redis={"url": url}))
    assert "redis" not in pods(manifests)
    assert manifests["Secret", "words-redis"]["stringData"] == {"url": url}
    environment = {entry["name"]: entry for entry in container(manifests, "trainer")["env"]}
    assert environment["SONORANT_REDIS"]["valueFrom"]["secretKeyRef"] == {"name": "words-redis", "key": "url"}
    ways = {(who, reached) for who, whom, reached in edges(manifests)[1] if whom == "*" and reached != 53}
    assert {way for way in ways if way[0] != "autoscaler"} == {("coordinator", port), ("trainer", port)}


@pytest.mark.parametrize("name", ["123", "1e3", "0x10"])
def test_names_that_look_like_numbers_stay_text(helm, name):
    """An object's name may be all digits; unquoted, YAML would make a number of it, which Kubernetes refuses."""
    values = digits_values(
        data={"claim": name},
        storage={"runs": {"claim": name}, "store": {}},
        redis={"secret": name},
        keys={"secrets": dict.fromkeys(("links", "coordinator", "recognizer", "client"), name)},
        priorities={"create": False, "serving": name, "training": name},
    )
    values["image"] = {"names": {"stage": name}}
    done = helm.run(
        "template", name, str(CHART), "--kube-version=1.34", "--namespace", name, "--values", helm.values(values)
    )
    assert done.returncode == 0, done.stderr
    found = [entry for document in yaml.safe_load_all(done.stdout) if document for entry in _texts(document)]
    assert {key for key, value in found if value == name} >= _TEXTS - {
        "secretName"
    }  # which only Redis of one's own has
    assert [(key, value) for key, value in found if key in _TEXTS and not isinstance(value, str)] == []


_TEXTS = {"name", "namespace", "app.kubernetes.io/instance", "claimName", "priorityClassName", "image", "secretName"}


def _texts(node, key=""):
    """Yield (key, value) of all that is neither list nor mapping."""
    if isinstance(node, dict):
        for inner, value in node.items():
            yield from _texts(value, inner)
    elif isinstance(node, list):
        for value in node:
            yield from _texts(value, key)
    else:
        yield key, node


def test_every_rank_has_a_pod_and_all_start_at_once(helm):
    manifests = helm.render(digits_values(trainer={"ranks": 4}, autoscaling={"rest": False}))
    assert manifests["StatefulSet", "words-trainer"]["spec"]["replicas"] == 4
    assert manifests["StatefulSet", "words-trainer"]["spec"]["podManagementPolicy"] == "Parallel"
    assert manifests["Service", "words-trainer"]["spec"]["clusterIP"] == "None"
    own = container(manifests, "trainer")
    assert {"--ranks=4", "--revision=$(REVISION)", "--launched"} <= set(own["args"])
    (revision,) = (entry["valueFrom"] for entry in own["env"] if entry["name"] == "REVISION")
    assert revision == {"fieldRef": {"fieldPath": "metadata.labels['controller-revision-hash']"}}


def test_the_ranks_of_the_values_take_the_place_of_the_recipe_s(helm, manifests):
    def read(manifests):
        return yaml.safe_load(manifests["ConfigMap", "words-recipe"]["data"]["recipe.yaml"])

    recipe = read(manifests)
    assert recipe["training"]["ranks"] == 1
    recipe["training"]["ranks"] = 4
    assert read(helm.render(digits_values(trainer={"ranks": 4}))) == recipe
    values = digits_values()
    values["recipe"]["training"]["ranks"] = 8
    assert "--ranks=8" in container(helm.render(values), "trainer")["args"]


def test_batches_by_frames_of_several_ranks_in_strict_order_are_refused(helm):
    values = digits_values(trainer={"ranks": 2})
    values["recipe"]["pipeline"]["order"] = "strict"
    helm.render(values)
    values["recipe"]["training"]["batch_vectors"] = 1000
    assert "batch_vectors: 1000: must be 0 with pipeline.order: strict and trainer.ranks: 2" in helm.refusal(values)


@pytest.mark.parametrize(
    "stage",
    [
        {"stage": "room", "noise": {"kinds": ["folder"], "folder": "musan/noise"}},
        {"stage": "superposition", "reference": "musan/noise"},
    ],
    ids=["noise", "reference"],
)
def test_recordings_that_a_stage_plays_need_a_volume(helm, stage):
    values = digits_values(data={"claim": ""}, prepare={"enabled": False})
    values["recipe"]["stages"] = [stage]
    said = helm.refusal(values)
    assert (
        f"data.claim: not given, but the recipe's stage {stage['stage']} plays recordings of the folder musan/" in said
    )
    assert helm.render(values | {"data": {"claim": "corpora"}})


def test_a_recipe_of_nothing_but_what_it_must_have_installs(helm):
    recipe = {"version": 1, "name": "x", "corpus": {"reader": "fsdd", "path": "fsdd"}}
    assert ("Deployment", "words-featurizer") in helm.render(digits_values(recipe=recipe))


def test_gpus_are_asked_for_by_the_trainer_alone(helm):
    trainer = {"gpus": 2, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    trainer["nodeSelector"] = {"pool": "gpu"}
    manifests = helm.render(digits_values(trainer=trainer))
    wanting = [n for n, t in pods(manifests).items() if "nvidia.com/gpu" in str(t["spec"]["containers"])]
    assert wanting == ["trainer"]
    assert container(manifests, "trainer")["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert pods(manifests)["trainer"]["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert pods(manifests)["trainer"]["spec"]["tolerations"] == trainer["tolerations"]


def test_one_stage_has_settings_of_its_own(helm):
    each = {"room": {"resources": {"requests": {"cpu": "3"}}}}
    manifests = helm.render(digits_values(stages={"each": each}))
    disk = {"ephemeral-storage": "256Mi"}
    assert container(manifests, "room")["resources"]["requests"] == {"cpu": "3", "memory": "256Mi"} | disk
    assert container(manifests, "speed")["resources"]["requests"]["cpu"] == "1"


def test_all_that_can_be_off_is_off(helm):
    manifests = render_set(helm, "off")
    assert set(pods(manifests)) == {component(stage) for stage in CHAIN} | {"coordinator", "trainer"}
    assert {kind for kind, _ in manifests} == {
        "ConfigMap",
        "Deployment",
        "StatefulSet",
        "Service",
        "PodDisruptionBudget",
    }
    assert "priorityClassName" not in pods(manifests)["trainer"]["spec"]
    assert {template["spec"]["serviceAccountName"] for template in pods(manifests).values()} == {"default"}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("trainer", "rank"), 2, "rank"),
        (("recognizer", "replicas"), -1, "replicas"),
        (("recognizer", "replicas"), "many", "replicas"),
        (("recipe", "training", "epoks"), 3, "epoks"),
        (("recipe", "pipeline", "replicas"), {"room": -1}, "room"),
        (("recipe", "training", "ranks"), -1, "ranks"),
        (("autoscaling", "replicas"), -1, "replicas"),
        (("recipe", "pipeline", "credits"), 0, "credits"),
        (("trainer", "launcher"), "ssh", "launcher"),
        (("trainer", "mpiVersion"), "v2", "mpiVersion"),
        (("keys", "mutual"), ["redis"], "mutual"),
        (("metrics", "scrapers"), "prometheus", "scrapers"),
        (("trainer", "ranks"), 0, "ranks"),
        (("stages", "each"), {"rooom": {}}, "stages.each.rooom: the recipe has no such stage"),
        (("recipe", "pipeline", "replicas"), {"rooom": 2}, "recipe.pipeline.replicas.rooom: the recipe has no such"),
        (("data", "claim"), "", "data.claim: not given"),
        (("data", "claim"), "x}, hostPath: {path: /", "data/claim"),
        (("data", "claim"), "x\n", "data/claim"),
        (("image", "prefix"), "a b: c", "image/prefix"),
        (("image", "tag"), "1 # 2", "image/tag"),
        (("image", "names"), {"redis": "{}"}, "image/names/redis"),
        (("redis", "secret"), "a: b", "redis/secret"),
        (("pods", "labels"), {"app.kubernetes.io/name": "x"}, "invalid propertyName 'app.kubernetes.io/name'"),
        (("keys", "secrets"), {"links": "[a]"}, "keys/secrets/links"),
        (("priorities", "serving"), "a b", "priorities/serving"),
        (("storage", "runs", "storageClass"), "a: b", "storage/runs/storageClass"),
        (("storage", "store", "secret"), "a b: c", "storage/store/secret"),
        (("storage", "store", "url"), "s3://bucket/a: b", "storage/store/url"),
        (("storage", "store", "region"), "a: b", "storage/store/region"),
        (("redis",), {"url": "redis://there", "secret": "ledger"}, "redis.url and redis.secret"),
        (("recipe",), None, "sonorant recipe values"),
    ],
)
def test_values_that_cannot_be_are_refused_in_words(helm, path, value, said):
    values = copy.deepcopy(digits_values())
    parent = values
    for key in path[:-1]:
        parent = parent.setdefault(key, {})
    parent[path[-1]] = value
    assert said in helm.refusal(values)


def test_text_goes_from_the_shard_reader_to_the_trainer(helm):
    recipe = load_recipe(ROOT / "recipes" / "grammar-lm.yaml").model_dump(mode="json")
    recipe["pipeline"]["layout"] = "split"
    manifests = helm.render(digits_values(recipe=recipe))
    assert stage_order(Recipe.model_validate(recipe)) == ("shard_reader",)
    assert component("shard_reader") in pods(manifests)
    assert component("featurizer") not in pods(manifests)
    assert all(("trainer", component("shard_reader"), 7000) in allowed for allowed in edges(manifests))
