"""A copy of the library with a made-up stage, added as a contributor would: a file and a line of the table."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
STAGE = '''"""Speech backwards."""

from typing import Literal

import numpy as np
from pydantic import Field

from sonorant.augment.stage import Augmentation, StageContext, StageSection, by_chance


class BackwardsRecipe(StageSection):
    """Speech backwards, as on a tape played in reverse."""

    stage: Literal["backwards"] = Field(description="Name of the stage.")


def backwards_stage(section: BackwardsRecipe, context: StageContext):
    def change(example, waveform, rng):
        context.resources.counts["backwards"] += 1
        return example._replace(waveform=np.ascontiguousarray(waveform[..., ::-1]))

    return by_chance(section.probability, change)


BACKWARDS = Augmentation(BackwardsRecipe, backwards_stage, effect="plays speech backwards", source="nobody")
'''


def copy_with_stage(folder):
    """Copy the library into `folder`, add the stage `backwards`, and return an environment whose Python has it."""
    shutil.copytree(ROOT / "sonorant", folder / "sonorant", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "sonorant/augment/backwards.py").write_text(STAGE)
    table = folder / "sonorant/augment/table.py"
    text = table.read_text().replace("    SPEC_AUGMENT,\n", "    SPEC_AUGMENT,\n    BACKWARDS,\n")
    table.write_text(
        text.replace("\nfrom sonorant", "\nfrom sonorant.augment.backwards import BACKWARDS\nfrom sonorant", 1)
    )
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT)))}
