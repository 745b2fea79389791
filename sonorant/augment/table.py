"""The table of stages: a new one is a file in this folder and a line here.

The recipe's schema, the chart's and `sonorant recipe stages` follow from it.
"""

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union

from pydantic import Field

from sonorant.augment.equaliser import EQUALISER
from sonorant.augment.gain import GAIN
from sonorant.augment.lombard import LOMBARD
from sonorant.augment.noise_styles import NOISE_STYLES
from sonorant.augment.room import ROOM
from sonorant.augment.spec_augment import SPEC_AUGMENT
from sonorant.augment.speed import SPEED
from sonorant.augment.stage import Augmentation, StageSection
from sonorant.augment.superposition import SUPERPOSITION
from sonorant.augment.telephone import TELEPHONE
from sonorant.augment.vtlp import VTLP

__all__ = ["STAGES", "StageRecipe"]

_ALL: tuple[Augmentation[Any], ...] = (
    SPEED,
    VTLP,
    LOMBARD,
    ROOM,
    NOISE_STYLES,
    SUPERPOSITION,
    GAIN,
    EQUALISER,
    TELEPHONE,
    SPEC_AUGMENT,
)

STAGES: dict[str, Augmentation[Any]] = {stage.name: stage for stage in _ALL}
"""All stages that a recipe may name, by that name."""

if TYPE_CHECKING:
    StageRecipe: TypeAlias = StageSection
else:
    StageRecipe = Annotated[Union[tuple(stage.section for stage in _ALL)], Field(discriminator="stage")]  # noqa: UP007
