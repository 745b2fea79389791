"""What platform teams add to pods, whom they lend rights, and how clients come in from outside."""

import pytest
import yaml
from rigs.helm import CHART, digits_values, pods
from rigs.value_sets import SITE, STORE, render_set

CI = sorted((CHART / "ci").glob("*-values.yaml"))


def test_lint_without_values_says_what_is_missing_and_does_not_break(helm):
    done = helm.run("lint", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nil pointer" not in done.stdout + done.stderr
    assert "recipe: not given" in done.stdout + done.stderr


@pytest.mark.parametrize("path", CI, ids=lambda path: path.stem)
def test_lint_is_content_with_the_values_for_chart_testing(helm, path):
    done = helm.run("lint", "--strict", str(CHART), "--values", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert helm.template(yaml.safe_load(path.read_text())).returncode == 0


@pytest.mark.parametrize("release", ["a.b", "1st", "words-in.eu-west", "x" * 39 + ".y"])
def test_a_release_s_name_makes_names_that_services_may_have(helm, release):
    done = helm.run("template", release, str(CHART), "--kube-version=1.34", "--values", helm.values(digits_values()))
    assert done.returncode == 0, done.stderr
    for document in filter(None, yaml.safe_load_all(done.stdout)):
        name = document["metadata"]["name"]
        assert "." not in name
        assert name[0].isalpha()
        assert len(name) <= 63 or document["kind"] == "PriorityClass"


def test_what_a_site_adds_is_in_every_pod_and_what_it_adds_to_one_only_there(helm):
    site = SITE["pods"]
    for name, template in pods(render_set(helm, "a site's own")).items():
        (own,) = template["spec"]["containers"]
        assert site["labels"].items() <= template["metadata"]["labels"].items(), name
        assert site["annotations"].items() <= template["metadata"]["annotations"].items(), name
        assert site["extraEnv"][0] in own["env"], name
        assert site["extraVolumes"][0] in template["spec"]["volumes"], name
        assert site["extraVolumeMounts"][0] in own["volumeMounts"], name
        only = SITE["recognizer"]
        assert (only["extraEnv"][0] in own["env"]) is (name == "recognizer")
        assert (only["extraVolumes"][0] in template["spec"]["volumes"]) is (name == "recognizer")
        assert (only["extraVolumeMounts"][0] in own["volumeMounts"]) is (name == "recognizer")


def test_pods_ask_for_disk_and_may_not_fill_the_node_s(manifests):
    for name, template in pods(manifests).items():
        (own,) = template["spec"]["containers"]
        assert own["resources"]["requests"]["ephemeral-storage"] == "256Mi", name
        empty = {volume["name"]: volume["emptyDir"] for volume in template["spec"]["volumes"] if "emptyDir" in volume}
        assert all("sizeLimit" in volume for volume in empty.values()), name
        assert own["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_a_role_takes_the_place_of_stored_keys(helm):
    manifests = render_set(helm, "a role instead of keys")
    assert "eks.amazonaws.com/role-arn" in manifests["ServiceAccount", "words"]["metadata"]["annotations"]
    for name, template in pods(manifests).items():
        assert "envFrom" not in template["spec"]["containers"][0], name
        assert template["spec"]["serviceAccountName"] == ("words-autoscaler" if name == "autoscaler" else "words")
    said = helm.refusal(digits_values(storage={"store": STORE | {"secret": ""}}))
    assert "storage.store.secret: not given" in said


def routed(helm, **recognizer):
    clients = [{"namespaceSelector": {}}]
    return helm.render(digits_values(recognizer={"clients": clients} | recognizer))


def test_a_gateway_leads_to_the_recognizer_and_checks_its_certificate(helm):
    gateway = {"parents": [{"name": "public"}], "hostnames": ["speech.example.org"], "authority": "speech-ca"}
    manifests = routed(helm, gateway=gateway)
    route = manifests["GRPCRoute", "words-recognizer"]["spec"]
    assert route["parentRefs"] == [{"name": "public"}]
    assert route["rules"] == [{"backendRefs": [{"name": "words-recognizer", "port": 50051}]}]
    policy = manifests["BackendTLSPolicy", "words-recognizer"]["spec"]
    assert policy["validation"]["hostname"] == "words-recognizer"  # a name of its certificate
    assert policy["validation"]["caCertificateRefs"] == [{"group": "", "kind": "ConfigMap", "name": "speech-ca"}]


def test_an_ingress_leads_to_the_recognizer(helm):
    manifests = render_set(helm, "a site's own")
    spec = manifests["Ingress", "words-recognizer"]["spec"]
    assert spec["tls"] == [{"hosts": ["speech.example.org"], "secretName": "speech-tls"}]
    (path,) = spec["rules"][0]["http"]["paths"]
    assert path["backend"] == {"service": {"name": "words-recognizer", "port": {"name": "grpc"}}}
    (port,) = manifests["Service", "words-recognizer"]["spec"]["ports"]
    assert port["name"] == "grpc"


@pytest.mark.parametrize("way", [{"gateway": {"parents": [{"name": "public"}]}}, {"ingress": {"host": "a.example"}}])
def test_a_way_in_that_the_policies_close_is_refused(helm, way):
    assert "recognizer.clients: only pods of the namespace" in helm.refusal(digits_values(recognizer=way))
    plain = digits_values(recognizer=way | {"clients": [{"namespaceSelector": {}}]}, keys={"enabled": False})
    (port,) = helm.render(plain)["Service", "words-recognizer"]["spec"]["ports"]
    assert port["appProtocol"] == "kubernetes.io/h2c"


def test_a_preparation_that_fails_is_tried_again_and_the_test_is_a_pod_whose_log_helm_finds(manifests):
    (job,) = (document["spec"] for (kind, _), document in manifests.items() if kind == "Job")
    assert (job["backoffLimit"], job["template"]["spec"]["restartPolicy"]) == (2**31 - 1, "OnFailure")
    test = manifests["Pod", "words-test"]
    assert test["spec"]["restartPolicy"] == "Never"
    annotations = test["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "test"
    assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation"  # it is there when Helm asks for its log
