"""Recipe: the stages between a room and a recording, such as microphones, amplifiers and telephone lines."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sonorant.section import Fraction, Interval, Section

__all__ = ["EqualiserRecipe", "GainRecipe", "TelephoneRecipe"]

_MOST_GAIN_DB = 60.0


class GainRecipe(Section):
    """Another level: near or far, loud or soft."""

    stage: Literal["gain"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances whose level changes.")
    gain_db: Interval = Field(
        Interval(low=-20, high=6), description="Gain in decibels; what would exceed full scale gets less."
    )

    @model_validator(mode="after")
    def _audible(self) -> Self:
        if not -_MOST_GAIN_DB <= self.gain_db.low <= self.gain_db.high <= _MOST_GAIN_DB:
            raise ValueError(
                f"gain_db={self.gain_db.low}..{self.gain_db.high}: must lie in "
                f"{-_MOST_GAIN_DB:g}..{_MOST_GAIN_DB:g}; -20..6 is usual"
            )
        return self


class EqualiserRecipe(Section):
    """The response of an unknown microphone: a smooth random curve over frequency."""

    stage: Literal["equaliser"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are filtered.")
    points: int = Field(
        6, ge=2, le=12, description="Frequencies whose gains are drawn, evenly over the octaves; 2 make a mere tilt."
    )
    most_db: float = Field(6.0, gt=0, le=24, description="Largest gain and largest loss, in decibels.")
    phase: Literal["minimum", "zero"] = Field("minimum", description="minimum: as devices have it; zero: no delay.")


class TelephoneRecipe(Section):
    """A telephone line: 300 to 3,400 Hz, 8 bits a sample, 8,000 samples a second (ITU-T G.711)."""

    stage: Literal["telephone"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are telephoned.")
    codecs: tuple[Literal["mu_law", "a_law"], ...] = Field(
        ("mu_law", "a_law"), min_length=1, description="Each utterance draws one of these."
    )
