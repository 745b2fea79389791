"""skaffold.yaml, and what it is under a profile."""

import json

from rigs.helm import ROOT
from ruamel.yaml import YAML

SKAFFOLD = YAML(typ="safe", pure=True).load((ROOT / "skaffold.yaml").read_text())


def profiled(name):
    """The configuration under a profile, its patches applied as JSON Patch (RFC 6902) says."""
    config = json.loads(json.dumps(SKAFFOLD))
    for patch in next(p for p in config["profiles"] if p["name"] == name)["patches"]:
        *way, last = [int(step) if step.isdecimal() else step for step in patch["path"].split("/")[1:]]
        parent = config
        for step in way:
            parent = parent[step]
        assert patch["op"] == "add"
        assert last not in parent
        parent[last] = patch["value"]
    return config
