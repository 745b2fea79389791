"""Contract of a stage: a function `(example, rng) -> example` that raises RejectedExample when it cannot do its work.

It draws from nothing but `rng`, always in the same order, so its result depends on the example alone. A stage's file
has its section of the recipe, its function, and an `Augmentation` that names both; `table` lists these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from pydantic import Field

from sonorant.arrays import Waveform
from sonorant.augment.resources import StageResources
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.section import Fraction, Section

__all__ = ["Augmentation", "Change", "Stage", "StageContext", "StageSection", "by_chance"]

Stage: TypeAlias = Callable[[Example, np.random.Generator], Example]
Change: TypeAlias = Callable[[Example, Waveform, np.random.Generator], Example]


class StageSection(Section):
    """A stage's section of the recipe; a subclass gives `stage` the stage's name as its only value.

    works_on: stages on features stand after all stages on waveforms, behind the featurizer.
    """

    works_on: ClassVar[Literal["waveform", "features"]] = "waveform"

    stage: str = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that the stage changes.")

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of recordings that the stage reads, below the data folder."""
        return ()

    def check(self, earlier: "Sequence[StageSection]", frame_bins: int) -> None:
        """Raise ValueError if the stage cannot work behind `earlier` ones, or on frames of `frame_bins` values."""


class StageContext(NamedTuple):
    """A stage's environment: resources, the corpus' rate, and how many frames are stacked to a vector."""

    resources: StageResources
    sample_rate_hz: int
    stack: int


_SectionT = TypeVar("_SectionT", bound=StageSection)


@dataclass(frozen=True, slots=True)
class Augmentation(Generic[_SectionT]):
    """An entry in the table of stages.

    build: makes the stage of a section; may raise BadRecipe and BadCorpus. effect, source: of the stage, and its
    publication, in a few words, for documentation.
    """

    section: type[_SectionT]
    build: Callable[[_SectionT, StageContext], Stage]
    effect: str
    source: str = ""

    @property
    def name(self) -> str:
        """The stage's name in recipes."""
        (name,) = get_args(self.section.model_fields["stage"].annotation)
        return str(name)


def by_chance(probability: float, change: Change) -> Stage:
    """Return the stage that draws whether to act, and then applies `change`.

    change: gets the example, its waveform and the rest of the random numbers. RejectedExample if there is no waveform.
    """

    def stage(example: Example, rng: np.random.Generator) -> Example:
        acts = rng.random() < probability
        if example.waveform is None:
            raise RejectedExample("no waveform to augment; the featurizer comes last")
        return change(example, example.waveform, rng) if acts else example

    return stage
