"""A new family of models is a file, a section of the recipe and a line of the registry: nothing else names it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAMILY = '''"""A projection of each vector by itself, with CTC outputs."""

from sonorant.models.family import Inputs, Outputs, Streaming, Symbols
from sonorant.tensorflow import keras, tf


class Framewise(Streaming):
    """Remembers nothing but how many vectors it has had."""

    search = "ctc"

    def __init__(self, recipe, bins, units, seed=0):
        super().__init__(recipe.family, bins, Symbols(units, blank=units))
        self.projection = keras.layers.Dense(
            units + 1, kernel_initializer=keras.initializers.GlorotUniform(seed=seed), name="projection"
        )
        self.projection.build((None, bins))
        self.gain = recipe.gain
        self.built = True

    def outputs(self, inputs, dropout_seed=None):
        return Outputs(inputs.lengths, frames=tf.nn.log_softmax(self.projection(self.gain * inputs.features)))

    def set_normalisation(self, first, add_up):
        pass

    def initial_state(self, batch):
        return [tf.zeros((batch, 1))]

    def step(self, features, state):
        outputs = self.outputs(Inputs(features, None)).frames
        return outputs, [state[0] + tf.cast(tf.shape(features)[1], tf.float32)]
'''
SECTION = '''

class FramewiseRecipe(ModelSection):
    """A projection of each vector by itself, with CTC."""

    family: Literal["framewise"] = Field("framewise", description="Family of the model.")
    gain: float = Field(1.0, gt=0, description="Factor of the features.")


ModelRecipe: TypeAlias = Annotated[LstmCtcRecipe | FramewiseRecipe, Field(discriminator="family")]
'''
USE = """
import itertools, sys
from pathlib import Path
import numpy as np
from training.harness import run, tiny_trainer
from training.tiny import tiny_recipe, tiny_units
from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.delivery.ledger import MemoryLedger
from sonorant.recipe.schema import Recipe
from sonorant.serving.session import Session, SessionOptions

values = tiny_recipe(epochs=8).model_dump(mode="json") | {"model": {"family": "framewise", "gain": 2.0}}
recipe = Recipe.model_validate(values)
folder = Path(sys.argv[1])
trainer = tiny_trainer(recipe, folder, MemoryLedger(40), 40)
run(trainer)
model = load_exported(export_model(trainer.parts.step.model, recipe, tiny_units(), folder).path)
session = Session(model, SessionOptions())
session.push(np.random.default_rng(0).integers(-9999, 9999, 8000, np.int16).tobytes())
print(type(trainer.parts.step.model).__name__, trainer.progress.dev, session.finish()[-1].is_final)
"""


def test_a_family_trains_is_exported_and_streams_with_a_file_a_section_and_a_line(tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "sonorant", tree / "sonorant", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "sonorant/models/framewise.py").write_text(FAMILY)
    section = tree / "sonorant/models/section.py"
    before, _, _ = section.read_text().partition("\n\nModelRecipe")
    section.write_text(before.replace("import Literal,", "import Annotated, Literal,") + SECTION)
    registry = tree / "sonorant/models/registry.py"
    line = '    "framewise": "sonorant.models.framewise:Framewise",\n}\n'
    registry.write_text(registry.read_text().replace("}\n", line, 1))
    path = os.pathsep.join(map(str, (tree, ROOT, ROOT / "tests")))
    command = [sys.executable, "-c", USE, str(tmp_path / "run")]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, wer, final = done.stdout.split()
    assert (name, final) == ("Framewise", "True")
    assert 0 <= float(wer) < 1
