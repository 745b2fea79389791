"""Ranks that kubeflow's operators start: MPIJob, by `kubectl exec` (v1) or by ssh (v2beta1)."""

import json
import re
import shutil
import subprocess

import pytest
from rigs.helm import ROOT, digits_values, edges

from services.trainer.main import command as trainer

VERSIONS = ("v1", "v2beta1")
SCHEMAS = ROOT.parent / "shared" / "schemas"


def job_of(manifests):
    (job,) = (document for (kind, _), document in manifests.items() if kind == "MPIJob")
    return job


def values_of(version, **changes):
    return digits_values(trainer={"launcher": "mpijob", "mpiVersion": version, "ranks": 3} | changes)


@pytest.fixture(scope="module")
def rendered(helm):
    return {v: helm.render(values_of(v), "--api-versions", f"kubeflow.org/{v}/MPIJob") for v in VERSIONS}


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


def pod_of(job, role):
    return job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]


def only_container(job, role):
    (only,) = pod_of(job, role)["containers"]
    return only


def test_there_is_a_worker_for_each_rank_and_a_launcher_that_starts_them(rendered, version):
    job = job_of(rendered[version])
    roles = job["spec"]["mpiReplicaSpecs"]
    assert job["apiVersion"] == f"kubeflow.org/{version}"
    assert job["spec"]["slotsPerWorker"] == 1
    assert {role: (spec["replicas"], spec["restartPolicy"]) for role, spec in roles.items()} == {
        "Launcher": (1, "OnFailure"),
        "Worker": (3, "OnFailure"),
    }
    launcher = only_container(job, "Launcher")
    assert launcher["command"] == ["mpirun"]
    assert launcher["args"][launcher["args"].index("-np") + 1] == "3"


def test_a_rank_is_on_a_leash_and_takes_what_it_is_given(rendered, version, monkeypatch):
    monkeypatch.setenv("SONORANT_REDIS", "redis://localhost")
    arguments = only_container(job_of(rendered[version]), "Launcher")["args"]
    start = arguments.index("python")
    assert arguments[start : start + 4] == ["python", "-m", "services.process.leash", "0"]
    assert arguments[start + 4 : start + 7] == ["python", "-m", "services.trainer"]
    given = trainer.make_context("trainer", arguments[start + 7 :]).params
    assert (given["launched"], given["threads"], given["host"], given["metrics_port"]) == (False, 2, "0.0.0.0", 9100)


def test_nothing_of_the_other_launcher_is_left(rendered, version):
    about = {kind for kind, name in rendered[version] if name.startswith("words-trainer")}
    assert about == {"MPIJob", "NetworkPolicy", "PodDisruptionBudget"}


def test_one_pod_of_workers_and_launcher_may_be_taken_away_at_a_time(rendered, version):
    spec = rendered[version]["PodDisruptionBudget", "words-trainer"]["spec"]
    assert set(spec) == {"minAvailable", "selector"}  # a maximum is only for what has a scale
    assert spec["minAvailable"] == 3
    chosen = spec["selector"]["matchLabels"].items()
    job = job_of(rendered[version])
    for role in ("Launcher", "Worker"):
        labels = job["spec"]["mpiReplicaSpecs"][role]["template"]["metadata"]["labels"]
        assert chosen <= labels.items()


def test_both_pods_are_restricted_and_only_workers_hold_anything(rendered, version):
    job = job_of(rendered[version])
    for role in ("Launcher", "Worker"):
        pod, own = pod_of(job, role), only_container(job, role)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "restartPolicy" not in pod  # the replicas' counts
        assert own["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= set(own["resources"]["requests"])
        assert pod["automountServiceAccountToken"] is (role == "Launcher" and version == "v1")
    assert [volume["name"] for volume in pod_of(job, "Launcher")["volumes"]] == ["tmp"]
    assert {"keys", "recipe", "runs"} <= {volume["name"] for volume in pod_of(job, "Worker")["volumes"]}


def test_gpus_and_their_nodes_are_the_workers(helm):
    values = values_of("v1", gpus=1, nodeSelector={"pool": "gpu"})
    job = job_of(helm.render(values, "--api-versions", "kubeflow.org/v1/MPIJob"))
    assert only_container(job, "Worker")["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert pod_of(job, "Worker")["nodeSelector"] == {"pool": "gpu"}
    assert "nvidia.com/gpu" not in str(pod_of(job, "Launcher"))
    assert "nodeSelector" not in pod_of(job, "Launcher")


def test_edges_are_those_of_the_other_launcher_and_the_api_for_v1(rendered, manifests, version):
    (into, out_of), (into_others, out_of_others) = edges(rendered[version]), edges(manifests)
    assert into == into_others
    api = {("trainer", "*", port) for port in (443, 6443)}
    assert out_of == (out_of_others | api if version == "v1" else out_of_others)


def test_over_ssh_ranks_get_the_environment_that_the_image_has(rendered):
    job = job_of(rendered["v2beta1"])
    arguments = only_container(job, "Launcher")["args"]
    handed_on = {arguments[i + 1].split("=")[0] for i, word in enumerate(arguments) if word == "-x"}
    runtime = (ROOT / "docker" / "Dockerfile").read_text().split(" AS runtime\n")[1].split("\nFROM ")[0]
    image = set(re.findall(r"(\w+)=", re.search(r"^ENV (?:.*\\\n)*.*", runtime, re.MULTILINE)[0]))
    workers = {entry["name"] for entry in only_container(job, "Worker")["env"]} - {"POD_IP", "CPUS", "REDIS_PASSWORD"}
    assert handed_on == image | workers
    assert only_container(job, "Worker")["command"] == ["/usr/sbin/sshd"]
    assert "sshd" not in str(job_of(rendered["v1"]))


def test_what_a_site_and_its_cloud_s_role_set_reaches_the_ranks_too(helm, version):
    site, own = {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}, {"name": "OMP_PROC_BIND", "value": "true"}
    role = {"serviceAccount": {"name": "speech"}, "storage": {"store": {"url": "s3://bucket/runs"}}}
    values = values_of(version, extraEnv=[own]) | {"pods": {"extraEnv": [site]}} | role
    job = job_of(helm.render(values, "--api-versions", f"kubeflow.org/{version}/MPIJob"))
    assert site in only_container(job, "Worker")["env"]
    assert own in only_container(job, "Worker")["env"]
    launcher = only_container(job, "Launcher")
    handed_on = {launcher["args"][i + 1] for i, word in enumerate(launcher["args"]) if word == "-x"}
    if version == "v1":  # `kubectl exec` gives a program what its container has
        assert not handed_on
        return
    assert handed_on >= {site["name"], own["name"], "SONORANT_STORE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"}
    assert site in launcher["env"]  # or mpirun has nothing to hand on
    assert own in launcher["env"]
    for pod in (pod_of(job, "Launcher"), pod_of(job, "Worker")):
        assert pod["serviceAccountName"] == "speech"


def test_the_operator_s_schema_takes_the_job(rendered, tmp_path):
    if not SCHEMAS.is_dir():
        pytest.skip(f"MPIJob v2beta1 was not held against its schema: {SCHEMAS.name} is not beside the project")
    program = shutil.which("kubeconform")
    if program is None:
        pytest.skip("MPIJob v2beta1 was not held against its schema: kubeconform is not in PATH")
    path = tmp_path / "job.json"
    where = f"{SCHEMAS}/{{{{.ResourceKind}}}}-{{{{.ResourceAPIVersion}}}}.json"

    def check(job):
        path.write_text(json.dumps(job))
        command = [program, "-strict", "-schema-location", where, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    job = job_of(rendered["v2beta1"])
    done = check(job)
    assert done.returncode == 0, done.stdout + done.stderr
    assert check(job | {"spec": job["spec"] | {"slots": 1}}).returncode == 1


def test_a_cluster_without_the_operator_is_told_what_to_do(helm, version):
    said = helm.refusal(values_of(version))
    assert f"the cluster does not serve kubeflow.org/{version}/MPIJob. Install kubeflow's" in said
    assert f"--api-versions kubeflow.org/{version}/MPIJob" in said


def test_what_would_train_otherwise_is_another_job(helm, rendered):
    name = job_of(rendered["v1"])["metadata"]["name"]
    served = ("--api-versions", "kubeflow.org/v1/MPIJob")
    assert job_of(helm.render(values_of("v1"), *served))["metadata"]["name"] == name
    assert job_of(helm.render(values_of("v1", ranks=4), *served))["metadata"]["name"] != name
