"""Selectors of network policies, Services and budgets against labels and ports of the pods that are rendered."""

import itertools
from functools import reduce
from operator import getitem

import pytest
from rigs.helm import WORKLOADS, digits_values
from rigs.value_sets import OFF, SCRAPER, SETS, SITE, render_set

FOREIGN = {"app.kubernetes.io/name": "kaldi", "app.kubernetes.io/instance": "others"}
GIVEN = ({"podSelector": {}}, SCRAPER, *SITE["recognizer"]["clients"])  # peers that the values name: clients, scrapers
DNS = {"namespaceSelector", "podSelector"}


class Pods:
    """The pods that are rendered, by component, as (labels, ports)."""

    def __init__(self, manifests):
        self.own = {}
        for (kind, name), document in manifests.items():
            component = name.removeprefix("words-")
            if kind == "MPIJob":  # its name ends in a checksum
                roles = document["spec"]["mpiReplicaSpecs"].values()
                self.own[component.rpartition("-")[0]] = [_labels_and_ports(role["template"]) for role in roles]
            elif kind in WORKLOADS:
                self.own[component] = [_labels_and_ports(document["spec"]["template"])]
            elif kind == "Pod":
                self.own[component] = [_labels_and_ports(document)]

    def selected(self, match):
        """Return the components whose pods have these labels, all or none; no pod of another release or chart may."""
        selected = set()
        for name, pods in self.own.items():
            hits = {match.items() <= labels.items() for labels, _ in pods}
            assert len(hits) == 1, f"{match} selects some pods of {name}"
            selected |= {name} if True in hits else set()
            for labels, key in itertools.product((labels for labels, _ in pods), FOREIGN):
                assert not match.items() <= (labels | {key: FOREIGN[key]}).items(), f"{match} selects strangers"
        return selected

    def ports(self, component):
        return set().union(*(ports for _, ports in self.own[component]))


def _labels_and_ports(template):
    (container,) = template["spec"]["containers"]
    return template["metadata"]["labels"], {port["containerPort"] for port in container.get("ports", [])}


@pytest.fixture(scope="module", params=[name for name in SETS if SETS[name] is not OFF])
def manifests(helm, request):
    return render_set(helm, request.param)


@pytest.fixture(scope="module")
def pods(manifests):
    return Pods(manifests)


def policies(manifests):
    """Specs of all components' policies by component."""
    found = {name.removeprefix("words-"): d["spec"] for (kind, name), d in manifests.items() if kind == "NetworkPolicy"}
    return {component: spec for component, spec in found.items() if component != "deny"}


def peers(spec):
    """Yield (peer, ports) of each peer that a policy names; without ports: any."""
    for side, key in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(side, []):
            for peer in rule.get(key, []):
                yield side, peer, rule.get("ports", [])


def test_each_component_has_a_policy_that_selects_its_pods_and_no_others(manifests, pods):
    selected = {name: pods.selected(spec["podSelector"]["matchLabels"]) for name, spec in policies(manifests).items()}
    assert selected == {name: {name} for name in pods.own}


def test_nothing_but_the_release_s_pods_is_denied_all_else(manifests, pods):
    assert pods.selected(manifests["NetworkPolicy", "words-deny"]["spec"]["podSelector"]["matchLabels"]) == {*pods.own}


def test_each_peer_is_one_component_of_the_release_at_ports_that_its_pods_open(manifests, pods):
    for name, spec in policies(manifests).items():
        for side, peer, ports in peers(spec):
            if side == "egress" and (set(peer) == DNS or "ipBlock" in peer):  # which the values name, too
                continue
            assert {port["protocol"] for port in ports} <= {"TCP"}, name
            reached = name
            if not (side == "ingress" and peer in GIVEN):
                assert set(peer) == {"podSelector"}, name  # a namespace would be another's
                (other,) = pods.selected(peer["podSelector"]["matchLabels"])
                assert ports or other == name
                reached = name if side == "ingress" else other
            assert {port["port"] for port in ports} <= pods.ports(reached), (name, side, peer)


@pytest.mark.parametrize(("kind", "path"), [("Service", ()), ("PodDisruptionBudget", ("matchLabels",))])
def test_services_and_budgets_select_the_pods_of_their_name(manifests, pods, kind, path):
    found = {name.removeprefix("words-"): d["spec"]["selector"] for (k, name), d in manifests.items() if k == kind}
    assert found
    for name, selector in found.items():
        assert pods.selected(reduce(getitem, path, selector)) == {name}


def test_names_are_asked_of_the_cluster_s_dns_alone(helm):
    for name, spec in policies(helm.render(digits_values())).items():
        rules = [rule for rule in spec.get("egress", []) if 53 in {port["port"] for port in rule.get("ports", [])}]
        assert len(rules) == ("egress" in spec), name
        for rule in rules:
            (peer,) = rule["to"]
            assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kube-system"}
            assert peer["podSelector"]["matchLabels"] == {"k8s-app": "kube-dns"}


def test_whatever_leads_out_leads_where_the_values_say(helm):
    peers = {who: [{"ipBlock": {"cidr": f"10.0.0.{n}/32"}}] for n, who in enumerate(("api", "store", "redis", "dns"))}
    store = {"url": "s3://bucket/runs", "secret": "s", "endpoint": "https://minio:9000"}
    manifests = helm.render(
        digits_values(redis={"secret": "r", "port": 7777}, storage={"store": store}, networkPolicies={"peers": peers})
    )
    ports = {443: "api", 6443: "api", 9000: "store", 7777: "redis", 53: "dns"}
    found = set()
    for spec in policies(manifests).values():
        for rule in spec.get("egress", []):
            (whose,) = {ports.get(port["port"]) for port in rule["ports"]} if "ports" in rule else {None}
            if whose:
                assert rule["to"] == peers[whose]
                found.add(whose)
    assert found == set(peers)


def test_what_a_site_s_credentials_take_is_open_to_every_component(helm):
    (rule,) = SITE["networkPolicies"]["egress"]
    found = policies(render_set(helm, "a site's own"))
    assert found
    assert all(rule in spec["egress"] for spec in found.values())
