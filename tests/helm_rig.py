"""Helm, and the values that install the digits recipe."""

import json
import subprocess
from pathlib import Path

from ruamel.yaml import YAML

from sonorant.recipe.loading import load_recipe

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "sonorant"


def digits_values(**changes):
    """The values that install the digits recipe."""
    recipe = load_recipe(ROOT / "recipes" / "digits.yaml").model_dump(mode="json")
    return {"recipe": recipe, "data": {"claim": "corpora"}} | changes


class Helm:
    def __init__(self, program, folder):
        self.program = program
        self._folder = folder

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)

    def values(self, values):
        """Write values to a file, and return its path."""
        path = self._folder / f"values-{len(list(self._folder.iterdir()))}.yaml"
        path.write_text(json.dumps(values))
        return str(path)

    def render(self, values):
        """Return the manifests by (kind, name)."""
        done = self.run(
            "template",
            "words",
            str(CHART),
            "--kube-version",
            "1.34",
            "--namespace",
            "speech",
            "--values",
            self.values(values),
        )
        assert done.returncode == 0, done.stderr
        documents = YAML(typ="safe", pure=True).load_all(done.stdout)
        return {(d["kind"], d["metadata"]["name"]): d for d in documents if d}

    def refusal(self, values):
        """Return why Helm does not render these values."""
        done = self.run("template", "words", str(CHART), "--kube-version", "1.34", "--values", self.values(values))
        assert done.returncode != 0
        return done.stderr
