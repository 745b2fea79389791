"""Helm, and the values that install the digits recipe."""

import copy
import json
import pickle
import subprocess
from functools import cache
from pathlib import Path

import yaml

from sonorant.recipe.loading import load_recipe

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "sonorant"
WORKLOADS = ("Deployment", "StatefulSet", "Job")
_ANY_PORT = [{"port": 0}]
_EVERYBODY = {"podSelector": {"matchLabels": {"app.kubernetes.io/component": "*"}}}


def digits_values(**changes):
    """The values that install the digits recipe."""
    return {"recipe": copy.deepcopy(_digits()), "data": {"claim": "corpora"}} | changes


@cache
def _digits():
    return load_recipe(ROOT / "recipes" / "digits.yaml").model_dump(mode="json")


class Helm:
    def __init__(self, program, folder):
        self.program = program
        self._folder = folder
        self._rendered = {}  # manifests, pickled as tests may change theirs, by everything that they follow from

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)

    def values(self, values):
        """Write values to a file, and return its path."""
        path = self._folder / f"values-{len(list(self._folder.iterdir()))}.yaml"
        path.write_text(json.dumps(values))
        return str(path)

    def template(self, values, *arguments, namespace="speech"):
        """Render the chart as release `words` and return Helm's output; without a cluster."""
        where = ("--kube-version", "1.34", "--namespace", namespace)
        return self.run("template", "words", str(CHART), *where, "--values", self.values(values), *arguments)

    def render(self, values, *arguments, namespace="speech"):
        """Return the manifests by (kind, name); the same values are rendered once, and have the same random keys."""
        key = json.dumps(values), arguments, namespace
        if key not in self._rendered:
            self._rendered[key] = pickle.dumps(self.render_anew(values, *arguments, namespace=namespace))
        return pickle.loads(self._rendered[key])

    def render_anew(self, values, *arguments, namespace="speech"):
        """Return the manifests of another release, with random keys of its own."""
        done = self.template(values, *arguments, namespace=namespace)
        assert done.returncode == 0, done.stderr
        documents = yaml.load_all(done.stdout, yaml.CSafeLoader)  # YAML 1.1, as Kubernetes reads it; and it is fast
        return {(d["kind"], d["metadata"]["name"]): d for d in documents if d}

    def refusal(self, values):
        """Return why Helm does not render these values."""
        done = self.template(values)
        assert done.returncode != 0
        return done.stderr


def pods(manifests):
    """Pod templates of all workloads, and pods without any, by component."""
    found = [(kind, document) for (kind, _), document in manifests.items() if kind in (*WORKLOADS, "Pod")]
    templates = [document if kind == "Pod" else document["spec"]["template"] for kind, document in found]
    return {template["metadata"]["labels"]["app.kubernetes.io/component"]: template for template in templates}


def container(manifests, component):
    (only,) = pods(manifests)[component]["spec"]["containers"]
    return only


def component(name):
    return name.replace("_", "-")


def edges(manifests):
    """(from, to, port) of all policies, as seen from who is reached, and as seen from who reaches out.

    Port 0 is any; `to` is * where a rule names nobody, which means everybody.
    """
    into, out_of = set(), set()
    for (kind, name), policy in manifests.items():
        if kind != "NetworkPolicy" or name.endswith("-deny"):
            continue
        own = policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for rule in policy["spec"].get("ingress", []):
            for peer in rule.get("from", [{}]):
                who = peer.get("podSelector", {}).get("matchLabels", {}).get("app.kubernetes.io/component", "*")
                into |= {(who, own, port["port"]) for port in rule.get("ports", _ANY_PORT)}
        for rule in policy["spec"].get("egress", []):
            for peer in rule.get("to", [_EVERYBODY]):
                who = peer.get("podSelector", {}).get("matchLabels", {}).get("app.kubernetes.io/component", "*")
                out_of |= {(own, who, port["port"]) for port in rule.get("ports", _ANY_PORT)}
    return into, out_of
